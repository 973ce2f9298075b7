"""An import in a submission's own code finds what its exercise has, on every machine alike.

Without this, `import torch` in a NumPy exercise fails as "not found" where PyTorch is not
installed, and anywhere else with whatever breaks first under the limits on memory and threads.
It is no protection: the sandbox is. Code that gets around it meets those limits again.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType

_IMPORTING = ("importlib", "_frozen_importlib")


class ImportGuard:
    """Refuses packages that an exercise does not have to code in the files `own`.

    `packages` are those that it has, besides Python's own modules. A library's own imports are
    not asked about, so that it may load whatever it needs.
    """

    def __init__(self, packages: Collection[str], own: Collection[str]) -> None:
        self._there = {*sys.stdlib_module_names, *packages}
        self._own = own

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Leave the search to the others, or raise ModuleNotFoundError; see `sys.meta_path`."""
        if path is None and name not in self._there and self._asked_by_own_code():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

    def install(self) -> None:
        """Ask this guard before every import from now on."""
        sys.meta_path.insert(0, self)

    def _asked_by_own_code(self) -> bool:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and _is_import_system(frame):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename in self._own


def _is_import_system(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_IMPORTING)
