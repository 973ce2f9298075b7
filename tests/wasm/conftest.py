"""Pyodide in Node, for the tests of this folder.

Node has to be on the system, and the parts of Pyodide are fetched by `make test-wasm`. So these
tests are not part of `make test`, and say so before anything runs where one of them is missing.
"""

from __future__ import annotations

import pytest

from autograder.site.site_folder import missing_parts
from wasm.in_node import NODE_MISSING, PARTS, PARTS_MISSING, find_node


def pytest_configure() -> None:
    if find_node() is None:
        raise pytest.UsageError(NODE_MISSING)
    if missing_parts(PARTS):
        raise pytest.UsageError(PARTS_MISSING)
