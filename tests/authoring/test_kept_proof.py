"""A proof is kept until something changes that it depends on; a file that lies is not believed."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from autograder.authoring import run
from autograder.authoring.mutation_proof import Kills, MutantFigures, ProvedByMutants
from autograder.authoring.proof import Accepted, Caught
from autograder.authoring.run import (
    FOLDER,
    PACKAGE,
    Proof,
    keep_proof,
    proof_keys,
)
from autograder.checks import shared_beside
from autograder.errors import KitError
from support.copied_exercise import copy_exercise

NAME = "numpy_single_head"
FIGURES = MutantFigures(9, 1, 1, 6, 6, None, None, 1, 0)
PROOF = Proof(
    NAME,
    Caught(91, 3, 46, 8512.5, "## A matrix\n", ()),
    Accepted(18, 20, ()),
    ProvedByMutants(FIGURES, (Kills("softmax", "softmax values", 6, 2),), ()),
    59.0,
)
A_GAP = replace(PROOF, accepted=replace(PROOF.accepted, gaps=("a right answer is refused",)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copy_exercise(NAME, tmp_path / "solutions")


@pytest.fixture
def proved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is proved, in place of hours of work."""
    names: list[str] = []

    def prove(folders: Sequence[Path], *_: object) -> tuple[Proof, ...]:
        names.extend(each.name for each in folders)
        return (PROOF,) * len(folders)

    monkeypatch.setattr(run, "_proofs", prove)
    return names


def key_of(folder: Path) -> str:
    return proof_keys([folder], 20, "quick")[folder]


def told(folder: Path, seeds: int = 20, again: bool = False) -> str:
    printed = io.StringIO()
    assert run.prove_all([folder], seeds, Console(file=printed), "quick", again) == (PROOF,)
    return printed.getvalue()


def test_what_has_not_changed_is_told_and_not_proved_again(folder: Path, proved: list[str]) -> None:
    assert "not changed" not in told(folder)
    assert "1 exercise has not changed since this was proved" in told(folder)
    assert proved == [NAME]
    told(folder, again=True)
    told(folder, seeds=21)
    assert proved == [NAME] * 3


@pytest.mark.parametrize(
    "file", ["solution.py", "exercise.toml", "generated/rungs.json", "../_attention/checks.py"]
)
def test_a_changed_file_of_the_exercise_is_proved_anew(
    folder: Path, proved: list[str], file: str
) -> None:
    told(folder)
    with (folder / file).open("a", encoding="utf-8") as text:
        text.write("\n")
    told(folder)
    assert proved == [NAME] * 2


@pytest.mark.parametrize(("file", "matters"), [("judging/compare.py", True), ("cli/kit.py", False)])
def test_a_changed_room_is_a_reason_to_prove_anew_when_a_proof_can_reach_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, matters: bool
) -> None:
    package = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(run, "PACKAGE", package)
    keys = []
    for added in ("", "# changed\n"):
        with (package / file).open("a", encoding="utf-8") as text:
            text.write(added)
        keys.append(key_of(folder))
    assert (keys[0] != keys[1]) is matters


def test_another_version_of_a_package_is_a_reason_to_prove_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key_of(folder)
    others = [each for each in metadata.distributions() if each.name != "numpy"]
    monkeypatch.setattr(metadata, "distributions", lambda: others)
    assert key_of(folder) != before


def test_a_proof_with_a_gap_is_not_kept(folder: Path) -> None:
    keep_proof(folder, "key", A_GAP)
    assert not (folder.parent / FOLDER).exists()


def tampered(proof: dict[str, Any]) -> None:
    proof["proof"]["caught"]["least_margin"] = 1e9


def with_a_gap_left_out(proof: dict[str, Any]) -> None:
    proof["proof"]["accepted"]["gaps"] = ["a gap"]
    proof["seal"] = run._seal(proof["key"], proof["proof"])


def of_another_exercise(proof: dict[str, Any]) -> None:
    proof["key"] = "0" * 64
    proof["seal"] = run._seal(proof["key"], proof["proof"])


def without_mutants(proof: dict[str, Any]) -> None:
    del proof["proof"]["mutants"]
    proof["seal"] = run._seal(proof["key"], proof["proof"])


BROKEN = ("", "[]", "{", "[" * 100_000, '{"key": 1}', "\udcff")


@pytest.mark.parametrize(
    "change", [tampered, with_a_gap_left_out, of_another_exercise, without_mutants, *BROKEN]
)
def test_a_kept_proof_that_was_changed_by_hand_or_is_broken_is_not_believed(
    folder: Path, proved: list[str], change: Callable[[dict[str, Any]], None] | str
) -> None:
    told(folder)
    file = folder.parent / FOLDER / f"{NAME}.json"
    kept = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(change, str):
        change(kept)
    text = change if isinstance(change, str) else json.dumps(kept)
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    told(folder)
    assert proved == [NAME] * 2


def test_an_exercise_that_is_named_twice_is_proved_once_and_no_other_takes_its_place(
    folder: Path, proved: list[str]
) -> None:
    other = folder.with_name("another")
    shutil.copytree(folder, other)
    told(folder)
    named = [other, other, folder]
    assert len(run.prove_all(named, 20, Console(file=io.StringIO()), "quick")) == 2
    assert proved == [NAME, "another"]


def test_what_is_edited_while_it_is_proved_is_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edited(folders: Sequence[Path], *_: object) -> tuple[Proof, ...]:
        (folder / "graders.py").write_text("# another\n", encoding="utf-8")
        return (PROOF,) * len(folders)

    monkeypatch.setattr(run, "_proofs", edited)
    told(folder)
    assert not (folder.parent / FOLDER).exists()


def test_links_and_odd_names_have_a_key_too(folder: Path, tmp_path: Path) -> None:
    shared = folder.parent / "_attention"
    shared.rename(tmp_path / "elsewhere")
    shared.symlink_to(tmp_path / "elsewhere")
    (folder / "notes.txt").symlink_to(__file__)
    (folder / "\udcff.txt").touch()
    before = key_of(folder)
    with (shared / "checks.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert key_of(folder) != before


@pytest.mark.parametrize(
    "path",
    ["../outside.py", "_attention/../../outside.py", "another/x.py", "x.py", "__x/x.py", "{}"],
)
def test_what_no_key_covers_is_not_read_as_shared(folder: Path, tmp_path: Path, path: str) -> None:
    path = path.format(tmp_path / "outside.py")
    for file in (folder.parent / path, tmp_path / "outside.py"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("", encoding="utf-8")
    with pytest.raises(KitError, match="is in no folder that exercises share"):
        shared_beside(str(folder / "graders.py"), path)


def test_a_link_to_a_folder_in_a_shared_one_is_not_read_either(
    folder: Path, tmp_path: Path
) -> None:
    """Its files are in no key: the shared folder itself may be a link, and a file in it, too."""
    shared, graders = folder.parent / "_attention", str(folder / "graders.py")
    (shared / "more").mkdir()
    (shared / "more" / "x.py").write_text("A = 1\n", encoding="utf-8")
    shared.rename(tmp_path / "elsewhere")
    shared.symlink_to(tmp_path / "elsewhere")
    (shared / "y.py").symlink_to(tmp_path / "elsewhere" / "more" / "x.py")
    assert shared_beside(graders, "_attention/more/x.py").A == 1
    assert shared_beside(graders, "_attention/y.py").A == 1
    (shared / "linked").symlink_to(tmp_path / "elsewhere" / "more")
    with pytest.raises(KitError, match="is in no folder that exercises share"):
        shared_beside(graders, "_attention/linked/x.py")
