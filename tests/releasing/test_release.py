"""What students get works on a disk with nothing else on it, and gives nothing away."""

from __future__ import annotations

import ast
import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from autograder.building.build import build
from autograder.building.leak import refuse_leaks
from autograder.building.regions import BEGIN, END
from autograder.checks.recording import record_examples
from autograder.errors import KitError
from autograder.model.exercise import read_exercise
from autograder.model.symbols import HIDDEN
from autograder.releasing.contents import exercise_files
from autograder.releasing.first_cell import with_first_cell
from autograder.releasing.pages import files_address
from autograder.releasing.release import ReleaseOptions, Wheel, release
from autograder.releasing.search import MARKERS, Source
from autograder.releasing.wheel import wheel_requires
from autograder.submission.code import read_code
from autograder.submission.missing_step import written
from support.copied_exercise import copy_exercise
from support.student_disk import Disk, given_away, jupyter_packages, kernel_of, new_disk

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
SOURCE = Source(ROOT / "solutions", ROOT / "assignments")
STEPS = read_exercise(ROOT / "solutions" / NAME).steps
SECRETS = tuple(secret for secret in SOURCE.secrets if secret.text not in MARKERS)

Content = dict[str, bytes]  # of a folder: path to bytes


def attn(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the instructor's, in the repository."""
    command = [sys.executable, "-m", "autograder.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The NumPy exercise, released by the command, with an archive."""
    folder = tmp_path_factory.mktemp("release") / "handout"
    done = attn("release", NAME, "--to", folder, "--zip")
    assert done.returncode == 0, done.stderr
    assert f"attn grade homework --exercise {NAME}" in done.stdout
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


def solved() -> dict[str, str]:
    """The reference's code of every step, as a student would write it."""
    lines = (ROOT / "solutions" / NAME / "solution.py").read_text(encoding="utf-8").splitlines()
    return {
        node.name: "\n".join(
            line
            for line in lines[node.lineno - 1 : node.end_lineno]
            if line.strip() not in (BEGIN, END)
        )
        for node in ast.parse("\n".join(lines)).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def paste_into_script(stub: str) -> str:
    """The stub with the reference's answers in place of its steps."""
    lines = stub.splitlines()
    answers = solved()
    nodes = [
        node
        for node in ast.parse(stub).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in answers
    ]
    for node in reversed(nodes):
        lines[node.lineno - 1 : node.end_lineno] = answers[node.name].splitlines()
    return "\n".join(lines) + "\n"


def notebook_in(folder: Path) -> nbformat.NotebookNode:
    read: nbformat.NotebookNode = nbformat.read(folder / f"{NAME}.ipynb", as_version=4)
    return read


def run(notebook: nbformat.NotebookNode, folder: Path, kernel: str) -> None:
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name=kernel, resources={"metadata": {"path": str(folder)}}
    ).execute()


# --- the whole exercise, on a disk with nothing else on it ---------------------------------------


@pytest.mark.slow
def test_a_student_of_the_numpy_exercise_installs_neither_pytorch_nor_nbgrader(disk: Disk) -> None:
    assert disk.run(disk.python, "-c", "import autograder, numpy")[0] == 0
    for name in ("torch", "nbgrader", "jupyterlab", "matplotlib", "jupytext"):
        code, said = disk.run(disk.python, "-c", f"import {name}")
        assert code == 1 and "ModuleNotFoundError" in said, name
    code, said = disk.run(disk.python, "-m", "pip", "check")
    assert code == 0, said


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_untouched_stub_fails_in_words(disk: Disk) -> None:
    code, said = disk.attn("check", "softmax")
    assert code == 1
    assert "softmax" in said and "not written yet" in said and "Traceback" not in said


@pytest.mark.slow
def test_the_reference_pasted_in_passes(disk: Disk) -> None:
    file = disk.handout / f"{NAME}.py"
    stub = file.read_text(encoding="utf-8")
    try:
        file.write_text(paste_into_script(stub), encoding="utf-8")
        code, said = disk.attn("check", "--json")
        assert code == 0, said
        told = json.loads(said)
        assert told["passes"] and told["file"] == str(file)
        assert [step["name"] for step in told["steps"] if step["passes"]] == [
            step.name for step in STEPS
        ]
    finally:
        file.write_text(stub, encoding="utf-8")


@pytest.mark.slow
def test_a_workspace_can_be_laid_out_from_the_installed_kit(disk: Disk, tmp_path: Path) -> None:
    code, said = disk.run(disk.python.parent / "attn", "start", tmp_path / "mine")
    assert code == 0, said
    assert (tmp_path / "mine" / NAME / f"{NAME}.ipynb").is_file()


@pytest.mark.slow
def test_the_notebook_with_the_reference_in_place_runs_from_top_to_bottom(
    disk: Disk, kernel: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(disk.handout, tmp_path / NAME)
    read = notebook_in(folder)
    answers = solved()
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


@pytest.mark.slow
def test_the_untouched_notebook_stops_at_its_first_check_in_words(
    disk: Disk, kernel: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(disk.handout, tmp_path / NAME)
    with pytest.raises(nbclient.exceptions.CellExecutionError) as caught:
        run(notebook_in(folder), folder, kernel)
    assert "`softmax` is not written yet" in str(caught.value)


@pytest.mark.slow
def test_no_solution_is_anywhere_on_that_disk(disk: Disk, tmp_path: Path) -> None:
    assert given_away(disk.root, SECRETS) == []
    planted = {
        "home/notes.txt": solved()["softmax"],
        "venv/lib/x/site-packages/numpy/extra.py": solved()["SingleHeadAttention"],
        "venv/lib/x/site-packages/autograder/more.py": solved()["apply_mask"],
        "handout/graders.py": "",
    }
    for name, text in planted.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert sorted(given_away(tmp_path, SECRETS)) == sorted(planted)


@pytest.mark.slow
def test_the_installed_kit_has_no_solution_to_show(disk: Disk) -> None:
    for command in ("solution", "puzzle"):
        code, said = disk.attn(command, "softmax")
        assert code == 1 and "came without solutions" in " ".join(said.split())


@pytest.mark.parametrize("name", SOURCE.names)
def test_in_an_untouched_handout_neither_file_counts_as_work(name: str) -> None:
    # Else the notebook, which is read first, hides what a student wrote in the .py.
    exercise = read_exercise(SOURCE.assignments / name)
    for suffix in (".py", ".ipynb"):
        code = read_code(exercise.folder / f"{name}{suffix}", exercise)
        assert written(code.cells, exercise) == frozenset(), suffix


# --- the first cell ------------------------------------------------------------------------------


def test_the_notebook_differs_from_the_assignment_by_its_first_cell_and_nothing_else(
    released: Path, wheel: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        there = archive.read(f"autograder/assignments/{NAME}/{NAME}.ipynb").decode("utf-8")
    out = (released / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8")
    facts: dict[str, Any] = json.loads(out)
    nbformat.validate(nbformat.reads(out, as_version=4))
    first, *facts["cells"] = facts["cells"]
    assert json.dumps(facts, indent=1, ensure_ascii=False, sort_keys=True) + "\n" == there
    assert "%pip install --quiet ./attention_kit-" in "".join(first["source"])


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


@pytest.mark.slow
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


@pytest.mark.slow  # as the test above, but from an address in place of a folder
def test_online_the_first_cell_gets_the_kit_and_the_files_for_a_notebook_that_is_alone(
    disk: Disk, wheel: Path, kernel: str, tmp_path: Path
) -> None:
    serve = functools.partial(Quiet, directory=str(wheel.parent))
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
    assert (alone / NAME / "examples.json").is_file()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and logs nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.mark.slow  # a release of its own
def test_with_a_repository_the_page_opens_the_notebook_in_colab_and_binder(
    small: Source, wheel: Path, tmp_path: Path
) -> None:
    order = ReleaseOptions((NAME,), repository="ada/attention", wheel=wheel)
    release(small, order, tmp_path / "out")
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    notebook = f"{NAME}/{NAME}.ipynb"
    assert f"https://colab.research.google.com/github/ada/attention/blob/HEAD/{notebook}" in page
    assert f"/v2/gh/ada/attention/HEAD?labpath={notebook.replace('/', '%2F')}" in page
    (first, *_) = notebook_in(tmp_path / "out" / NAME).cells
    assert f"{files_address('ada/attention', NAME)}/{wheel.name}" in first.source


@pytest.mark.slow
def test_binder_installs_from_the_top_of_the_release(released: Path, disk: Disk) -> None:
    install = (disk.python, "-m", "pip", "install", "--dry-run", "--force-reinstall", "--no-deps")
    lines = (released / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    (kit,) = [line for line in lines if line.endswith(".whl")]
    code, said = disk.run(*install, kit, within=released)
    assert code == 0 and "Would install attention-kit" in said, said
    assert (released / "binder" / "runtime.txt").read_text(encoding="utf-8").startswith("python-3.")


# --- what goes out, and what is refused ----------------------------------------------------------


def test_an_archive_holds_what_the_folder_holds_in_a_folder_of_that_name(released: Path) -> None:
    with zipfile.ZipFile(released / f"{NAME}.zip") as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    folder = {
        path.relative_to(released).as_posix(): path.read_bytes()
        for path in (released / NAME).rglob("*")
    }
    assert packed == folder
    names = [f"{NAME}.ipynb", f"{NAME}.py", "README.md", "CHECKLIST.md", "examples.json"]
    for name in (*names, "exercise.toml", "requirements.txt"):
        assert f"{NAME}/{name}" in packed


def test_the_readme_begins_with_a_zip_and_without_an_environment(released: Path) -> None:
    text = (released / NAME / "README.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\d\. \*\*([^*]+)\*\*", text, re.MULTILINE)
    assert steps[:4] == ["Unpack", "Make an environment", "Enter it", "Install"]
    assert "`py -m venv ..\\attention-env`" in text
    assert "`..\\attention-env\\Scripts\\activate`" in text


@pytest.mark.slow
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


def test_the_wheel_holds_the_engine_and_the_public_exercises_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top.removesuffix(".dist-info").split("-")[0] for top in tops} == {
        "autograder",
        "attention_kit",
    }
    assert {f"autograder/assignments/{name}/exercise.toml" for name in SOURCE.names} <= set(names)


def assert_torch_from_the_index_for_the_cpu(requirements: bytes) -> None:
    text = requirements.decode("utf-8")
    assert "torch==2.13.0\n" in text
    assert "--extra-index-url=https://download.pytorch.org/whl/cpu\n" in text


def test_pytorch_is_named_for_the_exercises_that_need_it_with_the_index_for_the_cpu(
    released: Path, wheel: Path
) -> None:
    numpy_only = (released / NAME / "requirements.txt").read_text(encoding="utf-8")
    assert "torch" not in numpy_only and "nbgrader" not in numpy_only
    name = "torch_single_head"
    exercise = read_exercise(SOURCE.solutions / name)
    packages = Wheel(wheel.name, b"", tuple(wheel_requires(wheel))).packages([exercise])
    folder = SOURCE.assignments / name
    files = exercise_files(exercise, folder, wheel=wheel.name, packages=packages)
    assert_torch_from_the_index_for_the_cpu(files[f"{name}/requirements.txt"])


def copied_source(folder: Path) -> Source:
    """A copy of two exercises in `folder`."""
    for name in (NAME, "torch_single_head"):
        copy_exercise(name, folder / "solutions")
        shutil.copytree(ROOT / "assignments" / name, folder / "assignments" / name)
    return Source(folder / "solutions", folder / "assignments")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Two exercises, which nobody changes."""
    return copied_source(tmp_path_factory.mktemp("small"))


@pytest.fixture
def changeable(tmp_path: Path) -> Source:
    """Two exercises, to be changed at will."""
    return copied_source(tmp_path)


@pytest.fixture
def again(released: Path, small: Source, wheel: Path, tmp_path: Path) -> Path:
    """A copy of the release, under version control, into which the same was released once more."""
    out = Path(shutil.copytree(released, tmp_path / "out"))
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    release(small, ReleaseOptions((NAME,), archives=True, wheel=wheel), out)
    return out


@pytest.mark.slow  # a release of its own
def test_releasing_again_gives_the_same_bytes(released: Path, again: Path) -> None:
    after = content(again)
    assert after.pop(".git/HEAD") == b"ref: refs/heads/main\n"
    assert after == content(released)


@pytest.mark.slow  # two releases more, one of them with PyTorch
def test_releasing_another_exercise_keeps_what_was_released_before(
    small: Source, wheel: Path, again: Path
) -> None:
    before = content(again)
    release(small, ReleaseOptions(("torch_single_head",), wheel=wheel), again)
    after = content(again)
    assert {path: after[path] for path in before if path.startswith(NAME)} == {
        path: text for path, text in before.items() if path.startswith(NAME)
    }
    page = after["README.md"].decode("utf-8")
    assert f"({NAME}/)" in page and "(torch_single_head/)" in page
    for where in ("torch_single_head", "binder"):
        assert_torch_from_the_index_for_the_cpu(after[f"{where}/requirements.txt"])
    release(small, ReleaseOptions((NAME,), wheel=wheel), again)
    assert f"{NAME}.zip" in after and f"{NAME}.zip" not in content(again)


def content(folder: Path) -> Content:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
def test_a_folder_with_somebodys_work_in_it_is_left_as_it_is(
    small: Source, wheel: Path, tmp_path: Path
) -> None:
    order = ReleaseOptions((NAME,), wheel=wheel)
    own = tmp_path / "own"
    own.mkdir()
    (own / "lecture.md").write_text("mine", encoding="utf-8")
    with pytest.raises(KitError, match=r"lecture\.md is not from a release"):
        release(small, order, own)
    assert content(own) == {"lecture.md": b"mine"}

    out = tmp_path / "out"
    release(small, order, out)
    work = out / NAME / f"{NAME}.py"
    work.write_text(work.read_text(encoding="utf-8") + "# solved\n", encoding="utf-8")
    before = content(out)
    with pytest.raises(KitError, match=rf"{NAME}\.py was changed after it was released"):
        release(small, order, out)
    assert content(out) == before

    with pytest.raises(KitError, match="a file of that name already exists"):
        release(small, order, own / "lecture.md")


def test_an_unreadable_note_of_a_release_is_told(
    small: Source, wheel: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / ".attn-release.json").write_text("[", encoding="utf-8")
    with pytest.raises(KitError, match="record of what was released here cannot be read"):
        release(small, ReleaseOptions((NAME,), wheel=wheel), out)


@pytest.mark.slow
@pytest.mark.parametrize("changed", [NAME, "torch_single_head"])
def test_a_stale_assignment_keeps_the_release_back(
    changed: str, changeable: Source, wheel: Path, tmp_path: Path
) -> None:
    # The kit's wheel carries all exercises, so the one that is not named counts too.
    solution = changeable.solutions / changed / "exercise.toml"
    text = solution.read_text(encoding="utf-8")
    solution.write_text(text.replace("minutes = 10", "minutes = 11", 1), encoding="utf-8")
    with pytest.raises(KitError, match=rf"is stale: {changed}/"):
        release(changeable, ReleaseOptions((NAME,), wheel=wheel), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow  # a release of its own
def test_an_exercise_that_gives_away_another_is_not_released(
    changeable: Source, wheel: Path, tmp_path: Path
) -> None:
    other = changeable.solutions / "torch_single_head" / "solution.py"
    line = next(
        secret
        for secret in changeable.secrets
        if secret.place.startswith(str(other)) and "qkv" in secret.text
    )
    number = int(line.place.rsplit(":", 1)[1])
    code = other.read_text(encoding="utf-8").splitlines()[number - 1].strip()
    manifest = changeable.solutions / NAME / "exercise.toml"
    text = manifest.read_text(encoding="utf-8")
    first = STEPS[0].hints[0]
    assert text.count(first) == 1
    hint = json.dumps(code)[1:-1]
    manifest.write_text(text.replace(first, f"In PyTorch one writes {hint}"), encoding="utf-8")
    build(changeable.solutions / NAME, changeable.assignments, examples=record_examples)
    with pytest.raises(KitError, match="a line of a solution is in a file for students"):
        release(changeable, ReleaseOptions((NAME,), wheel=wheel), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "fact"),
    [
        ("autograder/more.py", "secret", "a line of a solution is in a file for students"),
        ("autograder/assignments/x/notes.md", BEGIN, "a marker of a solution region"),
        ("autograder/assignments/x/graders.py", "", "would be in the kit's wheel"),
        ("solutions/x/exercise.toml", "", "would be in the kit's wheel"),
        ("tests/protocol/test_wire.py", "", "would be in the kit's wheel"),
        ("notes.txt", "", "would be in the kit's wheel"),
    ],
)
def test_a_wheel_with_anything_else_in_it_is_not_handed_out(
    name: str, text: str, fact: str, small: Source, wheel: Path, tmp_path: Path
) -> None:
    changed = Path(shutil.copy(wheel, tmp_path / wheel.name))
    with zipfile.ZipFile(changed, "a") as archive:
        archive.writestr(name, solved()["softmax"] if text == "secret" else text)
    with pytest.raises(KitError, match=fact):
        release(small, ReleaseOptions((NAME,), wheel=changed), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_an_installation_has_no_sources_and_says_what_to_name_instead(disk: Disk) -> None:
    program = "from autograder.releasing.wheel import build_wheel; build_wheel([])"
    code, said = disk.run(disk.python, "-c", program)
    assert code == 1 and "there are no sources to build its wheel from" in said
    assert "--wheel" in said


@pytest.mark.slow  # a release of its own
def test_what_is_no_wheel_of_the_kit_is_not_handed_out(small: Source, tmp_path: Path) -> None:
    file = tmp_path / "attention_kit-0.1.0-py3-none-any.whl"
    file.write_text("not a wheel", encoding="utf-8")
    with pytest.raises(KitError, match="not a wheel of the kit"):
        release(small, ReleaseOptions((NAME,), wheel=file), tmp_path / "out")


def test_an_address_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    done = attn("release", NAME, "--to", tmp_path / "out", "--github", "https://github.com/a/b")
    assert done.returncode == 2 and "OWNER/NAME" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_search_is_not_blind(released: Path) -> None:
    with pytest.raises(KitError):
        refuse_leaks(SECRETS, {"notes.md": solved()["softmax"]})
