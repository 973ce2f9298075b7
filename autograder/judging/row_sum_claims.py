"""Claims about the sums of rows of shares, where nothing more is known of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.judging.difference import Difference
from autograder.judging.score_claims import given_scores
from autograder.judging.share_claims import sums_to_one
from autograder.judging.value_words import range_words
from autograder.model.claim import Claim
from autograder.model.request import Request

# Where the scores are an argument, they are right.
_MADE_OF = "What becomes of each score on its way to a share, one line after the other?"


def about_row_sums(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give how shares of the right sum differ from the expected ones, where nothing else does."""
    if not seen.shares:
        return
    if (seen.actual < 0).any() or not sums_to_one(seen, (seen.expected.ndim - 1,)):
        yield from _wrong_sums(seen)
        return
    given = given_scores(seen, request) is not None
    ours, theirs = seen.actual.max(axis=-1), seen.expected.max(axis=-1)
    differ = ~seen.agree(ours, theirs)
    if differ.all() and differ.size > 3 and (ours < theirs).all():
        yield Claim(
            "flat",
            "Each row sums to 1, but is too flat: its largest share is too small.",
            _MADE_OF if given else "What makes the scores too small, or the shares too equal?",
            weak=True,
        )
    elif differ.all() and differ.size > 3 and (ours > theirs).all():
        yield Claim(
            "sharp",
            "Each row sums to 1, but is too sharp: its largest share is too large.",
            _MADE_OF if given else "What makes the scores too large, or drops shares?",
            weak=True,
        )
    else:
        yield Claim(
            "rows sum to 1",
            "Each row sums to 1, as expected, but the shares in it are not the right ones.",
            _MADE_OF if given else "Are the scores right that go into the softmax?",
            weak=True,
        )


def _wrong_sums(seen: Difference) -> Iterator[Claim]:
    """Claim that no row sums to 1, where each is expected to."""
    sums = np.asarray(seen.actual.sum(axis=-1))
    if sums.size < 3 or seen.agree(sums, np.ones_like(sums)).any():
        return
    held = range_words(float(sums.min()), float(sums.max()))
    yield Claim(
        "no row sums to 1",
        f"The rows sum to {held}, but each is expected to sum to 1.",
        "Shares are parts of a whole: by what is each number of a row divided, and when?",
        weak=True,
    )
