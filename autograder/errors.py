"""The one error a user of the kit is meant to read: fact, place, cure; and several at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class KitError(Exception):
    """Something a person can put right.

    `fact` says what is wrong, `place` where (a file, a step, a student) and
    `cure` what to do about it. The command line prints the three as one
    line each and exits with a code that is not zero.
    """

    def __init__(self, fact: str, *, place: str, cure: str) -> None:
        self.fact = fact
        self.place = place
        self.cure = cure
        super().__init__("\n".join(self.lines))

    @property
    def lines(self) -> tuple[str, str, str]:
        """The fact, where it is and the cure: the three lines that people read."""
        return self.fact, f"  where: {self.place}", f"  cure:  {self.cure}"

    @property
    def each(self) -> tuple[KitError, ...]:
        """The errors that this one stands for: itself, unless it stands for several."""
        return (self,)

    def _render_traceback_(self) -> list[str]:
        # IPython shows this instead of a traceback through our own code.
        return str(self).splitlines()

    def __reduce__(self) -> tuple[object, ...]:
        # Grader processes send their errors to the process that started them.
        return _rebuilt, (self.fact, self.place, self.cure)


class KitErrors(KitError):
    """Several errors of one run; to whoever knows only one, it is the first."""

    def __init__(self, errors: Sequence[KitError]) -> None:
        self._each = tuple(one for error in errors for one in error.each)
        first = self._each[0]
        super().__init__(first.fact, place=first.place, cure=first.cure)

    @property
    def each(self) -> tuple[KitError, ...]:
        """The errors, in the order in which they were found."""
        return self._each

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self._each)

    def __reduce__(self) -> tuple[object, ...]:
        return KitErrors, (self._each,)


class Faults:
    """Collects the errors of parts that do not depend on each other, to tell all in one run."""

    def __init__(self) -> None:
        self._found: list[KitError] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Keep a `KitError` of the body, and go on below it."""
        try:
            yield
        except KitError as error:
            self._found.append(error)

    def refuse(self) -> None:
        """Raise what was found, if anything was."""
        if self._found:
            raise self._found[0] if len(self._found) == 1 else KitErrors(self._found)


def _rebuilt(fact: str, place: str, cure: str) -> KitError:
    return KitError(fact, place=place, cure=cure)
