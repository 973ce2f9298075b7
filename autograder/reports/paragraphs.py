"""What the instructor writes to everybody who made one mistake; it stands on their pages.

It is kept beside the results, so it also reaches who makes the mistake later. No mark follows
from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.errors import KitError
from autograder.model.files import read_small, write_whole
from autograder.model.verdict import StepVerdict
from autograder.reports.misunderstandings import Misunderstanding, mistakes_at

PARAGRAPHS = "paragraphs.json"
LONGEST = 2_000  # characters; more is no paragraph
_MOST_BYTES = 4_000_000
_FIELDS = frozenset(("step", "code", "text"))


@dataclass(frozen=True)
class Paragraph:
    """The `text` for the mistake with this `code` at one step (see `mistakes_at`)."""

    step: str
    code: str
    text: str

    @property
    def mistake(self) -> str:
        """The name by which the class page calls the mistake: "softmax/3f2a9c01"."""
        return f"{self.step}/{self.code}"


def mistake_name(mistake: Misunderstanding) -> str:
    """Return the name by which the class page calls a mistake, and by which it is written to."""
    return f"{mistake.step}/{mistake.code}"


def read_paragraphs(output: Path) -> tuple[Paragraph, ...]:
    """Return the paragraphs that are kept in the folder of results `output`.

    Raise `KitError` when the file is not one that the kit wrote.
    """
    file = output / PARAGRAPHS
    try:
        facts = json.loads(read_small(file, _MOST_BYTES).decode("utf-8"))
    except FileNotFoundError:
        return ()
    except (ValueError, RecursionError) as error:
        raise _damaged(file) from error
    if not isinstance(facts, list) or not all(map(_is_paragraph, facts)):
        raise _damaged(file)
    return tuple(Paragraph(**each) for each in facts)


def write_paragraph(output: Path, paragraph: Paragraph) -> tuple[Paragraph, ...]:
    """Keep a paragraph in place of one for the same mistake, and return all of them.

    One without text is taken away. Raise `KitError` when it is too long, or cannot be kept.
    """
    if len(paragraph.text) > LONGEST:
        raise KitError(
            f"the text has {len(paragraph.text):,} characters; {LONGEST:,} are room for a "
            "paragraph",
            place=paragraph.mistake,
            cure="shorten it, or put a link to the rest",
        )
    others = (each for each in read_paragraphs(output) if each.mistake != paragraph.mistake)
    kept = (*others, paragraph) if paragraph.text else tuple(others)
    text = json.dumps([asdict(each) for each in kept], indent=2, ensure_ascii=False)
    write_whole(output / PARAGRAPHS, text + "\n")
    return kept


def paragraphs_for(step: StepVerdict, paragraphs: Sequence[Paragraph]) -> tuple[str, ...]:
    """Return what the instructor writes to who made the mistakes of this step."""
    codes = mistakes_at(step) if paragraphs else {}
    return tuple(each.text for each in paragraphs if each.step == step.name and each.code in codes)


def _is_paragraph(facts: object) -> bool:
    if not isinstance(facts, dict) or facts.keys() != _FIELDS:
        return False
    return all(isinstance(value, str) for value in facts.values())


def _damaged(file: Path) -> KitError:
    return KitError(
        "this file is damaged: it should hold what you wrote to students",
        place=str(file),
        cure="correct it, or delete it and write again with `attn tell`",
    )
