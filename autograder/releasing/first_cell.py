"""The one cell by which a released notebook differs from the assignment: it installs the kit.

Google Colab begins with an empty machine and the notebook alone, so there the cell also gets
the exercise's files. Where the kit is installed it does nothing.
"""

from __future__ import annotations

import json
from typing import Any

CELL_ID = "install"
HEAD = """\
# Installs the exercise kit where it is missing, as in Google Colab; elsewhere it does nothing.
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
    """Return the text of a notebook with the cell that installs `wheel` put before all others.

    `address` is where the folder of the exercise lies online, if it does.
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
