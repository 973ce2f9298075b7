"""What is wrong of a token is said by its name, as the text that works it out by hand has it."""

import numpy as np
import pytest

from autograder.judging.examples import read_examples
from autograder.judging.value_words import Tokens
from support.learner_workspace import ROOT

WORDS = Tokens(("the", "cat", "slept"), followed=2)
SHARES = np.array([[[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.6, 0.3, 0.1]]])


def told(yours: np.ndarray, expected: np.ndarray = SHARES, axes: str | None = "B S S") -> str:
    return WORDS.compared(yours, expected, ~np.isclose(yours, expected, equal_nan=True), axes)


def test_the_row_that_the_text_follows_is_told_if_it_is_wrong() -> None:
    assert told(SHARES / 2) == "your “slept” gives “the” 0.30, and 0.60 is expected."
    first = SHARES.copy()
    first[0, 1] = 0.25
    assert told(first) == "your “cat” gives “cat” 0.25, and 0.80 is expected."


def test_a_share_that_belongs_to_another_token_is_told_as_that() -> None:
    turned = SHARES[..., [1, 2, 0]]
    assert told(turned) == "your “slept” gives “the” what “cat” should get."


def test_only_of_a_rearranged_row_and_a_number_of_one_owner_it_is_said_whose_it_is() -> None:
    twice = SHARES.copy()
    twice[0, 2] = (0.3, 0.3, 0.4)
    expected = SHARES.copy()
    expected[0, 2] = (0.3, 0.4, 0.3)
    assert told(twice, expected) == "your “slept” gives “slept” what “cat” should get."
    assert told(twice) == "your “slept” gives “slept” 0.40, and 0.10 is expected."


def test_the_numbers_of_a_token_are_told_together_and_of_which_head() -> None:
    values = np.arange(18.0).reshape(1, 2, 3, 3)
    other = values.copy()
    other[0, 1, 2, 0] = 7.5
    words = told(other, values, "B heads S head_dim")
    assert words == (
        "in head 1, your “slept” is (7.50, 16.00, 17.00), and (15.00, 16.00, 17.00) is expected."
    )


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (np.nan, "your “slept” gives “the” nan, and 0.60 is expected."),
        (-1e9, "your “slept” gives “the” -1e9, and 0.60 is expected."),
        (0.6001, "your “slept” gives “the” 0.6001, and 0.6000 is expected."),
    ],
)
def test_a_number_is_written_so_that_the_difference_shows(broken: float, words: str) -> None:
    yours = SHARES.copy()
    yours[0, 2, 0] = broken
    assert told(yours) == words


def test_nothing_is_said_of_tokens_where_the_axes_do_not_say_which_they_are() -> None:
    assert told(SHARES / 2, axes=None) == ""
    assert told(SHARES / 2, axes="B D D") == ""


@pytest.mark.parametrize(
    "name", ["numpy_single_head", "torch_single_head", "torch_multi_head", "vit_multi_head"]
)
def test_every_step_that_draws_nothing_has_the_example_of_the_text(name: str) -> None:
    examples = read_examples(ROOT / "assignments" / name)
    by_hand = [each.step for each in examples if each.expectation.form.tokens]
    drawing = {"initialize_weights", "create_projections"}
    assert by_hand == [
        step for step in dict.fromkeys(e.step for e in examples) if step not in drawing
    ]
