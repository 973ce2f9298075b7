"""Checks that the texts for students exist, speak to students, and are easy to read."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from autograder.authoring.harness import Harness
from autograder.authoring.lesson import taught, without_tags
from autograder.authoring.regions import read_solution
from autograder.authoring.stub import Cell, read_cells
from autograder.checks.marks import step_of, title_of
from autograder.checks.plugin import record_examples
from autograder.checks.reference import Misconception, Reference, words_for
from autograder.values.exercise import Step, signature_of
from autograder.values.request import Reply, Request, Returned

# The grade level of a text (the years of school that it takes), by Flesch and Kincaid's formula.
#
# It is 0.39 times the words per sentence, plus 11.8 times the syllables per word, minus 15.59.
# The formula was made for prose. But code is read at a glance, and there is no easier word for a
# term that is being taught. So a piece of code or a term counts as a word of at most two
# syllables, which is still more than the average of the words around it.

# Terms of arithmetic, arrays and Python with three syllables or more. An exercise's other terms
# are taken from its titles and signatures.
TERMS = frozenset(
    """
    argument attribute average contiguous deviation diagonal dimension distribution exponential
    exponentiate generator gradient infinite infinity initialize library logarithm maximum memory
    multiply negative operator optimizer parameter positive precision transformer variance
    """.split()
)
MOST_SYLLABLES = 2  # that a term or a piece of code counts
CODE = re.compile(r"`[^`]*`|\$\$[^$]*\$\$|\$[^$]*\$")
_ITEM = r"[\w.]+(?: ?[*+=/-] ?[\w.]+)*"
# (B, S, D), (B=2, S=5), [0, 1, 2]: several names or numbers in brackets.
SHAPE = re.compile(rf"[(\[]{_ITEM}(?:, {_ITEM})+[)\]]")
SENTENCE = re.compile(r"[.!?]+[\"”)]*(?:\s+|$)|\n\n")
TOKEN = re.compile(r"[^\W_](?:[\w.=/*'’]*\w)?|[\w.=/*'’]*\w")
WORD = re.compile(r"[A-Z]?[a-z]+(?:['’][a-z]+)?")
_VOWELS = re.compile(r"[aeiouy]+")
_SUFFIXES = ("", "s", "es", "d", "ed", "ing", "'s", "’s")
# Corrections for words whose groups of vowels are not their syllables.
_CORRECTIONS = (
    (re.compile(r"(?<![aeiouy])e$(?<![^aeiouyr]le)"), -1),  # whole, but: little
    (re.compile(r"(?<![aeiouytd])ed$"), -1),  # masked, but: added
    (re.compile(r"(?<![aeiouysxzcg])(?<![cs]h)es$(?<![^aeiouy]les)"), -1),  # makes, but: sizes
    (re.compile(r"^(?:every|some|else)[a-z]"), -1),  # something, everything
    (re.compile(r"(?<![tcs])i(?:a|o|en)|ay[aeio]|[aeo]ing$|^creat|^whoe"), +1),  # bias, layer
)


@dataclass(frozen=True)
class Reading:
    """The counts of a text: words, syllables, sentences and the longest sentence."""

    words: int
    syllables: int
    sentences: int
    longest: int  # the words of the longest sentence

    @property
    def grade(self) -> float:
        """The grade level; 0 for a text without words."""
        if not self.words:
            return 0.0
        return 0.39 * self.words / self.sentences + 11.8 * self.syllables / self.words - 15.59


def reading(text: str, terms: Collection[str] = ()) -> Reading:
    """Count what is in `text`; `terms` are taught by the exercise and count like `TERMS`."""
    plain = SHAPE.sub("x_y", CODE.sub("x_y", text))
    sentences = [found for part in SENTENCE.split(plain) if (found := TOKEN.findall(part))]
    syllables = (_syllables(token, terms) for tokens in sentences for token in tokens)
    lengths = [len(tokens) for tokens in sentences]
    return Reading(sum(lengths), sum(syllables), len(lengths), max(lengths, default=0))


def _syllables(token: str, terms: Collection[str]) -> int:
    word = token.lower()
    if len(word) == 1:
        return 1
    if not WORD.fullmatch(token) or not _VOWELS.search(word):  # head_dim, Wqkv
        return MOST_SYLLABLES
    count = syllables_of(word)
    bare = {word.removesuffix(suffix) for suffix in _SUFFIXES}
    taught = count > MOST_SYLLABLES and any(each in terms or each in TERMS for each in bare)
    return MOST_SYLLABLES if taught else count


def syllables_of(word: str) -> int:
    """Return the number of syllables of an English word, estimated from its letters."""
    letters = re.sub(r"['’]s$|['’]", "", word.lower())
    found = len(_VOWELS.findall(letters))
    found += sum(by for pattern, by in _CORRECTIONS if pattern.search(letters))
    return max(1, found)


# Every text of an exercise that a student can read, and its place.
#
# Some texts are written in the files: titles, hints, misconceptions, prose, docstrings. The
# checks compose the others from what is right, a fact and where to look. Those are collected
# while the harness runs. For this, the harness also runs code that no known mistake explains.

RUNGS = ("first", "second", "third")
# Markdown's fences, which hold drawings and columns of numbers; its tables, formulas and headings;
# and its marks for lists and bold type.
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_NO_PROSE = re.compile(r"^(?:\||\$\$|#|!\[).*$", re.MULTILINE)  # nor a picture
_MARKUP = re.compile(r"^- |\*\*", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=- )")
_WORD = re.compile(r"[A-Z]?[a-z]+")


@dataclass(frozen=True)
class StudentText:
    """A text that a student reads in one go, and the name of its place."""

    place: str
    text: str


def written_texts(harness: Harness) -> Iterator[StudentText]:
    """Give the texts for students in the files of an exercise."""
    exercise = harness.reference.exercise
    for step in exercise.steps:
        yield StudentText(f"the title of {step.name}", step.title)
        yield from _hints(step)
    for remark in exercise.remarks:
        yield StudentText(f"the remark on {remark.uses}", remark.words)
    for check in harness.checks:
        yield StudentText(f"the title of {check.originalname}", title_of(check))
    for known in harness.reference.misconceptions:
        yield StudentText(f"the misconception {known.name}", known.words)
    yield StudentText("what is said at the end", exercise.closing.built)
    for each in exercise.closing.reading:
        yield StudentText(f"why to read “{each.title}”", each.why)
    yield from _pairs(harness.reference)
    solution = read_solution(exercise)
    for cell in taught(exercise, solution, read_cells(solution)):
        yield from _docstrings(cell) if cell.code else _paragraphs(cell)


def _hints(step: Step) -> Iterator[StudentText]:
    for number, hint in enumerate(step.hints):
        rung = RUNGS[number] if number < len(RUNGS) else f"{number + 1}th"
        yield StudentText(f"the {rung} hint of {step.name}", hint)


def _pairs(reference: Reference) -> Iterator[StudentText]:
    """Give each mistake in a class together with the longest other one, the longest such pair."""
    for layer in reference.layers:
        known = [each for each in reference.misconceptions if each.step != layer]
        for first in known:
            others = [each for each in known if each.step != first.step]
            second = max(others, key=_fact_length, default=None)
            if second:
                words = words_for(Request(layer, method="forward"), (first, second))
                yield StudentText(f"the misconceptions {first.name} and {second.name}", words)


def _fact_length(known: Misconception) -> int:
    return len(known.words.partition("\n\n")[0].split())


def _paragraphs(cell: Cell) -> Iterator[StudentText]:
    prose = _NO_PROSE.sub("", _FENCE.sub("", without_tags(cell.source)))
    for paragraph in _PARAGRAPH.split(prose):
        text = _MARKUP.sub("", paragraph).strip()
        if text:
            yield StudentText("a paragraph of solution.py", text)


def _docstrings(cell: Cell) -> Iterator[StudentText]:
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (text := ast.get_docstring(node)):
            yield StudentText(f"the docstring of {node.name}", text)


def compose_texts(harness: Harness) -> None:
    """Run every check so that it composes the messages that are not shown for a named mistake.

    The checks run over every known mistake without naming it, and over code that gives the same
    answer to every question. The harness's own listener hears the messages. If a check is run with
    several parameters, the first is enough.
    """
    checks = {check.originalname: check for check in reversed(harness.checks) if step_of(check)}
    for check in checks.values():
        harness.run(check, naming=False, respondent=SameAnswer(harness))
    classes = harness.reference.layers
    for known in harness.reference.misconceptions:
        with harness.replaced({known.step: known.wrong}):
            for check in checks.values():
                if step_of(check) in (known.step, *classes):
                    harness.run(check, naming=False)


class SameAnswer:
    """A `Respondent` that gives the reference's first answer to every question, and never refuses.

    No known mistake does that, but some checks exist only for it and have their own words.
    """

    def __init__(self, harness: Harness) -> None:
        self._reference = harness.reference
        self._answer: Reply | None = None

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer as the first time; if the reference refuses, answer with None."""
        if self._answer is None:
            reply = self._reference.ask(request)
            nothing = Returned(None, attributes=dict.fromkeys(request.read))
            self._answer = reply if isinstance(reply, Returned) else nothing
        return self._answer


