"""The attack corpus against the real engine: declared outcomes, no canary, nothing changed.

The files of `tests/attacks/` that a run asks for are handed in as a class, which is graded with
the exercise's own checks: in one process, with one zygote. The fast tests ask for a quick one for
each row of the threat table, the slow ones for the others. The recorder and the comparison that
find nothing are each shown to find what is there.
"""

from __future__ import annotations

import base64
import os
import re
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from autograder.grading.batch import grade_batch
from autograder.grading.watched_process import WorkProgress
from autograder.reports.grades_csv import read_verdicts
from autograder.sandbox import SandboxedStudent
from autograder.submission.reading import read_submission
from autograder.values.request import Request
from autograder.values.verdict import Outcome, Verdict
from support.attack_corpus import (
    GROUPS,
    LAST_ROW,
    NUMPY,
    Attack,
    Played,
    one_for_each_row,
    play,
    quick,
    read_attack,
    read_corpus,
)
from support.attack_range import LITTER, Range, right_answer
from support.typed_commands import attn

TESTS = Path(__file__).resolve().parents[1]
ATTACKS = read_corpus()
TOO_LONG = 60.0  # seconds, on a machine with other work; alone the slowest takes about 10
FEWEST = 80

# Rows of the threat table without a file in the corpus: what no submission can even try here.
# Each names the test that shows why.
ROWS_ELSEWHERE = {
    13: "what is no answer is not read: test_what_lies_beside_a_submission_has_no_say",
    14: "what is no answer is not read: test_what_lies_beside_a_submission_has_no_say",
    15: "what is no answer is not read: test_what_lies_beside_a_submission_has_no_say",
    48: "who hands in again learns one number more: "
    "test_a_finding_quotes_one_expected_number_of_a_check",
    71: "while reading, before anything runs: test_what_is_too_large_is_told_with_the_limit",
}

# Of those that end at a time limit only, the fast tests play this one too.
WAITED_FOR = "patched_clock"
FAST = one_for_each_row() | {attack for attack in ATTACKS if attack.name == WAITED_FOR}

# What they return differs from run to run, so the number that a finding quotes does too.
DRAWN_FROM_THE_SYSTEM = (
    "address_of_an_object",
    "system_random_bytes",
    "time_of_day",
    "unseeded_generator",
)


@pytest.fixture(scope="module")
def range_() -> Iterator[Range]:
    with Range() as range_:
        yield range_


Class = Callable[[str], Mapping[str, list[Played]]]


@pytest.fixture(scope="module")
def class_of(range_: Range, request: pytest.FixtureRequest) -> Class:
    """What came of the attacks on an exercise that this run asks for, all of them in one class.

    Those whose verdict may depend on chance hand in once more at the end.
    """
    tests = [item for item in request.session.items if isinstance(item, pytest.Function)]
    asked = {test.callspec.params.get("attack") for test in tests if hasattr(test, "callspec")}
    handed_in = [attack for attack in ATTACKS if attack in asked]

    @cache
    def played(exercise: str) -> Mapping[str, list[Played]]:
        class_ = [attack for attack in handed_in if attack.exercise == exercise]
        class_ += [attack for attack in class_ if attack.group == "nondeterminism"]
        plays: dict[str, list[Played]] = {}
        for attack, one in zip(class_, play(class_, range_), strict=True):
            plays.setdefault(attack.id, []).append(one)
        return plays

    return played


# --- the attacks ----------------------------------------------------------------------------------


def attacks(group: str = "") -> list[ParameterSet]:
    """All attacks, or those of one group, as parameters; those that are not fast are marked."""
    return [
        pytest.param(attack, id=attack.id, marks=() if attack in FAST else pytest.mark.slow)
        for attack in ATTACKS
        if group in ("", attack.group)
    ]


@pytest.mark.parametrize("attack", attacks())
def test_it_ends_as_declared_and_gets_nothing(attack: Attack, class_of: Class) -> None:
    played = class_of(attack.exercise)[attack.id][0]
    step = played.step(attack.step)
    assert step.outcome in attack.outcomes, (step.outcome, step.finding)
    assert step.points == 0 or step.outcome is Outcome.PASSED
    lost = {
        one.name: str(one.outcome) for one in played.verdict.steps if one.points < one.max_points
    }
    if attack.others == "pass":
        assert set(lost) <= {attack.step}, lost
    assert not played.verdict.infrastructure, lost
    assert played.found == ()
    assert played.changed == ()
    assert played.seconds < TOO_LONG


