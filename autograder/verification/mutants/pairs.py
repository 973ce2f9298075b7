"""Pairs of changes in one step: two mistakes may hide each other."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator, Sequence

from autograder.verification.mutants.mutant import Mutant, changed_lines, mutants_of
from autograder.verification.mutants.subject import Subject, Tree

SEED = 12


def sampled_pairs(
    subject: Subject, singles: Sequence[Mutant], count: int, learn: Callable[[Tree], Subject]
) -> Iterator[Mutant]:
    """Give `count` mutants of mutants, drawn from a fixed seed.

    `learn` returns a tree with the kinds of value that the inputs of the checks show in it.
    """
    drawn = random.Random(f"{SEED} {subject.tree.name}")
    for first in drawn.sample(singles, min(count, len(singles))):
        seconds = mutants_of(learn(_tree(first.text)))
        if not seconds:
            continue
        second = drawn.choice(seconds)
        old, new = changed_lines(ast.unparse(subject.tree), second.text)
        if old or new:  # else the second took the first back
            yield Mutant(first.step, f"{first.kind} and {second.kind}", old, new, second.text)


def _tree(text: str) -> Tree:
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.FunctionDef | ast.ClassDef)
    return tree
