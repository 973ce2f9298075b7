"""What a release holds, what it leaves as it was, and what keeps it back."""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.authoring.build import build
from autograder.authoring.contents import (
    build_wheel,
    common_files,
    exercise_files,
    read_wheel,
)
from autograder.authoring.leak import refuse_leaks, text_of
from autograder.authoring.regions import BEGIN
from autograder.authoring.release import ReleaseOptions, Source, refuse_stale, release
from autograder.checks.plugin import record_examples
from autograder.errors import KitError
from autograder.submission.code import read_code
from autograder.submission.missing_step import written
from autograder.values.exercise import read_exercise
from support.copied_exercise import ROOT
from support.small_release import DOUBLED, IN_THE_ZOO, OTHER, TOY, small_wheel, two_exercises
from support.typed_commands import typed
from support.written_exercise import changed

NUMPY, TORCH = "numpy_single_head", "torch_single_head"
KIT = Source(ROOT / "solutions", ROOT / "assignments")
Content = dict[str, bytes]  # of a folder: path to bytes


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Two exercises, which nobody changes."""
    return two_exercises(tmp_path_factory.mktemp("small"))


@pytest.fixture
def changeable(small: Source, tmp_path: Path) -> Source:
    """Two exercises, to be changed at will."""
    for folder in (small.solutions, small.assignments):
        shutil.copytree(folder, tmp_path / folder.name)
    return Source(tmp_path / "solutions", tmp_path / "assignments")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def released(small: Source, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of them, released by the command, with an archive."""
    folder = tmp_path_factory.mktemp("release") / "handout"
    places = ("--solutions", small.solutions, "--assignments", small.assignments)
    words = ("release", TOY, "--to", folder, "--zip", "--wheel", wheel, *places)
    done = typed(*words, folder=ROOT, COLUMNS="200")
    assert done.code == 0, done.err
    assert f"attn grade homework --exercise {TOY}" in done.out
    return folder


def test_a_release_notes_the_python_that_grades_where_a_check_reads_it(released: Path) -> None:
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert read_exercise(released / TOY).graded_with == here
    assert f"Expect Python {here} where it is graded" in (released / TOY / "README.md").read_text()


def content(folder: Path) -> Content:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# --- what goes out -------------------------------------------------------------------------------


def test_an_archive_holds_what_the_folder_holds_in_a_folder_of_that_name(
    released: Path, wheel: Path
) -> None:
    with zipfile.ZipFile(released / f"{TOY}.zip") as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {f"{TOY}/{name}": text for name, text in content(released / TOY).items()}
    names = (f"{TOY}.ipynb", f"{TOY}.py", "README.md", "CHECKLIST.md", "examples.xz")
    for name in (*names, "exercise.toml", "requirements.txt", wheel.name):
        assert f"{TOY}/{name}" in packed


def test_the_notebook_differs_from_the_assignment_by_its_first_cell_and_nothing_else(
    released: Path, small: Source
) -> None:
    there = (small.assignments / TOY / f"{TOY}.ipynb").read_text(encoding="utf-8")
    out = (released / TOY / f"{TOY}.ipynb").read_text(encoding="utf-8")
    facts: dict[str, Any] = json.loads(out)
    nbformat.validate(nbformat.reads(out, as_version=4))
    first, *facts["cells"] = facts["cells"]
    assert json.dumps(facts, indent=1, ensure_ascii=False, sort_keys=True) + "\n" == there
    assert "%pip install --quiet ./attention_kit-" in "".join(first["source"])


def test_a_repository_gets_links_to_colab_and_binder(small: Source, wheel: Path) -> None:
    exercise = read_exercise(small.assignments / TOY)
    place = {"wheel": wheel.name, "packages": (), "repository": "ada/attention"}
    own = exercise_files(exercise, small.assignments / TOY, **place)  # type: ignore[arg-type]
    page = common_files([exercise], **place)["README.md"].decode()  # type: ignore[arg-type]
    notebook = f"{TOY}/{TOY}.ipynb"
    assert f"https://colab.research.google.com/github/ada/attention/blob/HEAD/{notebook}" in page
    assert f"/v2/gh/ada/attention/HEAD?labpath={notebook.replace('/', '%2F')}" in page
    (first, *_) = json.loads(own[f"{TOY}/{TOY}.ipynb"])["cells"]
    address = f"https://raw.githubusercontent.com/ada/attention/HEAD/{TOY}/{wheel.name}"
    assert address in "".join(first["source"])


