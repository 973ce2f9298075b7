"""The one cell that a released notebook has in addition to the assignment: it installs the kit.

Google Colab begins with an empty machine and only the notebook, so there the cell also fetches
the exercise's files. If the kit is already installed, the cell does nothing.
"""

from __future__ import annotations

import json
from typing import Any

CELL_ID = "install"
HEAD = """\
# Installs the exercise kit if it is missing, as on Google Colab; otherwise it does nothing.
from importlib.util import find_spec
"""
BESIDE = """
if find_spec("autograder") is None:
    %pip install --quiet ./{wheel}
"""
ONLINE = """from os.path import exists

if find_spec("autograder") is None:
    if exists("{wheel}"):
        %pip install --quiet ./{wheel}
    else:
        %pip install --quiet {address}/{wheel}
        !attn start . --exercise {exercise}
"""


def with_first_cell(notebook: str, exercise: str, wheel: str, address: str = "") -> str:
    """Return the text of the notebook with a first cell that installs `wheel`.

    `address` is the online address of the exercise's folder, or "".
    """
    facts: dict[str, Any] = json.loads(notebook)
    body = ONLINE if address else BESIDE
    source = HEAD + body.format(wheel=wheel, address=address, exercise=exercise)
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": CELL_ID,
        "metadata": {},
        "outputs": [],
        "source": source.rstrip("\n").splitlines(keepends=True),
    }
    changed = {**facts, "cells": [cell, *facts["cells"]]}
    # As nbformat writes it, so that nothing else in the file differs.
    return json.dumps(changed, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
