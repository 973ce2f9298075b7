"""What the kit reads of its own, somebody else may have written: it is read as if by a stranger.

The note of whose results a folder holds, the secret of hidden inputs, a learner's progress: a
pipe, a device, a link or a huge file in their place ends no command, and nothing of them moves
the terminal. Results are there whatever happens to what is printed.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.errors import KitError
from autograder.grading.class_task import OWNER, SECRET, claim_output, input_secret
from autograder.learning.progress import FILE, read_progress
from autograder.learning.workspace import MARK
from autograder.values.files import read_small, replace_file, write_whole
from support.broken.case import EXERCISE, NAME
from support.typed_commands import ATTN, attn

# A process that waits for a pipe or reads a device would not end by itself.
PATIENCE = 60
HUGE = 1 << 34  # bytes of a file that takes no room


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link(path: Path) -> None:
    elsewhere = path.with_name("elsewhere")
    elsewhere.write_bytes(b"x" * 32)
    path.symlink_to(elsewhere)


def folder(path: Path) -> None:
    path.mkdir()


def huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(HUGE)


Put = Callable[[Path], None]
KINDS: tuple[Put, ...] = (pipe, device, link, folder, huge)
ODD = {put.__name__ for put in KINDS}


def each_kind(root: Path, name: str) -> Path:
    """Put the file `name` of every kind into a folder that is called as the kind is."""
    for put in KINDS:
        (root / put.__name__ / name).parent.mkdir(parents=True)
        put(root / put.__name__ / name)
    return root


def refusals(root: Path, call: str) -> dict[str, str]:
    """What `call` is refused with in each folder of `root`, which it knows as `folder`."""
    code = "from autograder.errors import KitError\n"
    code += "from autograder.grading.class_task import claim_output, input_secret\n"
    code += f"for folder in path.iterdir():\n    try:\n        {call}\n"
    code += "    except KitError as error:\n        print(folder.name, repr(str(error)))\n"
    run = python(code, root)
    assert run.returncode == 0, run.stderr
    return {line.partition(" ")[0]: line for line in run.stdout.splitlines()}


def python(code: str, *words: Path) -> subprocess.CompletedProcess[str]:
    """Run `code`, which may hang or take all memory on a kit that trusts its files."""
    bounds = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))\n"
    prelude = bounds + "import sys; from pathlib import Path; path = Path(sys.argv[1])\n"
    return subprocess.run(
        [sys.executable, "-c", prelude + code, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


# --- reading and writing --------------------------------------------------------------------------


@pytest.mark.parametrize("put", KINDS)
def test_only_a_plain_small_file_is_read(tmp_path: Path, put: Put) -> None:
    put(tmp_path / "file")
    with pytest.raises(KitError, match=r"plain file|larger than 100 bytes") as error:
        read_small(tmp_path / "file", 100)
    assert error.value.place == str(tmp_path / "file") and error.value.cure


def test_a_small_file_is_read_up_to_its_last_byte(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100)
    assert read_small(file, 100) == b"x" * 100
    with pytest.raises(KitError, match="larger than 99 bytes"):
        read_small(file, 99)
    with pytest.raises(FileNotFoundError):
        read_small(tmp_path / "none", 100)


def test_reading_what_is_no_plain_file_leaves_nothing_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "file")
    before = len(os.listdir("/proc/self/fd"))
    for path in (tmp_path / "file", tmp_path):
        with pytest.raises(KitError):
            read_small(path, 100)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("put", [pipe, link])
def test_nothing_is_written_through_a_file_that_lies_in_the_way(tmp_path: Path, put: Put) -> None:
    code = "import os; from autograder.values.files import write_whole; "
    code += (
        "put = lambda part: os.mkfifo(part) if len(sys.argv) > 2 else part.symlink_to('other')\n"
    )
    code += "put(path.with_name(f'.{path.name}.{os.getpid()}.part')); write_whole(path, 'text')"
    run = python(code, tmp_path / "file", *([tmp_path] if put is pipe else []))
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "file").read_text(encoding="utf-8") == "text"
    assert not (tmp_path / "file").is_symlink() and not (tmp_path / "other").exists()


@pytest.mark.parametrize("put", [pipe, link])
def test_a_secret_is_not_written_where_a_link_leads(tmp_path: Path, put: Put) -> None:
    code = "import os; from autograder.grading.class_task import input_secret\n"
    code += "part = path / f'input.secret.{os.getpid()}'\n"
    code += "os.mkfifo(part) if len(sys.argv) > 2 else part.symlink_to('other')\n"
    code += "assert len(input_secret(path)) == 32"
    run = python(code, tmp_path, *([tmp_path] if put is pipe else []))
    assert run.returncode == 0, run.stderr
    assert not (tmp_path / "other").exists() and not (tmp_path / SECRET).is_symlink()


# --- the folder of results ------------------------------------------------------------------------


def test_an_odd_note_of_whose_results_they_are_and_an_odd_secret_are_said(tmp_path: Path) -> None:
    notes = each_kind(tmp_path / "notes", OWNER)
    said = refusals(notes, "claim_output(folder, folder, 'softmax', named=True, secret=folder)")
    assert said.keys() == ODD
    assert all("class.json is " in line and "cure:" in line for line in said.values()), said
    said = refusals(each_kind(tmp_path / "secrets", SECRET), "input_secret(folder)")
    assert said.keys() == ODD
    assert all("input.secret is " in line and "cure:" in line for line in said.values()), said


@pytest.mark.parametrize("text", ["[" * 60_000, "[]", "{}", '{"class": 1, "exercise": []}', "\xff"])
def test_a_note_that_cannot_be_understood_protects_the_folder(tmp_path: Path, text: str) -> None:
    (tmp_path / OWNER).write_bytes(text.encode("latin-1"))
    with pytest.raises(KitError, match="nobody knows which class"):
        claim_output(tmp_path, tmp_path, NAME, named=False, secret=tmp_path)


def test_the_note_of_another_class_says_whose_and_moves_no_terminal(tmp_path: Path) -> None:
    facts = {"class": "\x1b[2J\x1b]0;x\x07" + "A" * 10_000, "exercise": "##[error]"}
    write_whole(tmp_path / OWNER, json.dumps(facts))
    with pytest.raises(KitError, match="another class") as error:
        claim_output(tmp_path, tmp_path, NAME, named=False, secret=tmp_path)
    assert "\x1b" not in str(error.value) and "##[" not in str(error.value)
    assert len(error.value.fact) < 1_000


@pytest.mark.parametrize("length", [0, 33])
def test_a_secret_of_another_length_is_damaged_and_not_used(tmp_path: Path, length: int) -> None:
    (tmp_path / SECRET).write_bytes(b"x" * length)
    with pytest.raises(KitError, match="secret that hidden inputs are drawn from is damaged"):
        input_secret(tmp_path)


# --- a learner's progress -------------------------------------------------------------------------


def test_an_odd_record_of_progress_is_set_aside(tmp_path: Path) -> None:
    each_kind(tmp_path, f"{MARK}/{FILE}")
    code = "from autograder.learning.progress import read_progress\n"
    code += "for folder in path.iterdir():\n"
    code += "    read_progress(folder, lambda said: print(folder.name, said)).save()"
    run = python(code, tmp_path)
    assert run.returncode == 0, run.stderr
    for kind in ODD:
        assert f"{kind} " in run.stdout
        assert os.path.lexists(tmp_path / kind / MARK / f"{FILE}.unreadable-1"), kind
        assert read_progress(tmp_path / kind, pytest.fail).facts == {"version": 1}, kind
    assert run.stdout.count("could not be read (progress.json is ") == len(ODD)


# --- printing -------------------------------------------------------------------------------------


GRADE = ("grade", "homework", "--exercise", NAME, "--processes", "1")


def nobody_reads() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def no_room() -> int:
    return os.open("/dev/full", os.O_WRONLY)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("output", "told"),
    [(nobody_reads, ("Broken pipe", "written anyway")), (no_room, ("No space left", "cure:"))],
)
def test_results_are_written_though_what_is_printed_goes_nowhere(
    homework: Path, output: Callable[[], int], told: tuple[str, ...]
) -> None:
    with open(output(), "wb") as stdout:
        run = subprocess.run(
            [ATTN, *GRADE],
            cwd=homework.parent,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    results = homework.with_name("homework-graded") / "grades.csv"
    assert "ada,22,22," in results.read_text(encoding="utf-8")
    assert run.returncode == 2 and all(words in run.stderr for words in told), run.stderr
    assert "Traceback" not in run.stderr and "Exception ignored" not in run.stderr


def test_an_error_that_names_a_folder_with_escapes_moves_no_terminal(tmp_path: Path) -> None:
    run = attn("grade", "\x1b[2Jhomework\x1b]0;x\x07", folder=tmp_path)
    assert run.code == 2 and "there is no such folder" in run.err
    assert "homework" in run.err and "\x1b" not in run.err


# --- Python's own options -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_python_that_strips_code_is_told_as_the_cause(homework: Path) -> None:
    run = attn(*GRADE, folder=homework.parent, PYTHONOPTIMIZE="2")
    assert run.code == 2 and "unset PYTHONOPTIMIZE" in run.err, run.err
    assert "docstrings" in run.err and "Traceback" not in run.err


def test_a_python_that_strips_assertions_alone_keeps_docstrings() -> None:
    code = "from autograder.checks.reference import read_reference; from pathlib import Path\n"
    code += f"read_reference(Path({str(EXERCISE.folder)!r}))"
    command = [sys.executable, "-O", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "KitError" in run.stderr and "the option -O" in run.stderr, run.stderr
    assert "docstrings" not in run.stderr


def test_a_file_gets_the_permissions_that_are_asked_for_whatever_the_process_gives(
    tmp_path: Path,
) -> None:
    before = os.umask(0o077)
    try:
        replace_file(tmp_path / "own", b"1")
        replace_file(tmp_path / "for all", b"2" * 3_000_000, 0o644)
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {"own": 0o600, "for all": 0o644}
    assert (tmp_path / "for all").read_bytes() == b"2" * 3_000_000