def test_an_address_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    words = ("--to", tmp_path / "out", "--github", "https://github.com/a/b")
    done = typed("release", NUMPY, *words, folder=ROOT)
    assert done.code == 2 and "OWNER/NAME" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", KIT.names)
def test_in_an_untouched_handout_neither_file_counts_as_work(name: str) -> None:
    # Else the notebook, which is read first, hides what a student wrote in the .py.
    exercise = read_exercise(KIT.assignments / name)
    for suffix in (".py", ".ipynb"):
        code = read_code(exercise.folder / f"{name}{suffix}", exercise)
        assert written(code.cells, exercise) == frozenset(), suffix


def test_a_student_of_the_numpy_exercise_is_told_to_install_neither_pytorch_nor_nbgrader(
    wheel: Path,
) -> None:
    files = files_of_the_kit(wheel, NUMPY)
    numpy_only = files["requirements.txt"]
    assert "numpy==" in numpy_only and "torch" not in numpy_only and "nbgrader" not in numpy_only
    steps = re.findall(r"^\d\. \*\*([^*]+)\*\*", files["README.md"], re.MULTILINE)
    assert steps[:4] == ["Unpack", "Make an environment", "Enter it", "Install"]
    assert "`py -m venv ..\\attention-env`" in files["README.md"]
    assert "`..\\attention-env\\Scripts\\activate`" in files["README.md"]


def test_pytorch_is_named_for_the_exercises_that_need_it_with_the_index_for_the_cpu(
    wheel: Path,
) -> None:
    handed_out = files_of_the_kit(wheel, TORCH)["requirements.txt"]
    both = [read_exercise(KIT.assignments / name) for name in (NUMPY, TORCH)]
    packages = read_wheel(wheel).packages(both)
    binder = common_files(both, wheel=wheel.name, packages=packages)["binder/requirements.txt"]
    for text in (handed_out, binder.decode()):
        assert "torch==2.13.0\n" in text
        assert "--extra-index-url=https://download.pytorch.org/whl/cpu\n" in text


def files_of_the_kit(wheel: Path, name: str) -> dict[str, str]:
    """What a student gets of an exercise of the kit."""
    exercise = read_exercise(KIT.solutions / name)
    packages = read_wheel(wheel).packages([exercise])
    folder = KIT.assignments / name
    files = exercise_files(exercise, folder, wheel=wheel.name, packages=packages)
    return {
        path.removeprefix(f"{name}/"): text_of(path, content) for path, content in files.items()
    }


def test_the_kits_wheel_holds_the_engine_and_the_public_files_of_exercises_alone(
    small: Source, tmp_path: Path
) -> None:
    name, built = build_wheel([small.assignments / TOY])
    (tmp_path / name).write_bytes(built)
    with zipfile.ZipFile(tmp_path / name) as archive:
        names = archive.namelist()
    tops = {each.split("/")[0] for each in names}
    assert {top.removesuffix(".dist-info").split("-")[0] for top in tops} == {
        "autograder",
        "attention_kit",
    }
    public = {each for each in names if each.startswith("autograder/assignments/")}
    assert public == {
        f"autograder/assignments/{TOY}/{path.name}" for path in (small.assignments / TOY).iterdir()
    }
    engine = {each for each in names if each.endswith(".py") and each not in public}
    assert engine == {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "autograder").rglob("*.py")
        if "assignments" not in path.parts
    }


# --- what is there already -----------------------------------------------------------------------


def test_releasing_again_gives_the_same_bytes_and_another_exercise_keeps_them(
    released: Path, small: Source, wheel: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(released, tmp_path / "out"))
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    release(small, ReleaseOptions((TOY,), archives=True, wheel=wheel), out)
    before = content(out)
    assert before.pop(".git/HEAD") == b"ref: refs/heads/main\n"
    assert before == content(released)

    release(small, ReleaseOptions((OTHER,), wheel=wheel), out)
    after = content(out)
    assert {path: after[path] for path in before if path.startswith(TOY)} == {
        path: text for path, text in before.items() if path.startswith(TOY)
    }
    page = after["README.md"].decode("utf-8")
    assert f"({TOY}/)" in page and f"({OTHER}/)" in page
    release(small, ReleaseOptions((TOY,), wheel=wheel), out)
    assert f"{TOY}.zip" in after and f"{TOY}.zip" not in content(out)


