"""All slips of writing in one submission, by step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from autograder.model.exercise import Exercise
from autograder.model.verdict import Outcome
from autograder.submission.body_slips import body_slips
from autograder.submission.cells import parsed
from autograder.submission.class_slips import class_slips
from autograder.submission.code_names import CodeNames
from autograder.submission.definitions import top_level
from autograder.submission.dropped_result_slips import dropped_result_slips
from autograder.submission.file_text import is_notebook
from autograder.submission.handed_over import handed_over_slips
from autograder.submission.missing_import import absent_modules
from autograder.submission.missing_step import misplaced, repeated
from autograder.submission.name_slips import name_slips
from autograder.submission.overwriting_slips import overwriting_slips
from autograder.submission.precision_slips import precision_slips
from autograder.submission.reading import Submission
from autograder.submission.slip import Slip, WrittenStep, capitalized, line_words

_UNTRAINED = (Outcome.RAISED, Outcome.WRONG_TYPE, Outcome.WRONG_VALUES)
_WRONG = (*_UNTRAINED, Outcome.WRONG_SHAPE, Outcome.TIMED_OUT)
_UNGRADED = r"require grad|grad_fn|gradient"
_UNLIKE = (Outcome.WRONG_TYPE, Outcome.RAISED)
_OTHER_PRECISION = r"float64|float16|same dtype|different precision"
_SWITCHES = ("set_grad_enabled", "inference_mode")


def slips_in(
    submission: Submission, exercise: Exercise, given: str, only: str = "", *, live: bool = False
) -> Mapping[str, list[Slip]]:
    """Return the slips of every step, or of the one that is named.

    `given` is the text of the exercise, with its signatures. `live` says that the code runs in the
    kernel of its notebook.
    """
    readable = [(tree, cell) for cell in submission.cells if (tree := parsed(cell))]
    trees = [tree for tree, _ in readable]
    notebook = is_notebook(submission.path)
    handed_out = parsed(given)
    originals = {node.name: node for node in top_level(handed_out)} if handed_out else {}
    written = {node.name: (node, cell) for tree, cell in readable for node in top_level(tree)}
    names = [step.name for step in exercise.steps]
    known = CodeNames.of(trees, names, exercise.library, notebook=notebook, live=live)
    absent = absent_modules(trees, exercise.library, given)
    steps = [
        WrittenStep(name, node, originals.get(name), cell, notebook)
        for name, (node, cell) in written.items()
        if name in names
    ]
    found: dict[str, list[Slip]] = {name: list(_settings(trees, notebook)) for name in names}
    for step in (each for each in steps if only in ("", each.name)):
        found[step.name] += body_slips(step)
        found[step.name] += dropped_result_slips(step, names)
        found[step.name] += class_slips(step, trees, names)
        found[step.name] += precision_slips(step)
        found[step.name] += handed_over_slips(step, steps)
        found[step.name] += _absent_names(step, absent, known)
        found[step.name] += name_slips(step, known)
        found[step.name] += overwriting_slips(step)
    for name, look in repeated(submission.cells, exercise).items():
        found[name].append(Slip(_WRONG, "", "", look, beside=True))
    elsewhere = misplaced(submission.cells, exercise, originals) | dict(submission.not_run)
    for name, look in elsewhere.items():
        found[name].append(Slip((Outcome.NOT_WRITTEN,), rf"`{name}`", "", look))
    return found


def _settings(trees: Sequence[ast.Module], notebook: bool) -> Iterator[Slip]:
    """A switch outside the functions that changes what the library does in all of them."""
    for tree in trees:
        for node in tree.body:
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=arguments)) if (
                    name in _SWITCHES and not (arguments and _is_true(arguments[0]))
                ):
                    fact = f"{capitalized(line_words(node, notebook))} calls `{name}`."
                    look = "From there on, PyTorch records no gradients, in all of your code."
                    yield Slip(_UNTRAINED, _UNGRADED, fact, look)
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="set_default_dtype"))):
                    fact = f"{capitalized(line_words(node, notebook))} calls `set_default_dtype`."
                    look = "From there on, PyTorch makes tensors in that precision, in all of your "
                    yield Slip(_UNLIKE, _OTHER_PRECISION, fact, f"{look}code.")
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(attr="seterr"), keywords=named)
                ) if any(_is_text(each.value, "raise") for each in named):
                    fact = f"{capitalized(line_words(node, notebook))} calls `seterr`."
                    look = (
                        "From there on, NumPy raises an error where it would only warn: also where "
                    )
                    look += "a number that is nearly 0 becomes 0."
                    yield Slip((Outcome.RAISED,), r"FloatingPointError", fact, look)
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(attr="simplefilter" | "filterwarnings" as name),
                        args=[first, *_],
                    )
                ) if _is_text(first, "error"):
                    fact = f"{capitalized(line_words(node, notebook))} calls `{name}`."
                    look = "From there on, what is only a warning raises an error."
                    yield Slip((Outcome.RAISED,), r"`\w*Warning\b", fact, look)


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _absent_names(step: WrittenStep, absent: Mapping[str, str], names: CodeNames) -> Iterator[Slip]:
    """The names in a step that come from a module which is not there."""
    for name, module in absent.items():
        setting = names.statements.get(name)
        if setting is not None:
            place = capitalized(line_words(setting, names.notebook))
            fact = f"`{name}` comes from `{module}`, which is not there when your code is graded."
            look = f"{place} imports it. The exercise needs only what it imports itself."
            yield Slip((Outcome.RAISED,), rf"name '{re.escape(name)}' is not defined", fact, look)