@pytest.mark.parametrize("attack", attacks("nondeterminism"))
def test_two_runs_give_one_verdict(attack: Attack, class_of: Class) -> None:
    first, second = (played.verdict for played in class_of(attack.exercise)[attack.id])
    assert [(step.outcome, step.points) for step in first.steps] == [
        (step.outcome, step.points) for step in second.steps
    ]
    if attack.name not in DRAWN_FROM_THE_SYSTEM:
        timeless = [replace(each, seconds=0.0, judged_at="").to_json() for each in (first, second)]
        assert timeless[0] == timeless[1]


@pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(name, marks=() if name == NUMPY else pytest.mark.slow)
        for name in sorted({attack.exercise for attack in ATTACKS})
    ],
)
def test_after_all_of_them_the_same_process_grades_as_before(
    exercise: str, range_: Range, class_of: Class
) -> None:
    class_of(exercise)
    ground = range_.ground(exercise)
    step = ground.exercise.steps[0]
    missing = (*ground.right, f"def {step.name}(*_): return None")
    right, wrong = range_.grade(exercise, [ground.right, missing])
    assert right.points == right.max_points
    assert wrong.points == wrong.max_points - step.points
    assert wrong.steps[0].outcome is Outcome.WRONG_TYPE


# --- the corpus -----------------------------------------------------------------------------------


def test_the_corpus_is_large_and_has_all_groups() -> None:
    attacks = [attack for attack in ATTACKS if attack.kind == "attack"]
    assert len(attacks) >= FEWEST
    assert {attack.group for attack in attacks} == set(GROUPS)
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS), "a name stands twice"


def test_every_row_of_the_threat_table_is_tried_or_shown_elsewhere() -> None:
    tried = {row for attack in ATTACKS for row in attack.rows}
    assert tried & set(ROWS_ELSEWHERE) == set(), "tried after all"
    assert sorted(set(range(1, LAST_ROW + 1)) - tried - set(ROWS_ELSEWHERE)) == []


def test_the_fast_tests_try_every_row_that_a_quick_attack_tries() -> None:
    assert {row for attack in ATTACKS if quick(attack) for row in attack.rows} <= {
        row for attack in FAST for row in attack.rows
    }
    assert WAITED_FOR in {attack.name for attack in FAST}
    assert {attack.group for attack in FAST} == set(GROUPS) - {"steal"}


