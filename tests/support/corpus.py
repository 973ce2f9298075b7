"""The verdict corpus: all that is said of many hand-ins, and how two states of the kit differ.

`make corpus TO=before` grades, with a pinned secret, what a drawn set of hand-ins of every exercise
gets: the sample class, every known mistake, every variant, mutants, and whole layers in one piece.
After a change, `make corpus TO=after FROM=before` grades the same hand-ins, and `make corpus-diff
OLD=before NEW=after` prints what differs: facts first, for which it exits with 1, then sentences.

Each hand-in is also checked as its learner would, so it runs unprotected; the hostile ones do not.
"""

from __future__ import annotations

import argparse
import ast
import csv
import difflib
import itertools
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from autograder.authoring.harness import Harness, read_harness, read_variants
from autograder.authoring.mutant import Mutant, mutants_of
from autograder.authoring.mutant_judge import MutantJudge, definitions
from autograder.authoring.mutated_step import Tree
from autograder.authoring.mutation_proof import known_mistakes, right_answers, with_mutant
from autograder.cli.kit import exercise_folders
from autograder.grading.class_task import SECRET, SECRET_BYTES
from autograder.grading.watched_process import usable_cores
from demo.sample_class import SampleStudent, hand_in, read_sample_class
from support.typed_commands import ATTN, typed

ROOT = Path(__file__).resolve().parents[2]
SEED, MUTANTS = 12, 20  # which mutants are drawn, and how many of each step
HAND_INS, VERDICTS, CHECKS, PAGES = "hand-ins", "verdicts", "checks", "pages"
TABLE, SUMMARY = "grades.csv", "class.txt"
# What belongs to the moment, the machine and the version of the kit.
PASSING = {"seconds", "judged_at", "judged_by", "exercise_hash", "protection", "graded", "by"}
PASSING_WORDS = ("grading ", "Graded: ", "Protection ", "open next: ")
NAMED = 3  # hand-ins that are named with a difference

Key = TypeVar("Key")


def drawn(folder: Path, mutants: int, target: Path) -> None:
    """Write the hand-ins of the exercise in `folder` into `target`, each named after what it is."""
    harness = read_harness(folder)
    exercise = harness.reference.exercise
    texts = right_answers(exercise, read_variants(harness))
    for known in harness.reference.misconceptions:
        ((name, text),) = known_mistakes(exercise, [known]).items()
        texts[f"mistake {known.step} {name}"] = text
    judges = {step.name: MutantJudge(harness, step.name, ()) for step in exercise.steps}
    for step, judge in judges.items():
        chosen = _sample(judge, definitions(harness)[step], mutants)
        for number, mutant in enumerate(chosen):
            texts[f"mutant {step} {number:03}"] = with_mutant(exercise, mutant)
    for name, text in texts.items():
        (target / f"{name.replace(' ', '-')}.py").write_text(text, encoding="utf-8")
    for student in _classmates(harness, judges, mutants):
        assignment = ROOT / "assignments" / exercise.name
        file = hand_in(student, exercise, assignment, target / "new")
        file.rename(target / f"{student.name}{file.suffix}")
        file.parent.rmdir()


def _sample(judge: MutantJudge, tree: Tree, count: int) -> Sequence[Mutant]:
    made = mutants_of(judge.subject(tree))
    return random.Random(f"{SEED} {tree.name}").sample(made, min(count, len(made)))


def _classmates(
    harness: Harness, judges: dict[str, MutantJudge], mutants: int
) -> Iterator[SampleStudent]:
    """Give the sample class, and mutants of those in it who write nothing but the layer."""
    folder = ROOT / "tests" / "sample_class" / harness.reference.exercise.name
    for student in read_sample_class(folder) if folder.is_dir() else ():
        yield replace(student, name=f"sample-{student.name}")
        if student.facts["kind"] == "class only":
            ((layer, text),) = student.changes.items()
            (tree,) = ast.parse(text).body
            assert isinstance(tree, ast.ClassDef)
            for number, mutant in enumerate(_sample(judges[layer], tree, mutants)):
                facts = {**student.facts, "hands in": "script"}
                changes = {layer: mutant.text}
                yield SampleStudent(f"layer-{number:03}", facts, changes, student.preamble)


