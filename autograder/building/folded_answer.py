"""Questions with a folded answer: HTML in the notebook and on the page of the lesson.

In `solution.py` each stands as a notebook shows it:

    <details>
    <summary><b>Before you code.</b> What is the question?</summary>

    The answer.

    </details>
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from autograder.building.regions import Solution
from autograder.errors import KitError

_FOLDED = re.compile(
    r"^<details>\n<summary><b>(?P<when>[^<>]+)</b> (?P<question>[^<>]+)</summary>\n\n"
    r"(?P<answer>(?:(?!</?details>).)+?)\n\n</details>$",
    re.MULTILINE | re.DOTALL,
)
_QUESTION = re.compile(r"^<summary>.*</summary>$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_TAG = re.compile(r"</?(?:details|summary|b)>")


@dataclass(frozen=True)
class FoldedAnswer:
    """A question, when it is asked ("Before you code."), and its answer, in Markdown."""

    when: str
    question: str
    answer: str

    @property
    def folded(self) -> str:
        """The question with its answer, as an author writes them."""
        asked = f"<summary><b>{self.when}</b> {self.question}</summary>"
        return f"<details>\n{asked}\n\n{self.answer}\n\n</details>"


def folded_answers(prose: str) -> tuple[FoldedAnswer, ...]:
    """Return the questions in `prose`, in order."""
    return tuple(FoldedAnswer(**found.groupdict()) for found in _FOLDED.finditer(prose))


def replaced_answers(prose: str, told: Callable[[FoldedAnswer], str]) -> str:
    """Return `prose` with what is `told` of each question in its place."""
    return _FOLDED.sub(lambda found: told(FoldedAnswer(**found.groupdict())), prose)


def only_folded(prose: str) -> str:
    """Return of `prose` the questions with their answers."""
    return "\n\n".join(each.folded for each in folded_answers(prose))


def without_folded(prose: str) -> str:
    """Return `prose` without the questions and their answers."""
    return _FOLDED.sub("", prose).rstrip()


def with_code_in_questions(prose: str) -> str:
    """Return `prose` for a notebook: JupyterLab shows Markdown inside HTML as it is written."""
    return _QUESTION.sub(lambda line: _CODE.sub(r"<code>\1</code>", line[0]), prose)


def without_tags(prose: str) -> str:
    """Return `prose` with questions and answers, but without the HTML that folds them."""
    return _TAG.sub("", prose)


def refuse_badly_folded(solution: Solution, proses: Iterable[str]) -> None:
    """Raise `KitError` when HTML of a folded answer is not written in the one form."""
    for prose in proses:
        if found := _TAG.search(_FOLDED.sub("", prose)):
            line = prose[: found.start()].count("\n")
            raise KitError(
                "a folded answer is not written as every other one",
                place=f"{solution.path}, at the line: {prose.splitlines()[line]}",
                cure="write <details>, then <summary><b>When.</b> Question?</summary>, "
                "an empty line, the answer, an empty line, </details>",
            )
