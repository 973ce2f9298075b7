"""A result is looked at after more calls were made, as a program that goes on would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from autograder.worker.call import Call, EarlierCall, Missing, Performed, perform

Array = NDArray[np.float64]
OWN, OTHER = np.arange(3.0), np.arange(3.0) + 10


def performed(target: Callable[..., Any], method: str | None = None) -> Performed:
    """What a function of arrays, or a method of one, gives for `OWN`, with a call of it before."""
    inputs, earlier = [OWN.copy()], (OTHER.copy(),)
    call = Call(
        arguments=[] if method else inputs,
        keywords={},
        method=method,
        method_arguments=inputs if method else [],
        attributes={},
        read=[],
        before=[],
        calls=1,
        dtype="",
        backward=None,
        layouts=[],
        earlier=[EarlierCall(None, earlier) if method else EarlierCall(earlier)],
        recording=True,
    )
    return perform(target, call)


class Doubling:
    def __init__(self) -> None:
        self.kept = np.zeros(3)

    def afresh(self, x: Array) -> Array:
        return 2 * x

    def in_one_array(self, x: Array) -> Array:
        return np.multiply(2, x, out=self.kept)

    def only_the_first(self, x: Array) -> Array:
        self.kept = self.kept if self.kept.any() else 2 * x
        return self.kept


def test_a_result_of_its_own_is_what_was_returned() -> None:
    np.testing.assert_array_equal(performed(Doubling().afresh).value, 2 * OWN)
    np.testing.assert_array_equal(performed(Doubling, "afresh").value, 2 * OWN)


@pytest.mark.parametrize("fault", [Doubling.in_one_array, Doubling.only_the_first])
def test_a_result_that_depends_on_other_calls_shows_it(fault: Callable[..., Any]) -> None:
    name = fault.__name__
    np.testing.assert_array_equal(performed(getattr(Doubling(), name)).value, 2 * OTHER)
    np.testing.assert_array_equal(performed(Doubling, name).value, 2 * OTHER)


def test_a_generator_gives_its_numbers_before_it_can_be_asked_again() -> None:
    def yielding(x: Array) -> Iterator[float]:
        yield from x

    assert performed(yielding).value == tuple(OWN)


def test_a_method_that_is_not_there_is_called_missing() -> None:
    with pytest.raises(Missing, match="backwards"):
        performed(Doubling, "backwards")


def test_numbers_are_drawn_outside_the_inference_mode_that_code_left_on() -> None:
    import torch

    with torch.inference_mode():
        performed(Doubling().afresh)
    assert performed(Doubling().afresh).observations == []
