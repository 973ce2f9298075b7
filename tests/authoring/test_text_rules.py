"""What students read is easy to read: every text is measured, and one that is too hard is found.

The grade level is an estimate, so the estimate is itself held against words that a person counted.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.authoring.harness import read_harness
from autograder.authoring.text_rules import (
    HARDEST,
    StudentText,
    compose_texts,
    reading,
    reading_gaps,
    syllables_of,
    terms_of,
    word_gaps,
)
from autograder.judging.diagnosis import failure
from autograder.judging.explanation import CAUSES, MEANINGS, meaning
from autograder.values.request import ExceptionReport, Failed
from autograder.values.symbols import MARKS
from autograder.values.verdict import Outcome
from support.copied_exercise import copy_exercise
from support.written_exercise import changed

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions"
# Of grade 12, and of 81 words in short sentences.
HARD = (
    "Your implementation divides each individual score by an average that it calculates over the "
    "whole array, but every row of scores needs its own."
)
LONG = "You see. " * 40 + "Look."
REMARK = '\n[[remarks]]\nuses = "flash"\nwords = "{}"\n\n[[steps]]'

# Words as a person counts them, among them all that the rules have an exception for.
COUNTED = {
    1: "a the scores scaled makes whole does shapes asked use one eight caused rule",
    2: "axis layer bias being doing matrix sizes values little something added table create hidden",
    3: "gradient triangle everything attention dimension position sequences generate",
    4: "deviation exponential parameter infinity diagonal operation",
    6: "initialization",
}


@pytest.mark.parametrize(("count", "words"), COUNTED.items())
def test_syllables_are_counted_as_a_person_counts_them(count: int, words: str) -> None:
    assert {word: syllables_of(word) for word in words.split()} == dict.fromkeys(
        words.split(), count
    )


@pytest.mark.parametrize(
    ("text", "words", "syllables", "sentences"),
    [
        ("The cat sat on the mat.", 6, 6, 1),
        ("Is it so? It is.", 5, 5, 2),
        ("Which axis is 0.5 wide.", 5, 7, 1),  # a full stop inside a number ends nothing
        ("It is (B=2, S=5, heads=3) here.", 4, 5, 1),
        ("Read `np.exp(scores).sum()` and x.", 4, 5, 1),
        ("Wqkv is wide.", 3, 4, 1),
        ("The dot product (of two) grows.", 6, 7, 1),  # words in brackets are words
    ],
)
def test_code_and_shapes_count_as_one_word_of_two_syllables(
    text: str, words: int, syllables: int, sentences: int
) -> None:
    read = reading(text)
    assert (read.words, read.syllables, read.sentences) == (words, syllables, sentences)


def test_the_formula_is_that_of_flesch_and_kincaid() -> None:
    read = reading("The cat sat on the mat. It was happy.")
    assert read.grade == pytest.approx(0.39 * 9 / 2 + 11.8 * 10 / 9 - 15.59)


def test_a_term_that_is_taught_is_not_a_hard_word_and_any_other_is() -> None:
    taught, known, other = (
        reading(f"Scale each {word} once.", terms={"embedding"}).syllables
        for word in ("embedding", "dimension", "quantity")
    )
    assert (taught, known, other) == (5, 5, 6)


def test_the_terms_of_an_exercise_are_those_of_its_titles_and_signatures() -> None:
    terms = terms_of(read_harness(SOLUTIONS / "numpy_single_head").reference)
    assert {"attention", "embedding", "projection", "initialization"} <= terms
    assert not {"reduction", "forbidden", "necessarily"} & terms


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        (HARD, "reads at grade 12"),
        (LONG, "has 81 words, and 80 are the most"),
        ("You " + "see " * 25, "has a sentence of 26 words, and 25 are the most"),
        ("You are nearly there!", "(remove the exclamation mark)"),
        ("Your bias is due.", "(say that it is expected"),
        ("You simply add.", "(remove “simply”"),
    ],
)
def test_what_is_hard_to_read_is_told_with_its_place(text: str, gap: str) -> None:
    (found, *_) = [
        each for each in reading_gaps([StudentText("the hint", text)], ()) if gap in each
    ]
    assert found.startswith("the hint ") and found.endswith(f"“{' '.join(text.split())}”")
    assert reading_gaps([StudentText("the hint", "You see `!`.")], ()) == ()


# A place of every kind that a student reads, what stands there, and what a text is planted into.
PLACES = {
    "the first hint of softmax": (
        "exercise.toml",
        '"One row of scores belongs',
        '"{} One row belongs',
    ),
    "the second hint of scale_scores": ("exercise.toml", '"The shape (B, S, S) stays.', '"{}'),
    "the third hint of create_causal_mask": ("exercise.toml", '"Start from ones', '"{} Start'),
    "the remark on flash": ("exercise.toml", "\n[[steps]]", REMARK),
    "the misconception mask_added": (
        "misconceptions.py",
        '"""You add the mask to the scores, which moves them by 1 and forbids nothing.\n',
        '"""{}\n',
    ),
    "the misconception scores_not_scaled": (
        "../_attention/mistakes.py",
        '"""Your scores {unscaled} they are not scaled.\n',
        '"""{}\n',
    ),
    "the title of test_mask_values": ("graders.py", '"""1 where a query', '"""{} 1 where a query'),
    "the title of test_weighted_sum_values": (
        "../_attention/checks.py",
        'f"each token gathers',
        'f"{} each token gathers',
    ),
    "a message of a check": ("graders.py", '"Where do your random', '"{} Where do your random'),
    "a paragraph of solution.py": ("solution.py", "# Nothing. Every", "# {} Every"),  # an answer
    "the docstring of softmax": ("solution.py", '"""Turn every row of scores', '"""{} Turn'),
}


