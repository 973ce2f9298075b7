"""Drafts for an exercise's catalogue of known mistakes, from what a class did without a name.

A draft is a student's code. Whoever takes one over reads it first, since the catalogue runs in the
trusted process.
"""

from __future__ import annotations

import ast
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from autograder.model.files import write_whole
from autograder.model.sanitize import clean
from autograder.model.symbols import count
from autograder.reports.misunderstandings import Misunderstanding
from autograder.reports.paragraphs import Paragraph, mistake_name

DRAFTS = "misconception-drafts.txt"  # no module: nobody has read it yet
_WIDTH = 84
_HEAD = '''"""Drafts for misconceptions.py, from mistakes of this class that have no name yet.

Each one is code that a student handed in. Read it before you take it over: the catalogue runs with
your rights. Then give it a name, and say what the answer does and where to look. A draft may need
functions that the student wrote beside it.
"""
'''


def write_drafts(
    output: Path,
    mistakes: Sequence[tuple[Misunderstanding, str]],
    paragraphs: Sequence[Paragraph],
) -> None:
    """Write a draft for each mistake of a function that has no name and an example of its code.

    What the instructor wrote about it becomes the draft's docstring. Without such a mistake, there
    is no file. Raise `KitError` when the folder cannot be written.
    """
    text = draft_text(mistakes, paragraphs)
    if text:
        write_whole(output / DRAFTS, text)
    else:
        (output / DRAFTS).unlink(missing_ok=True)


def draft_text(
    mistakes: Sequence[tuple[Misunderstanding, str]], paragraphs: Sequence[Paragraph]
) -> str:
    """Return the drafts as Python code, "" when there is none."""
    told = {each.mistake: each.text for each in paragraphs}
    drafts: dict[str, list[str]] = defaultdict(list)
    for mistake, example in mistakes:
        if not mistake.name and (draft := _draft(mistake, example, told)):
            drafts[mistake.step].append(textwrap.indent(draft, "    "))
    classes = [f"class {step}:\n" + "\n\n".join(found) for step, found in drafts.items()]
    return "\n\n\n".join([_HEAD.rstrip(), *classes]) + "\n" if classes else ""


def _draft(mistake: Misunderstanding, example: str, told: dict[str, str]) -> str:
    """Return the function of `example` under a name and with a docstring of the catalogue."""
    try:
        (function,) = ast.parse(example).body
    except (SyntaxError, ValueError, RecursionError):  # it was too long to be shown whole
        return ""
    if not isinstance(function, ast.FunctionDef):
        return ""
    function.name = f"unnamed_{mistake.code}"
    function.body.insert(0, ast.Expr(ast.Constant(_docstring(mistake, told))))
    return ast.unparse(ast.fix_missing_locations(function))


def _docstring(mistake: Misunderstanding, told: dict[str, str]) -> str:
    who = count(len(mistake.students), "student")
    words = told.get(mistake_name(mistake)) or f"{mistake.sentence} (of {who})"
    paragraphs = [textwrap.fill(each, _WIDTH) for each in clean(words, 2_000).split("\n") if each]
    # As deep as the function's body is before it is put into its class.
    return textwrap.indent("\n\n".join(paragraphs), " " * 4).lstrip() + "\n" + " " * 4
