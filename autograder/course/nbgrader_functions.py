"""nbgrader's own functions on cells and times, without all that `import nbgrader` brings along.

That imports a web server, a database and every exporter, which takes a grader process half a
second. These functions need none of it. They are nbgrader's, so scores are those that it reads.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def _functions() -> ModuleType:
    """Return the module `nbgrader.utils`, or a copy of it where nbgrader is not imported."""
    if "nbgrader.utils" in sys.modules:
        return sys.modules["nbgrader.utils"]
    package = find_spec("nbgrader")  # which looks for it, and runs nothing
    if package is None or package.origin is None:
        raise ModuleNotFoundError("No module named 'nbgrader'", name="nbgrader")
    file = Path(package.origin).with_name("utils.py")
    spec = spec_from_file_location(__name__ + ".utils", file)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("No module named 'nbgrader.utils'", name="nbgrader.utils")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_module = _functions()
compute_checksum = _module.compute_checksum
determine_grade = _module.determine_grade
is_grade = _module.is_grade
is_solution = _module.is_solution
is_task = _module.is_task
parse_utc = _module.parse_utc
