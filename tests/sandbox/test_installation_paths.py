"""The kit works where people have their packages: in the user site, behind a `.pth` file, as links.

A worker sees what the interpreter's own import path shows, and never a folder that holds what is
to stay hidden. Where a library cannot be loaded for it all the same, the real cause is named.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from autograder.sandbox import Zygote, access
from autograder.sandbox.access import find_package_folders
from autograder.values.exercise import Limits
from sandbox.installations import PACKAGES, new_environment, put_packages, run_bare
from sandbox.questions import value_of
from support.machines import as_in_docker, as_ordinary_user, refusing
from support.typed_commands import Run

pytestmark = pytest.mark.slow  # installations of several kinds, a class graded in each

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
ANSWER = str(TESTS / "sandbox" / "sandboxed_answer.py")
DOCTOR = ("-m", "autograder.cli", "doctor", "--json")
NAME = "numpy_single_head"
NEEDED = (
    "numpy numpy.libs numpy-*.dist-info pyseccomp.py click rich markdown_it mdurl pygments pytest "
    "_pytest pluggy iniconfig packaging"
).split()


@dataclass(frozen=True)
class Installation:
    """An interpreter, the folder that its NumPy lies in, and its environment variables."""

    python: str
    packages: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str, wrap: Callable[[list[str]], list[str]] = list) -> Run:
        """Run the interpreter from `/`, elsewhere as `wrap` has it."""
        command = wrap([self.python, "-B", *words])
        run = run_bare(command, {"PYTHONPATH": str(ROOT), **self.environment})
        assert "Traceback" not in run.err, run.err
        return run

    def answer(self, wrap: Callable[[list[str]], list[str]] = list) -> dict[str, Any]:
        """Return what `sandboxed_answer.py` says."""
        return self.run(ANSWER, wrap=wrap).document


def by_pth(place: Path) -> Installation:
    """An environment in `place` whose import path goes on in another folder."""
    shared = place / "shared packages"
    put_packages(shared, NEEDED)
    python, site = new_environment(place / "venv")
    (site / "elsewhere.pth").write_text(f"{shared}\n", encoding="utf-8")
    return Installation(python, shared)


def in_the_user_site(place: Path) -> Installation:
    site = place / ".local" / "lib" / VERSION / "site-packages"
    put_packages(site, NEEDED)
    base = Path(sys.base_prefix) / "bin" / VERSION
    home = {"HOME": str(place), "PYTHONUSERBASE": str(place / ".local")}
    return Installation(str(base), site, home)


def as_links(place: Path) -> Installation:
    """Packages as stores of packages have them: a link for each in site-packages."""
    put_packages(place / "store", NEEDED)
    python, site = new_environment(place / "venv")
    for package in (place / "store").iterdir():
        (site / package.name).symlink_to(package)
    return Installation(python, place / "store")


KINDS = {"a .pth file": by_pth, "the user site": in_the_user_site, "links": as_links}


@contextmanager
def open_place() -> Iterator[Path]:
    """A folder below /tmp that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="attn-packages-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    with open_place() as place:
        yield KINDS[request.param](place)


@pytest.fixture
def place() -> Iterator[Path]:
    with open_place() as folder:
        yield folder


def without_namespaces(command: list[str]) -> list[str]:
    return as_ordinary_user(refusing("namespaces", command))


LEVELS: dict[str, Callable[[list[str]], list[str]]] = {
    "full": list,
    "full, as an ordinary user": as_ordinary_user,
    "landlock, in a container": as_in_docker,
    "landlock, as an ordinary user": without_namespaces,
}


@pytest.mark.parametrize("installation", KINDS, indirect=True, scope="module")
@pytest.mark.parametrize("level", LEVELS)
def test_packages_are_shown_to_workers_wherever_the_interpreter_finds_them(
    installation: Installation, level: str
) -> None:
    said = installation.answer(LEVELS[level])
    assert said.get("answer") == 42, said
    assert said["level"] == level.partition(",")[0], said


@pytest.mark.parametrize("installation", KINDS, indirect=True, scope="module")
def test_the_doctor_can_grade_there_and_says_where_packages_are_from(
    installation: Installation,
) -> None:
    found = installation.run(*DOCTOR).document
    (layer,) = (each for each in found["layers"] if each["name"] == "interpreter in reach")
    assert found["shortfall"] is None and layer["held"], found["shortfall"]
    assert str(installation.packages) in layer["fact"], layer


