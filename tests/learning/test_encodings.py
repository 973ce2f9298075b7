"""Every command in a terminal that does not know UTF-8: no traceback, readable signs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.learner_workspace import (
    NAME,
    REFERENCE,
    WRONG_SOFTMAX,
    limited,
    put,
    stub_file,
)
from support.typed_commands import UNREADABLE, typed

SLOW = pytest.mark.slow
ENCODINGS = ("cp1252", pytest.param("ascii", marks=SLOW), pytest.param("latin-1", marks=SLOW))
BODIES = {
    "softmax": WRONG_SOFTMAX,
    "initialize_weights": "    while True:\n        pass",
    "project_qkv": "    import os\n    os._exit(3)",
    "scale_scores": "    return attention_scores / np.sqrt(embedding_dimension)",
}


@pytest.fixture
def workspace(workspace: Path) -> Path:
    limited(workspace, seconds_per_call=0.5)
    put(workspace, **BODIES)
    return workspace


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_terminal_without_utf_8_shows_readable_signs(workspace: Path, encoding: str) -> None:
    commands = (
        ["check"],
        ["show", "softmax"],
        ["hint", "softmax"],
        ["list"],
        ["hint", "softmax", "--solution", "--yes"],
        ["reset", "project_qkv", "--yes"],
        ["check", "nothing-of-this-name"],
        ["--help"],
        ["check", "--help"],
        ["start", "."],
    )
    said = dict[str, str]()
    for words in commands:
        run = typed(*words, folder=workspace, encoding=encoding)
        said.setdefault(words[0], run.out)
        assert run.code in (0, 1, 2) and "Traceback" not in run.err, (words, run.err)
        assert not UNREADABLE.search(run.out + run.err), (words, run.out + run.err)
    dot = "." if encoding == "ascii" else "·"
    for line in ("v scale_scores", "x softmax", "~ initialize_weights", f"{dot} apply_mask"):
        assert line in said["check"]
    assert "key >" in said["show"] and "query v" in said["show"]
    assert f"={dot * 9} 1 of 11" in said["list"]


def test_json_is_the_same_in_every_encoding(workspace: Path) -> None:
    file = stub_file(workspace)
    text = file.read_text(encoding="utf-8").replace(
        WRONG_SOFTMAX, f"    print('≥ 😀')\n{WRONG_SOFTMAX}"
    )
    file.write_text(text, encoding="utf-8")
    (plain, known) = (
        typed("check", f"{NAME}.softmax", "--json", folder=workspace, encoding=encoding).out
        for encoding in ("ascii", "utf-8")
    )
    assert json.loads(plain) == json.loads(known)
    assert json.loads(known)["steps"][0]["checks"][0]["printed"] == "≥ 😀\n"


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("cp1252", marks=SLOW)])
def test_an_instructor_without_utf_8_has_a_table_to_read(tmp_path: Path, encoding: str) -> None:
    homework = tmp_path / "homework"
    homework.mkdir()
    (homework / "ada.py").write_text(REFERENCE, encoding="utf-8")
    run = typed("grade", homework, "--exercise", NAME, folder=tmp_path, encoding=encoding)
    assert run.code == 0, run.err
    assert re.search(r"^ada\W+v\W+v\W.* 22/22", run.out, re.MULTILINE), run.out
    assert not UNREADABLE.search(run.out + run.err), run.out + run.err


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_the_doctor_speaks_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    run = typed("doctor", folder=tmp_path, encoding=encoding)
    assert run.code in (0, 1) and "Traceback" not in run.err
    assert not UNREADABLE.search(run.out + run.err), run.out + run.err
