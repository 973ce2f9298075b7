"""One cell and the wheel beside it are enough, in an environment with nothing but Jupyter in it.

pip fetches from its index what it needs, as on any machine of a service that runs notebooks.
"""

from __future__ import annotations

import json
import subprocess
import venv
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from autograder.authoring.contents import needed
from autograder.values.symbols import HIDDEN
from browser.site_page import made_site
from support.learner_workspace import NAME, ROOT, WRONG_SOFTMAX
from support.reference_steps import reference_steps
from support.typed_commands import typed

KERNEL = "fresh"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a fresh environment has its packages, which are Jupyter's kernel and pip."""
    python = tmp_path / "venv" / "bin" / "python"
    venv.create(tmp_path / "venv", with_pip=True)
    pip = (python, "-m", "pip", "install", "--quiet", "ipykernel", "-c", ROOT / "constraints.txt")
    subprocess.run(pip, check=True, timeout=900)
    kernel = tmp_path / "jupyter" / "kernels" / KERNEL
    kernel.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    facts = {"argv": argv, "display_name": KERNEL, "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(facts), encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    (found,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    assert not list(found.glob("numpy*")) and not list(found.glob("torch*"))
    return found


def run(file: Path, code: dict[str, str], only: tuple[str, ...] = (), wrong: bool = False) -> str:
    """Run a notebook with this code in the place of some cells; return all that it shows.

    only: the beginnings of the names of the cells that are run, by default all. wrong: whether
    cells may fail.
    """
    notebook: Any = nbformat.read(file, as_version=4)
    notebook.cells = [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and (not only or cell.id.startswith(only))
    ]
    for cell in notebook.cells:
        cell.source = code.get(cell.id.removeprefix("step-"), cell.source)
    where = {"metadata": {"path": str(file.parent)}}
    client = nbclient.NotebookClient(
        notebook, timeout=900, kernel_name=KERNEL, resources=where, allow_errors=wrong
    )
    client.execute()
    assert notebook.cells[0].id == "install"
    return json.dumps([cell.outputs for cell in notebook.cells], ensure_ascii=False)


def test_from_the_first_check_to_the_end_of_the_numpy_exercise(
    packages: Path, tmp_path: Path
) -> None:
    released = typed("release", NAME, "--to", tmp_path / "released", folder=ROOT)
    assert released.code == 0, released.err
    file = tmp_path / "released" / NAME / f"{NAME}.ipynb"
    first = ("install", "setup", "given-001", "step-softmax", "check-softmax")
    wrong = run(file, {"softmax": f"def softmax(scores):\n{WRONG_SOFTMAX}"}, first, wrong=True)
    assert "runs down the columns" in wrong
    shown = run(file, reference_steps(NAME))
    assert shown.count(HIDDEN) >= len(reference_steps(NAME)) and "text/html" in shown
    assert "And now with your layer" in shown and "What you have built" in shown
    assert list(packages.glob("numpy-*")) and not list(packages.glob("torch*"))


def test_a_notebook_that_a_site_offers_installs_the_kit_where_pytorch_is(
    packages: Path, tmp_path: Path
) -> None:
    for each in needed(["torch"]):  # as on a service that has it
        tops = {file.parts[0] for file in distribution(each.name).files or ()} - {
            "..",
            "__pycache__",
        }
        for top in tops:
            source = Path(str(distribution(each.name).locate_file(top)))
            if not (packages / top).exists():
                (packages / top).symlink_to(source)
    exercise = "torch_single_head"
    file = made_site(tmp_path / "site") / "download" / f"{exercise}.ipynb"
    code = reference_steps(exercise)
    step = next(iter(code))
    shown = run(file, code, ("install", "setup", "given-001", f"step-{step}", f"check-{step}"))
    assert f"{step}: " in shown and HIDDEN in shown
