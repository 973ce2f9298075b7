"""The attack corpus: reading it, and playing attacks against the real engine.

One file of `tests/attacks/GROUP/` is one attack: a header of comments that is TOML, then
code as a student would hand it in. `README.md` beside them says what the header means.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from autograder.grading.watched_process import WorkProgress
from autograder.values.exercise import read_exercise
from autograder.values.verdict import Outcome, StepVerdict, Verdict
from support.attack_range import Range, right_answer

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).resolve().parents[1] / "attacks"
GROUPS = ("verdict", "steal", "deny", "nondeterminism")
OTHERS = ("pass", "any")
KINDS = ("attack", "control")
LAST_ROW = 82
NUMPY = "numpy_single_head"
END = "# ---"


@dataclass(frozen=True)
class Attack:
    """One attack, or one control: legitimate code that the protection must not hurt.

    `rows` are those of the threat table, `step` is the one whose outcome is declared,
    `outcomes` are all that it may end in, `others` says whether the other steps keep their
    points. `why_passed` is the reason why `passed` is among the outcomes.
    """

    name: str
    group: str
    rows: tuple[int, ...]
    attack: str
    step: str
    outcomes: frozenset[Outcome]
    others: str
    kind: str
    steals: bool
    exercise: str
    code: str
    path: Path
    why_passed: str

    @property
    def id(self) -> str:
        """What it is called in a report: group/name."""
        return f"{self.group}/{self.name}"

    def cells(self, facts: dict[str, Any]) -> tuple[str, ...]:
        """Return what is handed in: FACTS, the exercise's right answer, and the attack over it."""
        return f"FACTS = {facts!r}", right_answer(self.exercise), self.code


@dataclass(frozen=True)
class Played:
    """What came of an attack: the verdict, where a secret arrived, and what changed meanwhile."""

    verdict: Verdict
    found: tuple[str, ...]
    seconds: float
    changed: tuple[str, ...]

    def step(self, name: str) -> StepVerdict:
        """Return how one step ended."""
        return next(step for step in self.verdict.steps if step.name == name)


def read_corpus(group: str | None = None) -> tuple[Attack, ...]:
    """Read all attacks, or those of one group; a header that is wrong is an AssertionError."""
    assert group is None or group in GROUPS, f"there is no group {group!r}"
    groups = (group,) if group else GROUPS
    return tuple(
        read_attack(path) for name in groups for path in sorted((CORPUS / name).glob("*.py"))
    )


def read_attack(path: Path) -> Attack:
    """Read one file of the corpus; an AssertionError names the file and what is wrong."""
    head, end, code = path.read_text(encoding="utf-8").partition(f"{END}\n")
    assert end and code.strip(), f"{path}: there is no header that ends in {END!r}, or no code"
    try:
        header = tomllib.loads("\n".join(line.removeprefix("# ") for line in head.splitlines()))
    except tomllib.TOMLDecodeError as error:
        raise AssertionError(f"{path}: the header is not TOML: {error}") from None
    facts: dict[str, Any] = {"others": "pass", "kind": "attack", "steals": False, "why_passed": ""}
    facts |= {"exercise": NUMPY} | header
    derived = {"name": path.stem, "group": path.parent.name, "code": code, "path": path}
    needed = {field.name for field in fields(Attack)} - set(derived)
    assert set(facts) == needed, f"{path}: missing or not known: {sorted(set(facts) ^ needed)}"
    try:
        lists = {
            "rows": tuple(facts["rows"]),
            "outcomes": frozenset(map(Outcome, facts["outcomes"])),
        }
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{path}: {error}") from None
    attack = Attack(**{**facts, **lists, **derived})
    _check(attack)
    return attack