def test_what_shows_the_other_rows_is_there() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    for row, reason in ROWS_ELSEWHERE.items():
        name = reason.rpartition(": ")[2]
        assert f"def {name}(" in tests, f"row {row}: there is no {name}"


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("rows = [1]\nstep = 'softmax'\noutcomes = ['raised']", "attack"),
        ("rows = [800]\nattack = 'a'\nstep = 'softmax'\noutcomes = ['raised']", "rows"),
        ("rows = [1]\nattack = 'a'\nstep = 'soft'\noutcomes = ['raised']", "no step"),
        ("rows = [1]\nattack = 'a'\nstep = 'softmax'\noutcomes = ['lost']", "lost"),
        ("rows = [1]\nattack = 'a'\nstep = 'softmax'\noutcomes = ['passed']", "reason"),
        ("rows = [1]\nattack = 'a'\nstep = 'softmax'\noutcomes = ['infrastructure']", "fault"),
        ("rows = 1\nattack = 'a'\nstep = 'softmax'\noutcomes = ['raised']", "iterable"),
        ("rows = [1", "TOML"),
    ],
)
def test_a_wrong_header_is_told_with_its_file(tmp_path: Path, header: str, told: str) -> None:
    path = tmp_path / "verdict" / "wrong.py"
    path.parent.mkdir()
    commented = "".join(f"# {line}\n" for line in header.splitlines())
    path.write_text(f"{commented}# ---\npass\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=f"wrong.py.*{told}"):
        read_attack(path)


# --- what shows that the recorder and the comparison see ------------------------------------------

TELLING = {
    "printed": "print(CANARY, flush=True)\n    return scores",
    "printed by the system": "os.write(1, CANARY.encode())\n    return scores",
    "raised": "raise ValueError(CANARY)",
    "raised in a name": "raise type(CANARY, (Exception,), {})()",
    "returned as bytes": "return np.frombuffer(CANARY.encode(), np.uint8)",
    "returned as numbers": "return np.frombuffer(CANARY.encode(), np.uint8).astype(float)",
    "returned as text": "return CANARY",
    "printed backwards": "print(CANARY[::-1], flush=True)\n    return scores",
    "printed as base64": "print(base64.b64encode(b'x' + CANARY.encode()))\n    return scores",
    "printed in hexadecimal": "print(CANARY.encode().hex())\n    return scores",
    "printed as a list": "print(list(CANARY.encode()))\n    return scores",
    "printed past what is kept": "print('x' * 200_000, CANARY, flush=True)\n    return scores",
    "only one half of it": "print(CANARY[16:], flush=True)\n    return scores",
}


@pytest.mark.parametrize("telling", TELLING.values(), ids=TELLING)
def test_what_a_worker_tells_is_found(telling: str, range_: Range) -> None:
    """The control for every canary that was not found: here a student is given it."""
    given = f"import base64, os\nimport numpy as np\nCANARY = {range_.canary!r}"
    code = f"def softmax(scores):\n    {telling}"
    zygote = range_.ground(NUMPY).zygote
    range_.tap.clear()
    with SandboxedStudent(zygote, (given, code), seed=1) as student:
        student.ask(Request("softmax", (np.ones((2, 3)),)))
    assert range_.found_in(range_.tap.received)


def test_an_innocent_worker_tells_nothing(range_: Range) -> None:
    right = range_.ground(NUMPY).right
    range_.tap.clear()
    range_.grade(NUMPY, [right])
    assert len(range_.tap.received) > 10_000
    assert range_.found_in(range_.tap.received) == ()


@pytest.mark.parametrize("shift", range(3))
def test_base64_is_found_wherever_it_begins(range_: Range, shift: int) -> None:
    text = base64.b64encode(b"-" * shift + range_.canary.encode() + b"after")
    assert any("base64" in found for found in range_.found_in(b"before" + text))


def write_gradebook(range_: Range) -> None:
    with closing(sqlite3.connect(range_.folder / "gradebook.db")) as book, book:
        book.execute("UPDATE grade SET score = 22")


def change_mode(range_: Range) -> None:
    (range_.folder / "secret" / "secret.txt").chmod(0o600)


def plant(range_: Range) -> None:
    (range_.folder / "secret" / "planted").touch()


def write_shared_memory(range_: Range) -> None:
    Path(range_.shm).write_text("another")


def visit(family: int, kind: int, address: str) -> Callable[[Range], None]:
    def visitor(range_: Range) -> None:
        with socket.socket(family, kind) as one:
            one.settimeout(30)
            to = {"port": range_.listeners.port, "udp": range_.listeners.udp_port}.get(address)
            path = {"path": range_.listeners.path}.get(address, f"\0{range_.listeners.abstract}")
            one.connect(("127.0.0.1", to) if to else path)
            one.send(b"?") if kind == socket.SOCK_DGRAM else None
            assert range_.canary.encode() in one.recv(4096)

    return visitor


def kill_sibling(range_: Range) -> None:
    os.kill(range_.ground(NUMPY).sibling_pid, 9)


def stop_zygote(range_: Range) -> None:
    process = range_.ground(NUMPY).zygote._process
    assert process
    process.close()


def lower_priority(range_: Range) -> None:
    os.setpriority(os.PRIO_PROCESS, range_.ground(NUMPY).zygote.pid, 1)


# What is done meanwhile, and a word of the change that is told.
CHANGES = {
    "the gradebook is written": (write_gradebook, "gradebook.db: "),
    "the mode of the secret is changed": (change_mode, "secret.txt: "),
    "a file is planted": (plant, "secret/planted: None became"),
    "shared memory is written": (write_shared_memory, "shared memory: "),
    "somebody comes by TCP": (visit(socket.AF_INET, socket.SOCK_STREAM, "port"), "the TCP"),
    "somebody comes by UDP": (visit(socket.AF_INET, socket.SOCK_DGRAM, "udp"), "the UDP"),
    "somebody comes by an abstract socket": (
        visit(socket.AF_UNIX, socket.SOCK_STREAM, "abstract"),
        "the abstract socket",
    ),
    "somebody comes by a path": (
        visit(socket.AF_UNIX, socket.SOCK_STREAM, "path"),
        "the path socket",
    ),
    "the sibling is killed": (kill_sibling, "sibling: True became False"),
    "the zygote is slowed down": (lower_priority, "zygote's scheduling: "),
    "the zygote is ended": (stop_zygote, "zygote: "),
}


@pytest.fixture(scope="module")
def disturbed() -> Iterator[tuple[Range, Attack, Verdict]]:
    """A range to spoil, an innocent answer that changes nothing in it, and its verdict."""
    innocent = next(attack for attack in ATTACKS if attack.name == "returns_its_input")
    with Range() as fresh:
        (played,) = play([innocent], fresh)
        assert played.changed == ()
        yield fresh, innocent, played.verdict


@pytest.mark.parametrize(("change", "told"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen(
    change: Callable[[Range], None],
    told: str,
    disturbed: tuple[Range, Attack, Verdict],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The control for every `changed` that was empty: here something is changed meanwhile."""
    fresh, innocent, verdict = disturbed

    def grade(_exercise: str, _answers: object, progress: WorkProgress) -> None:
        progress.begin(0)
        change(fresh)
        progress.done(verdict)

    monkeypatch.setattr(fresh, "grade", grade)
    (played,) = play([innocent], fresh)
    assert [what for what in played.changed if told in what], played.changed


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_litter_is_seen(folder: str, range_: Range) -> None:
    before = range_.state(NUMPY)
    path = Path(folder, f"{LITTER}-{os.getpid()}")
    path.touch()
    after = range_.state(NUMPY)
    path.unlink()
    assert before["litter"] != after["litter"]


def test_a_child_of_the_graders_is_seen(range_: Range) -> None:
    before = range_.state(NUMPY)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        after = range_.state(NUMPY)
        child.communicate(b"\n")
    assert set(after["host's children"]) - set(before["host's children"]) == {child.pid}


# --- what no file of the corpus can try -----------------------------------------------------------

BESIDE = {
    "conftest.py": (
        "import pytest\n@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_runtest_makereport(item, call):\n"
        "    (yield).get_result().outcome = 'passed'\n"
    ),
    "pytest.ini": "[pytest]\naddopts = --collect-only -p no:cacheprovider\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--deselect graders.py'\n",
    "numpy.py": "import os\nos._exit(0)\n",
    "sitecustomize.py": "import os\nos._exit(0)\n",
    "solution.py": "def softmax(scores):\n    return scores\n",
}


def test_what_lies_beside_a_submission_has_no_say(
    range_: Range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = NUMPY
    ground = range_.ground(name)
    wrong = f"{ground.right[0]}\n\ndef softmax(scores):\n    return scores\n"
    for file, text in {**BESIDE, f"{name}.py": wrong}.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    submission = read_submission(tmp_path, ground.exercise, "student")
    verdict = grade_batch(ground.exercise.folder, [submission])[0]
    assert verdict.steps[0].outcome is Outcome.WRONG_VALUES
    assert verdict.points == verdict.max_points - ground.exercise.steps[0].points


# Quick ones, one of each group, that know nothing about the machine.
THROUGH_THE_COMMAND = (
    "exit_zero_in_function",
    "environment_by_ctypes",
    "kills_itself",
    "hash_order",
)


def test_the_command_that_grades_a_folder_comes_to_the_same_verdicts(tmp_path: Path) -> None:
    """All of them are handed in like this by the slow tests of test_attack_doors.py."""
    attacks = [attack for attack in ATTACKS if attack.name in THROUGH_THE_COMMAND]
    assert {attack.group for attack in attacks} == set(GROUPS)
    class_ = tmp_path / "class"
    class_.mkdir()
    answers = {attack.name: "\n\n# %%\n".join(attack.cells({})) for attack in attacks}
    for student, text in {"honest": right_answer(NUMPY), **answers}.items():
        (class_ / f"{student}.py").write_text(text, encoding="utf-8")
    words = ("grade", class_, "--exercise", NUMPY, "--processes", "1")
    run = attn(*words, folder=TESTS.parent)
    assert run.code == 0, run.said
    read = read_verdicts(tmp_path / "class-graded" / "verdicts")
    verdicts = {verdict.student: verdict for verdict in read}
    honest = verdicts["honest"]
    assert honest.points == honest.max_points
    for attack in attacks:
        steps = verdicts[attack.name].steps
        outcome = next(step.outcome for step in steps if step.name == attack.step)
        assert outcome in attack.outcomes, (attack.name, outcome)
        assert {step.name for step in steps if step.points < step.max_points} <= {attack.step}


def test_a_finding_quotes_one_expected_number_of_a_check(range_: Range) -> None:
    """A wrong answer is told where it differs first, and not what it would have to be."""
    wrong = "import numpy as np\ndef softmax(scores): return np.full(scores.shape, 7.0)"
    (verdict,) = range_.grade(NUMPY, [(*range_.ground(NUMPY).right, wrong)])
    for check in verdict.steps[0].checks:
        if check.finding:
            text = " ".join((check.finding.message, *check.finding.details))
            assert len(re.findall(r"\d\.\d+", text)) <= 2, text
