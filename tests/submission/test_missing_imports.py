"""Which imports a hand-in lacks: told from a look at the text where that is enough."""

import symtable
import time
from itertools import count
from typing import Any

import pytest

from autograder.submission.cells import parsed
from autograder.submission.missing_import import (
    missing_imports,
    remarks_on_imports,
    without_absent,
)
from autograder.values.exercise import given_text, read_exercise
from support.broken.case import EXERCISE, ROOT

GIVEN = given_text(EXERCISE.folder)
NUMPY, USED = "import numpy as np", "np.ones(3)"
# Each looks as if NumPy were imported, or not used at all, and lacks it.
LACKS = {
    "a line in a text": (f"text = '''\n{NUMPY}\n'''\n{USED}",),
    "a line after a docstring that goes on": (f'"""An \\"""\n{NUMPY}\n"""\n{USED}',),
    "the body of a function after a backslash": (f"def f(): \\\n{NUMPY}\n{USED}",),
    "another line end in a comment": (f"# for one\rdef f(): \\\n{NUMPY}\n{USED}",),
    "a cell that is not Python": (f"{NUMPY}\n)", USED),
    "a cell that Python reads as a tree only": (f"{NUMPY}\ndef f(a, a): pass", USED),
    "letters of another script": ("import math\n\uff4e\uff50.ones(3)",),
    "a name within a formatted text": ("import math\nf'{np.pi}'",),
    "a module of that name in an import": ("import np.linalg as la", USED),
    "an import below the top, in a function": (f"def f():\n  {NUMPY}\n\n{USED}",),
    "another name": ("import numpy as num", USED),
}
HAS = {
    "it at the top": (f"# Mine\n\n{NUMPY}  # as always\n{USED}",),
    "it below a docstring": (f'"""Mine."""\nimport math\n{NUMPY}\n{USED}',),
    "it in a list": (f"import math, numpy as np\n{USED}",),
    "it in another cell": (USED, NUMPY),
    "it at the end": (f"{USED}\n{NUMPY}",),
    "it in a try": (f"try:\n  {NUMPY}\nexcept ImportError:\n  pass\n{USED}",),
    "it as a global of a function": (f"def f():\n  global np\n  {NUMPY}\nf()\n{USED}",),
    "no use for it": ("import math\n# np\nmath.pi",),
    "nothing that Python can read": (f"{USED}\n)",),
}


@pytest.mark.parametrize("cells", LACKS.values(), ids=LACKS)
def test_what_only_looks_like_an_import_of_numpy_leaves_it_missing(cells: tuple[str, ...]) -> None:
    assert missing_imports(cells, "numpy", GIVEN) == (NUMPY,)


@pytest.mark.parametrize("cells", HAS.values(), ids=HAS)
def test_code_that_has_or_does_not_need_numpy_lacks_nothing(cells: tuple[str, ...]) -> None:
    assert missing_imports(cells, "numpy", GIVEN) == ()


@pytest.mark.parametrize("kind", LACKS)
def test_an_import_that_stands_in_a_cell_that_is_not_python_is_not_asked_for(kind: str) -> None:
    remarks = remarks_on_imports((NUMPY,), LACKS[kind])
    assert bool(remarks) != kind.startswith("a cell that"), remarks


def test_a_name_that_a_class_makes_longer_is_found() -> None:
    given = "import numpy as _Model__np\n"
    cell = "import math\nclass Model:\n  def sum(self):\n    return __np.sum(self.x)"
    assert missing_imports([cell], "numpy", given) == (given.strip(),)


def test_of_a_solution_no_table_of_symbols_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = count()
    tables = symtable.symtable

    def counted(*facts: str) -> symtable.SymbolTable:
        next(asked)
        return tables(*facts)

    monkeypatch.setattr(symtable, "symtable", counted)
    for folder in sorted((ROOT / "solutions").glob("*_head")):
        exercise = read_exercise(folder)
        given = given_text(folder)
        assert missing_imports([given], exercise.library, given) == ()
        assert remarks_on_imports((), [given]) == ()
        assert parsed(given) is parsed(given)  # which is asked about for each hand-in
    assert next(asked) == 0


@pytest.mark.parametrize("begin", ["import ", "from a", '"""', "#"])
def test_a_very_long_line_is_looked_at_once(begin: str) -> None:
    start = time.process_time()
    missing_imports([begin + " " * 1_000_000 + "!"], "numpy", GIVEN)
    assert time.process_time() - start < 1  # twice as much for each letter would be hours


WITH_ABSENT = """from beartype import beartype
import torchtyping as tt
from jaxtyping import jaxtyped
from numba import njit as jit
fast = jit(cache=True)


@jaxtyped(
    typechecker=beartype
)
@fast
def softmax(é: tt.TensorType["B"], x: int = 2, *rest: tt.A) -> tt.TensorType[
    "B",
    "S",
]:
    y: tt.B = 1
    return x
"""


def test_decorators_and_annotations_of_absent_packages_are_left_out() -> None:
    (cell,), remarks = without_absent([WITH_ABSENT], "numpy", GIVEN)
    body = "\n".join(cell.split("\n")[7:])
    names: dict[str, Any] = {}
    exec(body, names)
    assert names["softmax"](0) == 2
    assert cell.count("\n") == WITH_ABSENT.count("\n") and "x: int = 2" in body
    assert {remark.split(", which")[0] for remark in remarks} == {
        "`@fast` needs `numba`",
        "`@jaxtyped(` needs `beartype`",
    }


@pytest.mark.parametrize(
    "cell",
    [
        "import functools\n@functools.cache\ndef softmax(x): return x",
        "from numba import njit\ndef njit(f): return f\n@njit\ndef softmax(x): return x",
        "try:\n  from numba import njit\nexcept ImportError:\n  njit = id\n@njit\ndef f(): pass",
        "import einops\ndef softmax(x): return einops.rearrange(x)",
        "import numba\n@numba.njit\ndef (",
    ],
)
def test_what_is_there_or_is_needed_for_the_result_stays(cell: str) -> None:
    assert without_absent([cell], "numpy", GIVEN) == ((cell,), ())