def judged(exercise: str, folder: Path) -> None:
    """Grade `folder`/hand-ins through `attn grade`, and write what came of it beside them."""
    with tempfile.TemporaryDirectory() as place:
        output = Path(place, "graded")
        output.mkdir()
        (output / SECRET).write_bytes(bytes(SECRET_BYTES))
        words = ("--exercise", exercise, "--solutions", ROOT / "solutions", "--output", output)
        # The kit refuses to grade where Python's path leads into the current folder.
        plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        run = subprocess.run(
            [ATTN, "grade", folder / HAND_INS, *words],
            env=plain | {"COLUMNS": "200"},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if not (output / TABLE).is_file():
            sys.exit(f"error: {exercise} could not be graded; cure: read what stands above")
        (folder / SUMMARY).write_text(_lasting(run.stdout), encoding="utf-8")
        (folder / TABLE).write_bytes((output / TABLE).read_bytes())
        for verdict in (output / VERDICTS).iterdir():
            name = json.loads(verdict.read_bytes())["student"]
            _note(folder / VERDICTS / f"{name}.json", json.loads(verdict.read_bytes()))
            page = (output / "feedback" / f"{verdict.stem}.txt").read_text(encoding="utf-8")
            (folder / PAGES / f"{name}.txt").write_text(_lasting(page), encoding="utf-8")


def _lasting(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(PASSING_WORDS))


def _note(file: Path, facts: dict[str, Any]) -> None:
    lasting = {name: value for name, value in facts.items() if name not in PASSING}
    file.write_text(json.dumps(lasting, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def checked(exercise: str, folder: Path) -> None:
    """Check each of `folder`/hand-ins as `attn check` does at home."""
    files = sorted(path for path in (folder / HAND_INS).iterdir() if "hostile" not in path.stem)
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(usable_cores()), spawned) as pool:
        found = pool.map(partial(_at_home, exercise), files, chunksize=8)
        for file, facts in zip(files, found):
            _note(folder / CHECKS / f"{file.stem}.json", facts)


_home: list[Path] = []  # the workspace of this process, and what it holds at first


def _at_home(exercise: str, file: Path) -> dict[str, Any]:
    if not _home:
        _home.append(Path(tempfile.mkdtemp(prefix="attn-corpus-")))
        typed("start", ".", "--exercise", exercise, folder=_home[0])
        multiprocessing.util.Finalize(None, shutil.rmtree, (_home[0],), exitpriority=0)
    work = _home[0] / exercise / f"{exercise}{file.suffix}"
    for state in (_home[0] / ".attn").glob("progress*"):
        state.unlink()
    for other in work.parent.glob(f"{exercise}.*"):
        os.utime(other, (0, 0))
    before = work.read_bytes()
    work.write_bytes(file.read_bytes())
    run = typed("check", work.relative_to(_home[0]), "--json", folder=_home[0])
    work.write_bytes(before)
    said = run.out if run.code < 2 else json.dumps({"error": run.err})
    facts: dict[str, Any] = json.loads(said.replace(str(_home[0]), "~"))
    return facts


@dataclass
class Differences:
    """What differs, each with the hand-ins in which it does."""

    facts: dict[tuple[str, str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    sentences: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, who: str, where: str, old: object, new: object) -> None:
        """Note one difference: a sentence is what holds a blank."""
        if any(isinstance(value, str) and " " in value for value in (old, new)):
            self.sentences[str(old or ""), str(new or "")].append(f"{who} {where}")
        else:
            self.facts[where, str(old), str(new)].append(who)

    @property
    def words(self) -> str:
        """All of it, for a terminal, what is most frequent first."""
        lines = [f"{len(self.facts)} facts differ"]
        for (where, old, new), names in _frequent(self.facts):
            lines += [f"  {len(names)} times, {where}: {old} -> {new}", f"      {_few(names)}"]
        lines += [f"{len(self.sentences)} sentences differ"]
        for (before, after), names in _frequent(self.sentences):
            lines += [f"  {len(names)} times, {_few(names)}", f"    - {before}", f"    + {after}"]
        return "\n".join(lines)


def _frequent(found: dict[Key, list[str]]) -> list[tuple[Key, list[str]]]:
    return sorted(found.items(), key=lambda each: -len(each[1]))


def _few(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


def differences(old: Path, new: Path) -> Differences:
    """Compare all files of two corpora but the hand-ins."""
    found = Differences()
    files = {path.relative_to(folder) for folder in (old, new) for path in folder.rglob("*.*")}
    for file in sorted(path for path in files if path.parent.name != HAND_INS):
        one, other = (folder / file for folder in (old, new))
        who = f"{file.parts[0]}/{file.stem}"
        if not one.is_file() or not other.is_file():
            found.add(who, file.parent.name, *(path.is_file() for path in (one, other)))
        elif file.suffix == ".txt":
            for before, after in _lines(one, other):
                found.sentences[before, after].append(who)
        else:
            first, second = (dict(_leaves(_read(path))) for path in (one, other))
            for where in dict.fromkeys([*first, *second]):
                if first.get(where) != second.get(where):
                    found.add(who, where, first.get(where), second.get(where))
    return found


def _read(file: Path) -> object:
    if file.suffix == ".json":
        return json.loads(file.read_text(encoding="utf-8"))
    with file.open(encoding="utf-8", newline="") as rows:
        return {row["student"]: row for row in csv.DictReader(rows)}


def _leaves(value: object, where: str = "") -> Iterator[tuple[str, object]]:
    """Give each plain value of a document with its place; a list of named things goes by name."""
    inner: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict):
        inner = ((key, each) for key, each in value.items() if key not in PASSING)
    elif isinstance(value, list):
        inner = ((_name(each) or place, each) for place, each in enumerate(value))
    else:
        yield where, value
    for key, each in inner:
        yield from _leaves(each, f"{where}.{key}".removeprefix("."))


def _name(value: object) -> str:
    return str(value.get("name", "")) if isinstance(value, dict) else ""


def _lines(old: Path, new: Path) -> Iterator[tuple[str, str]]:
    texts = (file.read_text(encoding="utf-8") for file in (old, new))
    before, after = ([line.strip() for line in text.splitlines()] for text in texts)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag != "equal":
            yield from itertools.zip_longest(before[first:last], after[start:end], fillvalue="")


def make(exercise: Path, to: Path, source: Path | None, more: Sequence[Path], mutants: int) -> None:
    """Make the corpus of one exercise; with a `source`, of the hand-ins of another corpus."""
    for name in (HAND_INS, VERDICTS, CHECKS, PAGES):
        (to / name).mkdir(parents=True)
    if source is None:
        drawn(exercise, mutants, to / HAND_INS)
    for other in filter(None, (source, *more)):
        place = other / exercise.name
        place = place / HAND_INS if (place / HAND_INS).is_dir() else place
        if place.is_dir():
            shutil.copytree(place, to / HAND_INS, dirs_exist_ok=True)
    kinds = Counter(path.stem.split("-")[0] for path in (to / HAND_INS).iterdir())
    print(exercise.name, *(f"{n} {kind}" for kind, n in kinds.items()), sep=", ", flush=True)
    judged(exercise.name, to)
    checked(exercise.name, to)


def main() -> None:
    """Make a corpus, or compare two; exit with 1 when they differ in a fact."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    making, comparing = commands.add_parser("make"), commands.add_parser("diff")
    making.add_argument("target", type=Path, help="a new folder")
    making.add_argument("--only", nargs="*", default=[], help="exercises")
    making.add_argument("--source", type=Path, help="take the hand-ins of this corpus")
    making.add_argument("--more", type=Path, nargs="*", default=[], help="FOLDER/EXERCISE/hand-ins")
    making.add_argument("--mutants", type=int, default=MUTANTS, help="of each step")
    for name in ("old", "new"):
        comparing.add_argument(name, type=Path)
    asked = parser.parse_args()
    if asked.command == "make":
        print(f"mutants are drawn by seed {SEED}, {asked.mutants} of each step", flush=True)
        for folder in exercise_folders(ROOT / "solutions"):
            if not asked.only or folder.name in asked.only:
                to = asked.target / folder.name
                make(folder, to, asked.source, asked.more, asked.mutants)
        return
    found = differences(asked.old, asked.new)
    print(found.words)
    sys.exit(bool(found.facts))


if __name__ == "__main__":
    main()