def _check(attack: Attack) -> None:
    def demand(right: object, what: str) -> None:
        assert right, f"{attack.path}: {what}"

    rows = [row for row in attack.rows if type(row) is int and 1 <= row <= LAST_ROW]
    demand(attack.rows and len(rows) == len(attack.rows), f"rows are numbers from 1 to {LAST_ROW}")
    demand(attack.group in GROUPS, "it lies in no group")
    demand(attack.attack and type(attack.attack) is str, "`attack` says what it does")
    demand(attack.step in _steps(attack.exercise), f"{attack.exercise} has no step {attack.step!r}")
    demand(attack.outcomes, "no outcome is declared")
    demand(Outcome.INFRASTRUCTURE not in attack.outcomes, "a fault of ours is never declared")
    demand(attack.others in OTHERS, f"`others` is one of {OTHERS}")
    demand(attack.kind in KINDS, f"`kind` is one of {KINDS}")
    demand(type(attack.steals) is bool, "`steals` is true or false")
    passed = Outcome.PASSED in attack.outcomes
    demand(passed == bool(attack.why_passed), "`passed` is declared with its reason, and only it")
    control = attack.kind == "control"
    demand(not control or attack.outcomes == {Outcome.PASSED}, "a control passes")


@cache
def _steps(exercise: str) -> tuple[str, ...]:
    return tuple(step.name for step in read_exercise(ROOT / "solutions" / exercise).steps)


class _Watch(WorkProgress):
    """Sees what happens while each attack of a class is judged."""

    def __init__(self, range_: Range, exercise: str) -> None:
        super().__init__(lambda message: None, None)
        self.played: list[Played] = []
        self._range, self._exercise = range_, exercise
        self._before = range_.state(exercise)

    def begin(self, number: int) -> None:
        self._range.listeners.flush()
        self._range.tap.clear()
        self._begun = time.monotonic()

    def done(self, result: Verdict, number: int | None = None) -> None:
        seconds = time.monotonic() - self._begun
        received = self._range.tap.received + result.to_json().encode()
        after = self._range.state(self._exercise)
        touched = [f"somebody came to the {name}" for name in self._range.listeners.flush()]
        changed = (*_changes(self._before, after), *touched)
        self._before = after
        self.played.append(Played(result, self._range.found_in(received), seconds, changed))


def play(attacks: Sequence[Attack], range_: Range) -> list[Played]:
    """Hand in attacks on one exercise as a class; see what each does while it is judged.

    The class is graded by the real engine, in one process and with one zygote.
    """
    (exercise,) = {attack.exercise for attack in attacks}
    facts = range_.facts(exercise)
    watch = _Watch(range_, exercise)
    range_.grade(exercise, [attack.cells(facts) for attack in attacks], watch)
    return watch.played


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    litter = set(after["litter"]) - set(before["litter"])  # others may tidy up meanwhile
    return [f"left behind: {path}" for path in sorted(litter)] + [
        f"{what}: {before.get(what)} became {after.get(what)}"
        for what in sorted({*before, *after} - {"litter"})
        if before.get(what) != after.get(what)
    ]


def waits(attack: Attack) -> bool:
    """Return whether it only ends at its time limit."""
    return Outcome.TIMED_OUT in attack.outcomes


def quick(attack: Attack) -> bool:
    """Whether it ends soon, in NumPy's zygote, and is not played quickly elsewhere.

    The stealing ones are, all of them: test_attack_controls.py runs each in a worker.
    """
    return not waits(attack) and attack.exercise == NUMPY and attack.group != "steal"


def one_for_each_row() -> frozenset[Attack]:
    """Return an attack for each row of the threat table that is tried by a quick one."""
    ready = [attack for attack in read_corpus() if quick(attack)]
    ready.sort(key=lambda attack: (-len(attack.rows), attack.name))
    chosen: dict[int, Attack] = {}
    for attack in ready:
        if not set(attack.rows) <= set(chosen):
            chosen |= dict.fromkeys(attack.rows, attack)
    return frozenset(chosen.values())


def through_stock_nbgrader() -> tuple[Attack, ...]:
    """Return those that are also handed in through `nbgrader autograde`: one of each kind."""
    alike = {
        (attack.rows, attack.outcomes, attack.others): attack
        for attack in reversed(read_corpus("verdict"))
        if not waits(attack)
    }
    return tuple(sorted(alike.values(), key=lambda attack: attack.name))
