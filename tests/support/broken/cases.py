"""The whole broken class."""

from __future__ import annotations

from support.broken import code, files, notebooks
from support.broken.case import CASES, Broken

MODULES = (files, notebooks, code)
EVERYBODY: tuple[Broken, ...] = tuple(CASES.values())