def terms_of(reference: Reference) -> frozenset[str]:
    """Return the words that an exercise teaches: those of its titles and signatures."""
    steps = reference.exercise.steps
    parameters = [
        name
        for step in steps
        for name, _ in signature_of(getattr(reference.module, step.name)).parameters
    ]
    titles = [reference.exercise.title, *(step.title for step in steps)]
    names = [*titles, *(step.name for step in steps), *parameters]
    return frozenset(word.lower() for name in names for word in _WORD.findall(name))


HARDEST = 9.0  # grade level
MOST_WORDS = 80
LONGEST_SENTENCE = 25
LONGEST_TITLE = 10  # words; they count as terms, so a longer title could hide hard words
TO_THE_STUDENT = re.compile(r"\b(you|your)\b", re.IGNORECASE)
# What texts for students must not have, and how to correct it.
UNWANTED = (
    (re.compile(r"!"), "remove the exclamation mark"),
    (re.compile(r"\b(?:is|are|be) due\b"), "say that it is expected: “due” sounds like a deadline"),
    (re.compile(r"\bsimply\b", re.IGNORECASE), "remove “simply”: it may not be simple to them"),
)


def word_gaps(harness: Harness, heard: Iterable[str] = ()) -> tuple[str, ...]:
    """Return a sentence for each text that is missing, not for students, or hard to read.

    `heard` has the messages that the checks composed. Raises `KitError` when a step has no
    worked example.
    """
    reference = harness.reference
    record_examples(reference.exercise.folder)
    steps = reference.exercise.steps
    titles = [
        f"the title of {step.name} has {words} words: write at most {LONGEST_TITLE}"
        for step in steps
        if (words := len(step.title.split())) > LONGEST_TITLE
    ]
    hints = [gap for step in steps for gap in _hint_gaps(step)]
    mistakes = [gap for known in reference.misconceptions for gap in _misconception_gaps(known)]
    composed = [StudentText("a message of a check", text) for text in sorted(heard)]
    texts = dict.fromkeys((*written_texts(harness), *composed))
    return (*titles, *hints, *mistakes, *reading_gaps(texts, terms_of(reference)))