def test_a_folder_with_somebodys_work_in_it_is_left_as_it_is(
    released: Path, small: Source, wheel: Path, tmp_path: Path
) -> None:
    order = ReleaseOptions((TOY,), wheel=wheel)
    own = tmp_path / "own"
    own.mkdir()
    (own / "lecture.md").write_text("mine", encoding="utf-8")
    with pytest.raises(KitError, match=r"lecture\.md is not from a release"):
        release(small, order, own)
    assert content(own) == {"lecture.md": b"mine"}

    out = Path(shutil.copytree(released, tmp_path / "out"))
    work = out / TOY / f"{TOY}.py"
    work.write_text(work.read_text(encoding="utf-8") + "# solved\n", encoding="utf-8")
    before = content(out)
    with pytest.raises(KitError, match=rf"{TOY}\.py was changed after it was released"):
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
        release(small, ReleaseOptions((TOY,), wheel=wheel), out)


# --- what keeps a release back -------------------------------------------------------------------


@pytest.mark.parametrize("stale", [TOY, OTHER])
def test_a_stale_assignment_keeps_the_release_back(
    stale: str, changeable: Source, wheel: Path, tmp_path: Path
) -> None:
    # The kit's wheel carries all exercises, so the one that is not named counts too.
    changed(changeable.solutions / stale, ("exercise.toml", "minutes = 1", "minutes = 11"))
    with pytest.raises(KitError, match=rf"is stale: {stale}/"):
        release(changeable, ReleaseOptions((TOY,), wheel=wheel), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_exercise_whose_library_is_missing_is_compared_only_if_it_is_chosen(
    changeable: Source,
) -> None:
    toy = changed(changeable.solutions / TOY, ("solution.py", "# # A toy", "# # A {{ toy }}"))
    library = "import a_library_that_is_missing\n"
    (toy / "walkthrough.py").write_text(library, encoding="utf-8")
    refuse_stale(changeable, chosen=[OTHER])
    with pytest.raises(ImportError, match="a_library_that_is_missing"):
        refuse_stale(changeable, chosen=[TOY])


def test_an_exercise_that_gives_away_another_is_not_released(
    changeable: Source, wheel: Path, tmp_path: Path
) -> None:
    hint = ("exercise.toml", "hints = []", f'hints = ["a", "b", "In the zoo: {IN_THE_ZOO}"]')
    changed(changeable.solutions / TOY, hint)
    build(changeable.solutions / TOY, changeable.assignments, examples=record_examples)
    with pytest.raises(KitError, match="a line of a solution is in a file for students"):
        release(changeable, ReleaseOptions((TOY,), wheel=wheel), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "text", "fact"),
    [
        ("autograder/more.py", DOUBLED, "a line of a solution is in a file for students"),
        ("autograder/assignments/x/notes.md", BEGIN, "a marker of a solution region"),
        ("autograder/assignments/x/graders.py", "", "would be in the kit's wheel"),
        ("autograder/answers/x/solution.py", "", "would be in the kit's wheel"),
        ("solutions/x/exercise.toml", "", "would be in the kit's wheel"),
        ("tests/worker/test_wire.py", "", "would be in the kit's wheel"),
        ("notes.txt", "", "would be in the kit's wheel"),
    ],
)
def test_a_wheel_with_anything_else_in_it_is_not_handed_out(
    name: str, text: str, fact: str, small: Source, wheel: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copy(wheel, tmp_path / wheel.name))
    with zipfile.ZipFile(other, "a") as archive:
        archive.writestr(name, text)
    with pytest.raises(KitError, match=fact):
        release(small, ReleaseOptions((TOY,), wheel=other), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_no_wheel_of_the_kit_is_not_handed_out(small: Source, tmp_path: Path) -> None:
    file = tmp_path / "attention_kit-0.1.0-py3-none-any.whl"
    file.write_text("not a wheel", encoding="utf-8")
    with pytest.raises(KitError, match="not a wheel of the kit"):
        release(small, ReleaseOptions((TOY,), wheel=file), tmp_path / "out")


def test_the_search_is_not_blind(released: Path, small: Source) -> None:
    texts = {
        path: text.decode() for path, text in content(released).items() if path.endswith(".py")
    }
    refuse_leaks(small.secrets, texts)
    with pytest.raises(KitError):
        refuse_leaks(small.secrets, texts | {"notes.md": f"as in: {DOUBLED}"})
