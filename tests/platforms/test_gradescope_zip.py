"""`attn platform gradescope`: the zip is what Gradescope documents; its scripts grade there.

Gradescope itself is not here. Its folders are made below a temporary one, and a container that
refuses namespaces is emulated.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autograder.platforms.step_result import gradescope_results, run_script, setup_script
from autograder.reports.grades_csv import read_verdicts
from demo.sample_class import hand_in
from platforms.gradescope_schema import GRADESCOPE
from platforms.platform_downloads import ROOT, attn
from support.machines import as_in_docker
from support.released_course import NAME, sample_class
from support.small_release import small_wheel
from support.student_disk import PIN, copy_packages
from support.verdicts import EXERCISE

SECRET = bytes(range(32))
# Reads what it must not, and says what came of it.
THIEF = """
def softmax(x):
    found = []
    for name in {names!r}:
        try:
            found.append(open(name, "rb").read()[:4])
        except OSError as error:
            found.append(type(error).__name__)
    raise ValueError(found)
"""


def secret(folder: Path, content: bytes = SECRET) -> Path:
    path = folder / "input.secret"
    path.write_bytes(content)
    return path


def test_the_scripts_lie_at_the_top_and_can_be_run(tmp_path: Path) -> None:
    target = tmp_path / "new" / "autograder.zip"
    given = ("--wheel", small_wheel(tmp_path), "--secret", secret(tmp_path), "--partial-points")
    run = attn("platform", "gradescope", NAME, "--to", target, *given)
    assert run.code == 0, run.err
    assert "an assignment of 22 points" in run.out and "keep it private" in run.out
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with zipfile.ZipFile(target) as archive:
        modes = {each.filename: each.external_attr >> 16 for each in archive.infolist()}
        names = (*("run_autograder", "requirements.txt", "input.secret"),)
        script, pins, kept = (archive.read(name) for name in names)
    assert modes.pop("setup.sh") == modes.pop("run_autograder") == 0o755
    assert set(modes.values()) == {0o644} and kept == SECRET
    solution = {name for name in modes if name.startswith("solutions/")}
    assert f"solutions/{NAME}/graders.py" in solution
    assert {name.split("/")[1] for name in solution} == {NAME, "_attention"}
    assert not any("__pycache__" in name for name in modes)
    assert b"--partial-points" in script and b"allow-protection process\n" not in script
    assert b"jinja2==" in pins and b"./attention_kit-0.1.0-py3-none-any.whl\n" in pins
    assert b"nbgrader" not in pins and b"torch" not in pins


def test_a_courses_points_and_rules_go_along(tmp_path: Path) -> None:
    course, target = tmp_path / "course", tmp_path / "autograder.zip"
    assert attn("course", "new", course, "--exercise", NAME).code == 0
    facts = course / "attn.toml"
    facts.write_text(f"partial_points = true\n{facts.read_text()}\n[points.{NAME}]\nsoftmax = 5\n")
    words = ("--course", course, "--to", target, "--wheel", small_wheel(tmp_path))
    run = attn("platform", "gradescope", NAME, *words)
    assert run.code == 0, run.err
    assert "an assignment of 25 points" in run.out
    with zipfile.ZipFile(target) as archive:
        manifest = tomllib.loads(archive.read(f"solutions/{NAME}/exercise.toml").decode())
        assert b"--partial-points" in archive.read("run_autograder")
    assert manifest["steps"][0]["points"] == 5


def test_a_secret_or_a_file_that_is_there_is_never_lost(tmp_path: Path) -> None:
    target = tmp_path / "autograder.zip"
    target.write_bytes(b"mine")
    words = ("platform", "gradescope", NAME, "--wheel", small_wheel(tmp_path), "--to")
    there = attn(*words, target)
    assert there.code == 2 and "such a file already" in there.err
    assert target.read_bytes() == b"mine"
    for content in (b"", SECRET + b"x", b"x" * 100_000):
        wrong = attn(*words, tmp_path / "b.zip", "--secret", secret(tmp_path, content))
        assert wrong.code == 2 and "input.secret" in wrong.err
    missing = attn(*words, tmp_path / "b.zip", "--secret", tmp_path / "nowhere")
    assert missing.code == 2 and "nowhere cannot be read" in missing.err
    nobody = attn("platform", "gradescope", "no_such", "--to", tmp_path / "b.zip")
    assert nobody.code == 2 and NAME in nobody.err
    assert not (tmp_path / "b.zip").exists()


@pytest.mark.parametrize(
    ("script", "word"),
    [
        (setup_script("3.14"), "(python3.14 python3 "),
        (run_script("a b;$(c)", ["--x", "$(d)"]), "exercise='a b;$(c)'"),
    ],
)
def test_the_scripts_are_bash_whatever_they_are_made_with(script: str, word: str) -> None:
    run = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert script.startswith("#!/usr/bin/env bash\n") and word in script
    assert not re.search("@[A-Z]+@", script) and script.count("$(c)") == script.count("'a b;$(c)'")


@dataclass(frozen=True)
class Container:
    """Gradescope's folders below `root`, with what a machine like its own refuses."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        base = Path(sys.base_prefix) / "bin"
        return {
            "PATH": os.pathsep.join((str(base), os.environ["PATH"])),
            "HOME": str(self.root),
            "LANG": "C.UTF-8",
            "ATTN_AUTOGRADER_ROOT": str(self.root),
            "PIP_NO_INDEX": "1",  # every package is there already
            "PIP_CONFIG_FILE": os.devnull,
        }

    @property
    def results(self) -> Path:
        return self.root / "results" / "results.json"

    def run(self, command: Iterable[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(command),
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def build(self, archive: Path) -> subprocess.CompletedProcess[str]:
        """Unpack the zip and run setup.sh, as Gradescope does when it builds the image."""
        source = self.root / "source"
        with zipfile.ZipFile(archive) as uploaded:
            uploaded.extractall(source)
        for name in ("submission", "results"):
            (self.root / name).mkdir(exist_ok=True)
        venv.create(self.root / "kit", symlinks=True)
        (packages,) = (self.root / "kit" / "lib").glob("python*/site-packages")
        pins = PIN.findall((source / "requirements.txt").read_text(encoding="utf-8"))
        copy_packages([*pins, "pip"], packages)
        script = self.root / "run_autograder"
        script.write_bytes((source / "run_autograder").read_bytes())
        script.chmod(0o755)
        return self.run(["bash", str(source / "setup.sh")])

    def grade(self, *, landlock: bool = True) -> subprocess.CompletedProcess[str]:
        """Run run_autograder where namespaces are refused."""
        return self.run(as_in_docker([str(self.root / "run_autograder")], landlock=landlock))

    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.results.read_text(encoding="utf-8"))
        Draft202012Validator(GRADESCOPE).validate(found)
        return found


@pytest.fixture
def container() -> Iterator[Container]:
    """Empty folders of Gradescope's, in a place that every user may enter, as they are there."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Container(Path(folder))


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="Gradescope runs its scripts as root")
def test_a_hand_in_gets_in_gradescopes_folders_what_it_gets_from_attn_grade(
    container: Container, tmp_path: Path
) -> None:
    archive = tmp_path / "autograder.zip"
    run = attn("platform", "gradescope", NAME, "--to", archive, "--secret", secret(tmp_path))
    assert run.code == 0, run.err
    built = container.build(archive)
    assert built.returncode == 0 and "grade untrusted code here: yes" in built.stdout, built

    homework, results = tmp_path / "homework", tmp_path / "homework-graded"
    results.mkdir()
    secret(results)
    (student,) = sample_class("mistake_not_scaled")
    files = ROOT / "assignments" / NAME
    hand_in(student, EXERCISE, files, homework / "submission")
    hand_in(student, EXERCISE, files, container.root / "submission")
    (container.root / "submission" / "nbgrader_config.py").write_text("1 / 0\n", encoding="utf-8")
    (container.root / "submission" / "link").symlink_to(container.root / "source")
    (homework / "submission" / "nbgrader_config.py").write_text("1 / 0\n", encoding="utf-8")
    assert attn("grade", homework, "--exercise", NAME).code == 0
    graded = container.grade()
    assert graded.returncode == 0, graded.stdout + graded.stderr
    assert "Protection while grading: landlock." in graded.stdout
    (verdict,) = read_verdicts(results / "verdicts")
    expected = json.loads(gradescope_results(verdict))
    facts = container.facts()
    assert 0 < facts["score"] < 22
    assert {**facts, "execution_time": 0} == {**expected, "execution_time": 0}

    refused = container.grade(landlock=False)
    assert refused.returncode == 2 and not container.results.exists()
    assert "No score" in refused.stdout and "does not protect" in refused.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="Gradescope runs its scripts as root")
def test_without_any_sandbox_the_rights_of_files_still_hide_the_solution(
    container: Container, tmp_path: Path
) -> None:
    archive = tmp_path / "autograder.zip"
    words = ("--to", archive, "--allow-protection", "process")
    assert attn("platform", "gradescope", NAME, *words).code == 0
    assert container.build(archive).returncode == 0
    source = container.root / "source"
    names = [str(source / f"solutions/{NAME}/solution.py"), str(source / "input.secret")]
    names += [str(container.results), "/etc/passwd"]
    file = container.root / "submission" / f"{NAME}.py"
    file.write_text(THIEF.format(names=names), encoding="utf-8")
    container.results.write_text("{}", encoding="utf-8")
    graded = container.grade(landlock=False)
    assert graded.returncode == 0, graded.stdout + graded.stderr
    assert "Protection while grading: process." in graded.stdout
    text = container.facts()["tests"][0]["output"]
    assert text.count("PermissionError") == 3 and "b'root'" in text, text