def reading_gaps(texts: Iterable[StudentText], terms: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each text that is too hard, too long, or has unwanted words."""
    return tuple(
        f"{each.place} {wrong}: “{' '.join(each.text.split())}”"
        for each in texts
        for wrong in _wrong(each.text, terms)
    )


def _wrong(text: str, terms: Collection[str]) -> list[str]:
    read, words = reading(text, terms), len(text.split())
    plain = CODE.sub("", text)
    wrong = [f"({cure})" for pattern, cure in UNWANTED if pattern.search(plain)]
    if read.grade > HARDEST:
        wrong.append(
            f"reads at grade {read.grade:.1f}, and {HARDEST:g} is the most (write shorter "
            "sentences and plainer words)"
        )
    if words > MOST_WORDS:
        wrong.append(f"has {words} words, and {MOST_WORDS} are the most (say less)")
    if read.longest > LONGEST_SENTENCE:
        wrong.append(
            f"has a sentence of {read.longest} words, and {LONGEST_SENTENCE} are the most (make "
            "it two)"
        )
    return wrong


def _hint_gaps(step: Step) -> list[str]:
    if len(step.hints) != len(RUNGS) or not all(hint.strip() for hint in step.hints):
        return [
            f"{step.name} has {len(step.hints)} hints: write {len(RUNGS)}, from question to recipe"
        ]
    gaps = []
    if not step.hints[0].rstrip().endswith("?"):
        gaps.append(f"the first hint of {step.name} is not a question: ask one")
    if any("=" in hint and re.search(r"\w+\(.*\)\s*[@/*]", hint) for hint in step.hints):
        gaps.append(f"a hint of {step.name} holds code: say it in words")
    return gaps


def _misconception_gaps(known: Misconception) -> list[str]:
    fact, _, look = known.words.partition("\n\n")
    gaps = []
    if not TO_THE_STUDENT.search(fact):
        gaps.append(f"{known.name} does not speak to the student: say what their code does")
    if not look.strip():
        gaps.append(f"{known.name} does not say where to look: add a second paragraph")
    return gaps
