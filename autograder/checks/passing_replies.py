"""Replies that have passed a check before, on inputs that hand-ins share."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.model.request import KnownReplies, Reply, Request, Returned

_MOST_KEPT = 4  # ways to round: right answers differ in nothing else


class PassingReplies:
    """What one check asks on inputs that hand-ins share, and replies that have passed it.

    Whoever replies with the same bytes passes again: they need neither be read nor judged.
    `requests` are None until the check has been run.
    """

    def __init__(self) -> None:
        self.requests: tuple[Request, ...] | None = None
        self._kept: list[tuple[Returned, ...]] = []  # the last one that was met comes first
        self._known: list[dict[bytes, Returned]] = []

    def known(self, number: int) -> KnownReplies:
        """Return the replies to the question `number` that need not be read again."""
        return self._known[number] if self._known else {}

    def hold(self, replies: Sequence[Reply]) -> bool:
        """Say whether these replies, of those that are `known`, have passed together."""
        for place, kept in enumerate(self._kept):
            if len(kept) == len(replies) and all(map(_is, kept, replies)):
                self._kept.insert(0, self._kept.pop(place))
                return True
        return False

    def keep(self, replies: Sequence[Reply]) -> None:
        """Keep replies that have passed; of many, those that are met again."""
        passed = tuple(reply for reply in replies if isinstance(reply, Returned) and reply.encoded)
        if len(passed) != len(self.requests or ()):
            return
        self._kept = [passed, *self._kept][:_MOST_KEPT]
        columns = zip(*self._kept, strict=True)
        self._known = [{reply.encoded: reply for reply in column} for column in columns]


def _is(kept: Returned, reply: Reply) -> bool:
    return kept is reply