def class_of_one(folder: Path) -> Path:
    folder.mkdir()
    shutil.copy(ROOT / "solutions" / NAME / "solution.py", folder / "ada.py")
    return folder


def grading(class_: Path) -> list[str]:
    words = ["-m", "autograder.cli", "grade", str(class_), "--exercise", NAME]
    return [*words, "--solutions", str(ROOT / "solutions")]


def test_libraries_behind_a_clusters_library_path_are_found(place: Path) -> None:
    installation = by_pth(place)
    outside, among_packages = place / "libraries", installation.packages / "libraries"
    installation.packages.joinpath("numpy.libs").rename(outside)
    said = refusal(replace(installation, environment={"LD_LIBRARY_PATH": str(outside)}))
    assert "cannot open shared object file" in said["fact"] and "loads outside" in said["fact"]
    assert "LD_LIBRARY_PATH" in said["cure"]
    outside.rename(among_packages)
    loaded = {"LD_LIBRARY_PATH": f":{among_packages}:/etc"}
    assert replace(installation, environment=loaded).answer().get("answer") == 42


# --- never more than packages ------------------------------------------------------------------

SHOWS = """
import json, os, sys
from pathlib import Path
from autograder.values.exercise import Limits
from autograder.values.request import Request
from autograder.sandbox import SandboxedStudent, Zygote, attempts

secret, *asked = sys.argv[1:]
code = Path(attempts.__file__).read_text(encoding="utf-8")
with (
    Zygote("numpy", Limits(memory_megabytes=256), secrets=(Path(secret),)) as zygote,
    SandboxedStudent(zygote, (code,), seed=1) as student,
):
    print(json.dumps({path: student.ask(Request("read", (path,))).value for path in asked}))
"""


@pytest.mark.parametrize("level", ["full", "landlock, as an ordinary user"])
def test_a_folder_on_the_path_that_is_not_for_packages_stays_hidden(
    place: Path, level: str
) -> None:
    installation = by_pth(place)
    course = place / "course"
    exercise = course / "solutions" / "softmax"
    exercise.mkdir(parents=True)
    for file in (exercise / "solution.py", course / "gradebook.db", place / "notes.txt"):
        file.write_text("what is to stay hidden", encoding="utf-8")
    site = Path(installation.python).parents[1] / "lib" / VERSION / "site-packages"
    (site / "course.pth").write_text(f"{course}\n{exercise}\n{place}\n/\n", encoding="utf-8")
    asked = [course / "gradebook.db", exercise / "solution.py", place / "notes.txt", course, place]
    words = [*map(str, (course / "solutions", *asked, installation.packages / "numpy"))]
    said = installation.run("-c", SHOWS, *words, wrap=LEVELS[level]).document
    assert said.pop(str(installation.packages / "numpy")) == "done", said
    # With namespaces a folder above a package is there, with the package and nothing else in it.
    seen = {path for path, ended in said.items() if ended == "done"} - {str(place)}
    assert not seen, said


def put_on_path(monkeypatch: pytest.MonkeyPatch, *entries: Path | str) -> None:
    monkeypatch.setattr(sys, "path", [*map(str, entries), *sys.path])