# What a title says is a term that the exercise teaches; a short one hides no hard words.
LONG_TITLE = ("exercise.toml", 'title = "Softmax"', f'title = "{"One row " * 12}"')


def planted(folder: Path, text: str) -> tuple[str, ...]:
    """The gaps of a copy of an exercise with a long title, and `text` at every place."""
    copy = copy_exercise("numpy_single_head", folder)
    places = ((file, old, new.replace("{}", text)) for file, old, new in PLACES.values())
    changed(copy, LONG_TITLE, *places)
    heard: set[str] = set()
    harness = read_harness(copy, heard.add)
    compose_texts(harness)
    return word_gaps(harness, heard)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (" ".join([HARD] * 4), "reads at grade"),
        pytest.param(LONG, "words, and 80 are the most", marks=pytest.mark.slow),
    ],
)
def test_no_place_that_a_student_reads_is_left_out(text: str, told: str, tmp_path: Path) -> None:
    found = planted(tmp_path, text)
    missed = [
        place
        for place in PLACES
        if not any(gap.startswith(place) and told in gap and text[:30] in gap for gap in found)
    ]
    assert missed == []
    assert "the title of softmax has 24 words: write at most 10" in found


# What a library says, for each sentence that explains one.
SAID = (
    "nobody answers while a check runs",
    "matmul: Input operand 1 has a mismatch in its core dimension 0 (size 8 is different from 5)",
    "mat1 and mat2 shapes cannot be multiplied (10x3 and 4x5)",
    "Expected size for first two dimensions of batch2 tensor to be: [2, 5] but got: [2, 3].",
    "operands could not be broadcast together with shapes (2,5) (3,5)",
    "The size of tensor a (5) must match the size of tensor b (3) at non-singleton dimension 1",
    "cannot reshape array of size 6 into shape (4,)",
    "view size is not compatible with input tensor's size and stride",
    "cannot assign module before Module.__init__() call",
    "softmax() takes 1 positional argument but 2 were given",
    "element 0 of tensors does not require grad and does not have a grad_fn",
    "expected m1 and m2 to have the same dtype",
    "one of the variables needed for gradients has been modified by an inplace operation",
)


def test_what_the_engine_says_of_any_code_is_easy_to_read() -> None:
    """Outcomes and exceptions, most of which never come up while an exercise is proved."""
    raised = [meaning(ExceptionReport("ValueError", said)) for said in SAID]
    assert len(set(raised)) >= len(MEANINGS) - 2, "three ways to say that two axes do not fit"
    ended = [failure(Failed(outcome)).message for outcome in Outcome]
    marks = [mark.sentence for mark in MARKS.values()]
    sentences = [*raised, *ended, *marks, *(said for _, _, said in CAUSES if isinstance(said, str))]
    assert reading_gaps([StudentText("the engine", each) for each in sentences], ()) == ()
    assert HARDEST == 9.0
