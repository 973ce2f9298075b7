"""Names that the notebook's own cells have set, and that a learner's cell took for a value.

`check = 3` takes the check away, and `np = 3` NumPy, from every cell that runs later.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any

from autograder.errors import KitError
from autograder.judging.explanation import IMPORTS
from autograder.model.verdict import Outcome
from autograder.submission.cells import parsed
from autograder.submission.slip import Slip, capitalized, names_bound_in

CHECK = "check"
NAMES = frozenset({CHECK, *IMPORTS})
_ERRORS = "(?:Attribute|Type)Error"


@dataclass(frozen=True)
class TakenName:
    """A name that a cell gave to a value; `place` says where, as in "cell [4], line 1"."""

    name: str
    place: str
    code: str

    def told(self) -> KitError:
        """Return what to say where `check` is called and is something else by now."""
        return KitError(
            f"`{self.name}` is a value of yours now, and no longer the check",
            place=f"{self.place}: `{self.code}`",
            cure=f"give that value another name, then run the cell with `{self.name} = "
            "open_exercise(...)` again",
        )

    def slip(self) -> Slip:
        """Return the slip for a step that uses the name."""
        fact = f"{capitalized(self.place)} gives the name `{self.name}` to a value."
        look = (
            f"So the `{self.name}` that you import is out of reach. Give that value another name, "
            "and run the cell with the imports again."
        )
        seen = rf"(?<![\w.]){self.name}\s*[.(].*raises `{_ERRORS}"
        return Slip((Outcome.RAISED,), seen, fact, look)


def taken_in(cell: str, place: str, values: Mapping[str, Any]) -> Iterator[TakenName]:
    """Yield the names that a cell which has run took for values."""
    tree = parsed(cell)
    for node in tree.body if tree else ():
        for name in sorted(NAMES & names_bound_in(node)):
            value = values.get(name)
            if not (callable(value) or isinstance(value, ModuleType)):
                line = getattr(node, "lineno", 0)
                code = ast.get_source_segment(cell, node) or name
                yield TakenName(name, f"{place}, line {line}", code.split("\n")[0][:80])


def calls(name: str, trace: TracebackType | None) -> bool:
    """Whether an error arose in a line that calls `name`."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    line = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    return re.search(rf"(?<![\w.]){name}\s*\(", line) is not None