def excluded(monkeypatch: pytest.MonkeyPatch, entry: Path, *secrets: Path) -> str:
    """Return why a folder is kept from workers, "" when it is shown; it has to be one of both."""
    put_on_path(monkeypatch, entry)
    found = find_package_folders(secrets)
    reasons = [each.reason for each in found.exclusions if each.folder == entry]
    assert (str(entry) in found.path) == (not reasons)
    return "".join(reasons)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder that pip has put something into."""
    folder = tmp_path / "packages"
    (folder / "numpy-2.0.dist-info").mkdir(parents=True)
    return folder


def test_a_folder_is_shown_where_packages_are_installed_in_it(
    monkeypatch: pytest.MonkeyPatch, packages: Path, tmp_path: Path
) -> None:
    assert excluded(monkeypatch, packages) == ""
    assert "no package is installed in it" in excluded(monkeypatch, tmp_path)


def test_the_order_of_the_import_path_is_kept(
    monkeypatch: pytest.MonkeyPatch, packages: Path
) -> None:
    (packages.parent / "site-packages").mkdir()
    put_on_path(
        monkeypatch, "", packages, "relative", "/nowhere", packages.parent / "site-packages"
    )
    first = find_package_folders().path[:3]
    assert first[:2] == (str(packages), str(packages.parent / "site-packages"))
    assert first[2] in sys.path


def test_a_folder_that_holds_a_secret_or_lies_in_one_is_kept_from_workers(
    monkeypatch: pytest.MonkeyPatch, packages: Path
) -> None:
    inside = packages / "solutions"
    inside.mkdir()
    for secret in (inside, packages, packages.parent):
        assert "must stay hidden" in excluded(monkeypatch, packages, secret)


def test_a_link_to_a_secret_is_no_way_round(
    monkeypatch: pytest.MonkeyPatch, packages: Path, tmp_path: Path
) -> None:
    (tmp_path / "solutions").mkdir()
    (packages / "solutions").symlink_to(tmp_path / "solutions")
    (tmp_path / "link").symlink_to(tmp_path)
    put_on_path(monkeypatch, packages)
    found = find_package_folders([tmp_path / "solutions"])
    assert not [link for link in found.linked if link.startswith(str(tmp_path))]
    assert found.exclusions[-1].folder == tmp_path / "solutions"
    assert "must stay hidden" in excluded(monkeypatch, tmp_path / "link", tmp_path / "solutions")


def test_a_home_the_current_folder_and_the_whole_disk_are_kept_from_workers(
    monkeypatch: pytest.MonkeyPatch, packages: Path
) -> None:
    assert "file system" in excluded(monkeypatch, Path("/"))
    with monkeypatch.context() as patch:
        patch.setenv("HOME", str(packages))
        assert "home" in excluded(patch, packages)
    with monkeypatch.context() as patch:
        (packages / "below").mkdir()
        patch.chdir(packages / "below")
        assert "the current folder" in excluded(patch, packages)


def test_the_kits_own_folder_and_what_lies_in_it_are_kept_from_workers(
    monkeypatch: pytest.MonkeyPatch, packages: Path
) -> None:
    monkeypatch.setattr(access, "PACKAGE", packages / "autograder")
    (packages / "tools").mkdir()
    for folder in (packages, packages.parent, packages / "tools"):
        assert "the kit is imported from" in excluded(monkeypatch, folder)
    site = packages / "env" / "lib" / VERSION / "site-packages"
    site.mkdir(parents=True)
    assert excluded(monkeypatch, site) == ""  # an environment in the repository has no solutions
    (packages / "attention_kit-0.1.0.dist-info").mkdir()
    assert excluded(monkeypatch, packages) == ""  # pip has put the kit among other packages


def test_a_plan_with_thousands_of_folders_still_reaches_the_zygote(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folders = [tmp_path / f"{number}" / "site-packages" for number in range(1000)]
    for folder in folders:
        folder.mkdir(parents=True)
    put_on_path(monkeypatch, *folders)
    with Zygote("numpy", Limits(memory_megabytes=256)) as zygote:
        assert value_of(zygote, "def f(): return 1") == 1


def test_a_folder_of_packages_in_which_hand_ins_lie_is_not_shown(place: Path) -> None:
    installation = by_pth(place)
    homework = class_of_one(installation.packages / "homework")
    hidden = f"it holds {homework}, which must stay hidden"
    assert hidden in load_failure(installation, "numpy", str(homework))["fact"]
    # The command says the same, where all but NumPy is in the environment.
    site = Path(installation.python).parents[1] / "lib" / VERSION / "site-packages"
    for package in PACKAGES.iterdir():
        if not package.name.startswith("numpy"):
            (site / package.name).symlink_to(package)
    run = installation.run(*grading(homework))
    assert run.code == 2 and f"it holds {homework}, which must stay" in run.err, run.err
    assert not homework.with_name("homework-graded").exists()


def test_a_link_that_leads_to_no_package_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, packages: Path, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (packages / "data").symlink_to(tmp_path / "data")
    put_on_path(monkeypatch, packages)
    found = find_package_folders()
    assert str(tmp_path / "data") not in found.linked
    assert "not a package" in found.exclusions[-1].reason
    (tmp_path / "data" / "__init__.py").touch()
    assert str(tmp_path / "data") in find_package_folders().linked


# --- where it cannot be loaded all the same -----------------------------------------------------


def refusal(installation: Installation) -> dict[str, Any]:
    """Return the refusal, which the doctor tells too, and which never says to install NumPy."""
    said = installation.answer()
    assert set(said) == {"fact", "place", "cure"}, said
    found = installation.run(*DOCTOR).document
    assert found["shortfall"] == said and not found["grading"]
    assert "pip install numpy" not in str(said) + str(found["layers"])
    return said


LOAD = """
import json, sys
from pathlib import Path
from autograder.errors import KitError
from autograder.values.exercise import Limits
from autograder.sandbox import Zygote
library, *hidden = sys.argv[1:]
try:
    with Zygote(library, Limits(memory_megabytes=256), hidden=(*map(Path, hidden),)):
        pass
