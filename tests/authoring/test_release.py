"""What students get works on a disk with nothing else on it, and gives nothing away."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial, reduce
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from autograder.authoring.contents import with_first_cell
from autograder.authoring.release import MARKERS, Source
from autograder.values.exercise import read_exercise
from autograder.values.symbols import HIDDEN
from support.reference_steps import pasted, reference_steps
from support.student_disk import Disk, given_away, jupyter_packages, kernel_of, new_disk
from support.typed_commands import typed

pytestmark = pytest.mark.slow  # the kit is built and installed, and kernels run

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
SOURCE = Source(ROOT / "solutions", ROOT / "assignments")
STEPS = read_exercise(ROOT / "solutions" / NAME).steps


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The NumPy exercise, released by the command, with an archive."""
    folder = tmp_path_factory.mktemp("release") / "handout"
    done = typed("release", NAME, "--to", folder, "--zip", folder=ROOT)
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="module")
def wheel(released: Path) -> Path:
    (found,) = (released / NAME).glob("*.whl")
    return found


@pytest.fixture(scope="module")
def disk(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Disk:
    """A student's disk on which they have typed the one command of the README."""
    made = new_disk(tmp_path_factory.mktemp("student") / "disk", released / f"{NAME}.zip")
    readme = (made.handout / "README.md").read_text(encoding="utf-8")
    assert "python -m pip install -r requirements.txt" in readme
    code, said = made.run(made.python, "-m", "pip", "install", "-r", "requirements.txt")
    assert code == 0, said
    return made


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return jupyter_packages(tmp_path_factory.mktemp("jupyter"))


@pytest.fixture
def kernel(
    disk: Disk, jupyter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The name of a kernel with the student's Python."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("JUPYTER_PATH", str(kernel_of(disk, jupyter, tmp_path / "jupyter_path")))
    yield "student"


def notebook_in(folder: Path) -> nbformat.NotebookNode:
    read: nbformat.NotebookNode = nbformat.read(folder / f"{NAME}.ipynb", as_version=4)
    return read


def run(notebook: nbformat.NotebookNode, folder: Path, kernel: str) -> None:
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name=kernel, resources={"metadata": {"path": str(folder)}}
    ).execute()


# --- the whole exercise, on a disk with nothing else on it ---------------------------------------


def test_a_student_of_the_numpy_exercise_installs_neither_pytorch_nor_nbgrader(disk: Disk) -> None:
    assert disk.run(disk.python, "-c", "import autograder, numpy")[0] == 0
    for name in ("torch", "nbgrader", "jupyterlab", "matplotlib", "jupytext"):
        code, said = disk.run(disk.python, "-c", f"import {name}")
        assert code == 1 and "ModuleNotFoundError" in said, name
    code, said = disk.run(disk.python, "-m", "pip", "check")
    assert code == 0, said


def test_the_size_that_the_readme_tells_is_the_size_on_the_disk(disk: Disk) -> None:
    files = [path for path in disk.packages.rglob("*") if path.is_file()]
    others = [
        path
        for path in files
        if not path.relative_to(disk.packages).parts[0].startswith(("pip", "autograder"))
    ]
    megabytes = sum(path.stat().st_size for path in others) / 1e6
    assert 40 < megabytes < 150
    readme = (disk.handout / "README.md").read_text(encoding="utf-8")
    told = float(readme.split("(about ")[1].split(" MB)")[0])
    assert told == pytest.approx(megabytes, rel=0.1)


def test_the_untouched_stub_fails_in_words(disk: Disk) -> None:
    code, said = disk.attn("check", "softmax")
    assert code == 1
    assert "softmax" in said and "not written yet" in said and "Traceback" not in said


def test_the_reference_pasted_in_passes(disk: Disk) -> None:
    file = disk.handout / f"{NAME}.py"
    stub = file.read_text(encoding="utf-8")
    try:
        written = reduce(lambda text, step: pasted(text, NAME, step.name), STEPS, stub)
        file.write_text(written, encoding="utf-8")
        code, said = disk.attn("check", "--json")
        assert code == 0, said
        told = json.loads(said)
        assert told["passes"] and told["file"] == str(file)
        assert [step["name"] for step in told["steps"] if step["passes"]] == [
            step.name for step in STEPS
        ]
    finally:
        file.write_text(stub, encoding="utf-8")


def test_a_workspace_can_be_laid_out_from_the_installed_kit(disk: Disk, tmp_path: Path) -> None:
    code, said = disk.run(disk.python.parent / "attn", "start", tmp_path / "mine")
    assert code == 0, said
    assert (tmp_path / "mine" / NAME / f"{NAME}.ipynb").is_file()


def test_the_notebook_with_the_reference_in_place_runs_from_top_to_bottom(
    disk: Disk, kernel: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(disk.handout, tmp_path / NAME)
    read = notebook_in(folder)
    answers = reference_steps(NAME)
    for cell in read.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in answers:
            cell.source = answers[name]
    run(read, folder, kernel)
    outputs = [output for cell in read.cells for output in cell.get("outputs", ())]
    assert [each for each in outputs if each.get("name") == "stderr"] == []
    words = json.dumps(outputs)
    assert words.count(HIDDEN) >= len(STEPS)
    assert read.cells[0].outputs == []


def test_the_untouched_notebook_stops_at_its_first_check_in_words(
    disk: Disk, kernel: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(disk.handout, tmp_path / NAME)
    with pytest.raises(nbclient.exceptions.CellExecutionError) as caught:
        run(notebook_in(folder), folder, kernel)
    assert "`softmax` is not written yet" in str(caught.value)


def test_no_solution_is_anywhere_on_that_disk(disk: Disk, tmp_path: Path) -> None:
    secrets = tuple(secret for secret in SOURCE.secrets if secret.text not in MARKERS)
    assert given_away(disk.root, secrets) == []
    solved = reference_steps(NAME)
    planted = {
        "home/notes.txt": solved["softmax"],
        "venv/lib/x/site-packages/numpy/extra.py": solved["SingleHeadAttention"],
        "venv/lib/x/site-packages/autograder/more.py": solved["apply_mask"],
        "handout/graders.py": "",
    }
    for name, text in planted.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert sorted(given_away(tmp_path, secrets)) == sorted(planted)


def test_the_installed_kit_has_no_solution_to_show(disk: Disk) -> None:
    for option in ("--solution", "--order"):
        code, said = disk.attn("hint", "softmax", option)
        assert code == 1 and "came without solutions" in " ".join(said.split())


# --- the first cell ------------------------------------------------------------------------------


def uninstall(disk: Disk) -> None:
    code, said = disk.run(disk.python, "-m", "pip", "uninstall", "--yes", "attention-kit")
    assert code == 0, said


def has_kit(disk: Disk) -> bool:
    return disk.run(disk.python, "-c", "import autograder")[0] == 0


def install_again(disk: Disk) -> None:
    if has_kit(disk):
        return
    code, said = disk.run(disk.python, "-m", "pip", "install", "-r", "requirements.txt")
    assert code == 0, said


def test_the_first_cell_installs_the_kit_where_it_is_missing_and_else_does_nothing(
    disk: Disk, kernel: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(disk.handout, tmp_path / NAME)
    read = notebook_in(folder)
    read.cells = read.cells[:1]
    try:
        uninstall(disk)
        assert not has_kit(disk)
        run(read, folder, kernel)
        assert has_kit(disk)
        # Had it installed anything now, it would have failed.
        for file in folder.glob("*.whl"):
            file.unlink()
        run(read, folder, kernel)
        assert read.cells[0].outputs == []
    finally:
        install_again(disk)


def test_online_the_first_cell_gets_the_kit_and_the_files_for_a_notebook_that_is_alone(
    disk: Disk, wheel: Path, kernel: str, tmp_path: Path
) -> None:
    serve = partial(Quiet, directory=str(wheel.parent))
    alone = tmp_path / "content"
    alone.mkdir()
    assignment = (ROOT / "assignments" / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        changed = with_first_cell(assignment, NAME, wheel.name, address)
        read: nbformat.NotebookNode = nbformat.reads(changed, as_version=4)
        setup = next(cell for cell in read.cells if "open_exercise" in cell.source)
        read.cells = [read.cells[0], setup]
        try:
            uninstall(disk)
            run(read, alone, kernel)
            assert has_kit(disk)
        finally:
            server.shutdown()
            install_again(disk)
    assert (alone / NAME / "examples.xz").is_file()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and logs nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def test_binder_installs_from_the_top_of_the_release(released: Path, disk: Disk) -> None:
    install = (disk.python, "-m", "pip", "install", "--dry-run", "--force-reinstall", "--no-deps")
    lines = (released / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    (kit,) = [line for line in lines if line.endswith(".whl")]
    code, said = disk.run(*install, kit, within=released)
    assert code == 0 and "Would install attention-kit" in said, said
    assert (released / "binder" / "runtime.txt").read_text(encoding="utf-8").startswith("python-3.")


@pytest.mark.skipif(sys.platform == "win32", reason="the lines for macOS and Linux")
def test_the_environment_of_the_readme_is_one_in_which_pip_installs(
    released: Path, tmp_path: Path
) -> None:
    shutil.copytree(released / NAME, tmp_path / NAME)
    text = (tmp_path / NAME / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"on macOS or Linux: `([^`]+)`", text)
    script = "\n".join([*lines, "python -m pip --version", "command -v python"])
    run = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path / NAME, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == str(tmp_path / "attention-env" / "bin" / "python")


def test_an_installation_has_no_sources_and_says_what_to_name_instead(disk: Disk) -> None:
    program = "from autograder.authoring.contents import build_wheel; build_wheel([])"
    code, said = disk.run(disk.python, "-c", program)
    assert code == 1 and "there are no sources to build its wheel from" in said
    assert "--wheel" in said
