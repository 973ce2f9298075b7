"""The one error a user of the kit is meant to read: fact, place, cure."""

from __future__ import annotations


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

    def _render_traceback_(self) -> list[str]:
        # IPython shows this instead of a traceback through our own code.
        return str(self).splitlines()

    def __reduce__(self) -> tuple[object, ...]:
        # Grader processes send their errors to the process that started them.
        return _rebuilt, (self.fact, self.place, self.cure)


def _rebuilt(fact: str, place: str, cure: str) -> KitError:
    return KitError(fact, place=place, cure=cure)