except KitError as error:
    print(json.dumps({"fact": error.fact, "place": error.place, "cure": error.cure}))
"""


def load_failure(installation: Installation, library: str, *hidden: str) -> dict[str, Any]:
    """Return how it is refused to show a library to workers."""
    return installation.run("-c", LOAD, library, *hidden).document


def test_packages_right_in_a_home_are_not_shown_and_the_folder_is_named(place: Path) -> None:
    installation = by_pth(place)
    home = {"HOME": str(installation.packages)}
    said = refusal(replace(installation, environment=home))
    assert f"installed in {installation.packages}" in said["fact"]
    assert "holds a whole home folder" in said["fact"]
    assert said["place"] == str(installation.packages / "numpy")


def test_a_package_whose_files_are_links_to_a_cache_is_named(place: Path) -> None:
    installation = by_pth(place)
    cache = place / "cache"
    shutil.move(installation.packages / "numpy", cache)
    shutil.copytree(cache, installation.packages / "numpy", copy_function=os.symlink)
    said = refusal(installation)
    assert f"links to {cache}" in said["fact"], said
    assert "links" in said["cure"]


FINDER = """
import importlib.machinery, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "numpy":
            return importlib.machinery.PathFinder.find_spec(name, [{folder!r}])
sys.meta_path.append(Finder)
"""


def test_a_package_that_only_an_import_hook_finds_is_named(place: Path) -> None:
    python, site = new_environment(place / "venv")
    put_packages(place / "sources", NEEDED)
    for package in (place / "sources").iterdir():
        if package.name not in ("numpy", "numpy.libs"):
            package.rename(site / package.name)
    (site / "hook.py").write_text(FINDER.format(folder=str(place / "sources")), encoding="utf-8")
    (site / "hook.pth").write_text("import hook\n", encoding="utf-8")
    said = refusal(Installation(python, place / "sources"))
    assert f"numpy lies in {place / 'sources' / 'numpy'}" in said["fact"]
    assert "--editable" in said["cure"]


# What lies where PyTorch should, with `{place}` for the place of all; what is told; and its cure.
BROKEN = {
    "broken everywhere": (
        "raise OSError('libtorch.so: cannot open shared object file')",
        ("inside the sandbox or outside", "libtorch.so", "at {place}/shared packages/torch"),
        "",
    ),
    "a file that is not shown": ("open('{place}/driver')", ("loads outside", "{place}/driver"), ""),
    "another that is missing": (
        "import sympy",
        ("torch, which needs sympy: sympy is not installed",),
        "pip install sympy",
    ),
}


@pytest.mark.parametrize(("code", "told", "cure"), BROKEN.values(), ids=BROKEN)
def test_what_keeps_a_package_from_being_loaded_is_named(
    place: Path, code: str, told: tuple[str, ...], cure: str
) -> None:
    installation = by_pth(place)
    (place / "driver").write_text("", encoding="ascii")
    torch = installation.packages / "torch"
    torch.mkdir()
    (torch / "__init__.py").write_text(code.format(place=place), encoding="utf-8")
    said = load_failure(installation, "torch")
    fact = f"{said['fact']} at {said['place']}"
    assert all(words.format(place=place) in fact for words in told), said
    assert cure in said["cure"], said
