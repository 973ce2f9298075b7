"""Drafts for the catalogue of mistakes: a function under a name, its words still to be written."""

from __future__ import annotations

import ast

from autograder.reports.misunderstandings import Misunderstanding, Paragraph, draft_text

CODE = "def softmax(scores):\n    return scores / scores.sum()"
SHOWN = '''class softmax:
    def unnamed_3f2a9c01(scores):
        """None of its numbers is as expected. (of 2 students)
        """
        return scores / scores.sum()
'''


def mistake(code: str = "3f2a9c01", name: str = "") -> Misunderstanding:
    sentence = "None of its numbers is as expected."
    return Misunderstanding("softmax", code, name, sentence, ("ada", "ben"), "ada")


def test_a_draft_is_as_it_stands_in_the_catalogue() -> None:
    text = draft_text([(mistake(), CODE)], ())
    assert text.endswith(f"\n\n\n{SHOWN}")
    ast.parse(text)


def test_what_the_instructor_wrote_is_its_docstring() -> None:
    words = (Paragraph("softmax", "3f2a9c01", 'You divide by "everything".\n\nWhat is a row?'),)
    tree = ast.parse(draft_text([(mistake(), CODE)], words))
    (function,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    assert ast.get_docstring(function) == 'You divide by "everything".\n\nWhat is a row?'


def test_a_mistake_with_a_name_or_without_a_whole_function_has_none() -> None:
    for one, code in (
        (mistake("named", "a name"), CODE),
        (mistake(), ""),
        (mistake(), "class softmax: pass"),
        (mistake(), CODE + "\n..."),
        (mistake(), "def softmax(:"),
    ):
        assert draft_text([(one, code)], ()) == ""
