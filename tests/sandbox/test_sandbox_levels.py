"""Every layer is needed, and every level is what it says: also for an ordinary user.

Root's workers become another user, who may not be able to enter the folder of
the interpreter without namespaces. So the levels are tried as an ordinary user;
when root runs this, in a private view of the file system in which the
interpreter can be reached.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import autograder
from autograder.errors import KitError
from autograder.sandbox import SandboxedStudent, Zygote, access
from autograder.sandbox.measurement import DEMANDS, Attempt, Measured, demand
from autograder.sandbox.zygote import ProbeTargets, try_everything
from autograder.values.exercise import Limits
from autograder.values.request import Request, Returned
from autograder.values.symbols import Protection
from autograder.values.verdict import Outcome
from autograder.worker import confinement
from sandbox.installations import new_environment, put_package, put_packages, run_bare
from sandbox.out_of_reach import OUT_OF_REACH, try_it
from sandbox.questions import failed, raised_by, returned, value_of
from support.machines import (
    as_in_docker,
    as_ordinary_user,
    in_view,
    refusing,
    tried_as_ordinary_user,
)

TESTS = Path(__file__).resolve().parents[1]
LIMITS = Limits(seconds_per_call=2.0, memory_megabytes=256)
ALL = ("namespaces", "landlock", "seccomp", "rlimits")


def test_the_level_is_measured_and_each_denial_stands_beside_a_control_that_went_through() -> None:
    with Zygote("numpy", LIMITS, secrets=(TESTS,)) as zygote:
        measured = zygote.measured
    layers = measured.namespaces and measured.landlock and measured.seccomp
    assert (measured.protection is Protection.FULL) == bool(layers)
    assert measured.gaps == {}
    assert {trial.demand for trial in measured.trials} == set(DEMANDS) - {"user"}
    assert any(str(TESTS) in trial.tried for trial in measured.trials)
    for trial in measured.trials:
        assert trial.ended != "done" and not trial.gap, trial
        assert trial.control.endswith((": done", "answers")), trial


@pytest.mark.parametrize(
    ("layer", "fact", "cure"),
    [("seccomp", "system calls", "libseccomp"), ("rlimits", "limits", "")],
)
def test_without_a_filter_of_system_calls_or_limits_grading_does_not_start(
    layer: str, fact: str, cure: str
) -> None:
    with pytest.raises(KitError) as caught, Zygote("numpy", LIMITS, without=(layer,)):
        pass
    assert fact in str(caught.value) and cure in caught.value.cure


def test_a_secret_that_a_worker_can_read_stops_grading() -> None:
    open_to_all = Path(os.__file__)
    with pytest.raises(KitError) as caught, Zygote("numpy", LIMITS, secrets=(open_to_all,)):
        pass
    assert str(open_to_all) in caught.value.fact


def test_a_library_that_is_not_installed_is_named_with_what_to_install() -> None:
    with pytest.raises(KitError) as caught, Zygote("no_such_library", LIMITS):
        pass
    assert "no_such_library is not installed for this Python" in caught.value.fact
    assert caught.value.place == sys.executable
    assert caught.value.cure.endswith("-m pip install no_such_library`")


def test_asking_for_the_process_level_by_name_lowers_the_demand() -> None:
    with Zygote("numpy", LIMITS, allow_process=True, without=("seccomp",)) as zygote:
        assert zygote.protection is Protection.PROCESS
        assert "system calls" in zygote.measured.gaps
        assert value_of(zygote, "def f(): return 1") == 1


def test_a_worker_cannot_signal_its_sibling() -> None:
    code = "import os\ndef f(): os.kill(-1, 0)\ndef g(): return 1"
    with (
        Zygote("numpy", LIMITS, without=("landlock",)) as zygote,  # it alone would hide them too
        SandboxedStudent(zygote, (code,), seed=1) as sibling,
    ):
        assert returned(sibling.ask(Request("g"))).value == 1
        assert raised_by(zygote, code) == "PermissionError"


def trial(demand: str, gap: str = "") -> Attempt:
    return Attempt(demand, "try", "done" if gap else "PermissionError", "done", gap)


DENIED = tuple(trial(demand) for demand in DEMANDS)
SPACES = ("mount", "pid", "network", "ipc")


@pytest.mark.parametrize(
    ("measured", "level"),
    [
        (Measured(SPACES, 7, True, 60001, trials=DENIED), Protection.FULL),
        (Measured((), 1, True, 60001, trials=DENIED), Protection.LANDLOCK),
        (Measured(SPACES, 0, True, 60001, trials=DENIED), Protection.NAMESPACES),
        (Measured(SPACES, 7, True, 0, trials=DENIED), Protection.FULL),
        (Measured((), 0, True, 60001, trials=DENIED), Protection.PROCESS),
        (Measured(SPACES, 7, False, 60001, trials=DENIED), Protection.PROCESS),
        (Measured((), 7, True, 0, trials=DENIED), Protection.PROCESS),
        (Measured(SPACES, 7, True, 60001), Protection.PROCESS),
        (Measured(SPACES, 7, True, 60001, trials=(*DENIED, trial("network", "it can"))), "process"),
    ],
    ids=[
        "everything", "without namespaces", "without Landlock", "root of its own namespace",
        "nothing hides files", "without a filter", "root of this machine", "nothing measured",
        "one gap beside denials",
    ],
)  # fmt: skip
def test_a_level_is_what_the_facts_amount_to(measured: Measured, level: str) -> None:
    assert measured.protection == level
    if level == Protection.PROCESS:
        with pytest.raises(KitError, match="--allow-protection=process"):
            demand(measured)
    else:
        demand(measured)


def test_where_the_control_fails_nothing_is_concluded(tmp_path: Path) -> None:
    def never(request: Request) -> Returned:
        raise AssertionError("a worker was asked before the control had gone through")

    bait = ProbeTargets(tmp_path / "there is no canary", (), 0, "numpy")
    with pytest.raises(KitError, match="nothing can be said"):
        try_everything(never, bait, 256)


def answer(command: list[str], **environment: str) -> dict[str, object]:
    """Return what `sandboxed_answer.py` says, run by `command`; HOME is not set."""
    package = Path(autograder.__file__).parent
    run = run_bare(command, {"PYTHONPATH": str(package.parent), **environment})
    assert run.code == 0, run.said
    return run.document


ANSWER = [sys.executable, "-B", str(TESTS / "sandbox" / "sandboxed_answer.py")]


def test_a_container_that_refuses_namespaces_gives_the_level_landlock() -> None:
    said = answer(as_in_docker(ANSWER))
    assert said.get("level") == "landlock" and said["answer"] == 42, said
    assert said["uid"] != 0


def test_a_container_without_landlock_either_is_refused_with_a_remedy() -> None:
    said = answer(as_in_docker(ANSWER, landlock=False))
    assert "does not protect the grader" in str(said["fact"]) and "can read" in str(said["fact"])
    assert "Operation not permitted" in str(said["place"])  # why there are no namespaces
    assert "Linux 5.13" in str(said["place"])  # why there is no Landlock
    for remedy in ("a kernel with Landlock", "may make namespaces", "--allow-protection=process"):
        assert remedy in str(said["cure"]) or "user namespaces" in str(said["cure"])


def test_an_ordinary_users_worker_cannot_start_threads_without_end() -> None:
    said = answer(as_ordinary_user(ANSWER))
    assert said.get("level") in ("full", "namespaces"), said
    threads = said["threads"]
    assert isinstance(threads, int) and 16 <= threads <= 128, said


def test_the_processes_of_who_grades_are_not_counted_as_a_workers_without_namespaces() -> None:
    busy = 'for each in $(seq 140); do sleep 300 > /dev/null 2>&1 & done; "$@"; kill $(jobs -p)'
    command = ["bash", "-c", busy, "bash", *ANSWER, "namespaces"]
    said = answer(as_ordinary_user(command))
    assert said.get("level") == "landlock" and said["answer"] == 42, said
    assert said["threads"] == 300


@pytest.mark.slow
def test_namespaces_in_which_nothing_can_be_mounted_count_for_nothing() -> None:
    said = answer(as_ordinary_user(refusing("mounts", ANSWER)))
    assert said.get("level") == "landlock" and said["answer"] == 42, said


def environment_in(home: Path) -> None:
    """Make an environment of its own, with the package and what the sandbox needs, in `home`."""
    _, site = new_environment(home / "venv", "--copies")
    put_packages(site, ("numpy*", "pyseccomp.py"))
    put_package(site, Path(autograder.__file__).parent)


@pytest.fixture(scope="module")
def closed_home() -> Iterator[Path]:
    """A home that only its owner may enter, with a space and an umlaut in its name, below /tmp."""
    with tempfile.TemporaryDirectory(prefix="attn-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        home = Path(folder, "Zoë's home")
        home.mkdir(mode=0o700)
        environment_in(home)
        yield home


def in_closed_home(home: Path, *without: str) -> dict[str, object]:
    python = str(home / "venv" / "bin" / "python")
    command = [python, "-B", str(TESTS / "sandbox" / "sandboxed_answer.py"), *without]
    if os.geteuid() == 0:  # whose own interpreter may be closed too
        command = in_view(command)
    return answer(command, PYTHONPATH="")


def test_an_environment_in_a_closed_home_below_tmp_works_with_namespaces(closed_home: Path) -> None:
    said = in_closed_home(closed_home)
    assert said.get("answer") == 42 and said["level"] in ("full", "namespaces"), said
    assert said["uid"] != 0


if os.geteuid() == 0:

    @pytest.mark.slow
    def test_an_environment_whose_files_are_closed_themselves_is_named(closed_home: Path) -> None:
        # As `pip install` leaves them under a strict umask: to bind the folder does not help.
        (numpy_folder,) = (closed_home / "venv" / "lib").glob("python3*/site-packages/numpy")
        numpy_folder.chmod(0o700)
        try:
            said = in_closed_home(closed_home)
        finally:
            numpy_folder.chmod(0o755)
        assert "read_module numpy" in str(said["fact"]), said
        assert f"chmod -R go+rX {closed_home / 'venv'}" in str(said["cure"])

    def test_an_environment_in_a_closed_home_is_named_without_namespaces(closed_home: Path) -> None:
        said = in_closed_home(closed_home, "namespaces")
        assert said.get("place") == str(closed_home), said
        assert str(closed_home) in str(said["fact"]) and "may not enter" in str(said["fact"])
        assert "namespaces" in str(said["cure"]) and "ordinary user" in str(said["cure"])

    @pytest.mark.slow
    def test_a_package_in_a_closed_home_is_named_without_namespaces(closed_home: Path) -> None:
        # The interpreter and NumPy can be reached, so that only what is imported late would fail.
        (site,) = (closed_home / "venv" / "lib").glob("python3*/site-packages")
        command = [*ANSWER, "namespaces"]
        only_ours = closed_home / "package"
        shutil.copytree(site / "autograder", only_ours / "autograder", dirs_exist_ok=True)
        said = answer(in_view(command), PYTHONPATH=str(only_ours))
        assert said.get("place") == str(closed_home), said

    @pytest.mark.slow
    def test_a_temporary_folder_of_roots_own_does_not_pass_for_hidden_files() -> None:
        # The canary in it would be denied to the workers' user without any sandbox.
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # mode 0700
            said = answer(in_view([*ANSWER, "namespaces", "landlock"]), TMPDIR=folder)
        assert "a worker can read /tmp/attn-" in str(said["fact"]), said
        assert folder not in str(said["fact"])

else:

    def test_an_environment_in_a_closed_home_works_for_its_owner_without_namespaces(
        closed_home: Path,
    ) -> None:
        said = in_closed_home(closed_home, "namespaces")
        assert said.get("answer") == 42 and said["level"] == "landlock", said


def test_a_new_root_is_built_where_it_hides_nothing_that_workers_read() -> None:
    first = confinement._free_place(["/usr"])
    assert confinement._free_place(["/usr", f"{first}/venv/lib"]) != first
    with pytest.raises(OSError, match="is free"):
        confinement._free_place([f"{place}/venv/lib" for place in confinement._PLACES])


def test_a_machine_without_a_folder_for_temporary_files_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    monkeypatch.setattr(access, "_OPEN_PLACES", ())
    with pytest.raises(KitError, match="no folder for temporary files"), Zygote("numpy", LIMITS):
        pass


CIRCUMSTANCES = {
    "the current folder is gone": 'mkdir "$0/gone"; cd "$0/gone"; rmdir "$0/gone"; "$@"',
    "the current folder is closed": 'mkdir "$0/shut"; cd "$0/shut"; chmod 0 "$0/shut"; "$@"',
    "no home": 'unset HOME; "$@"',
    "a home that is not there": 'HOME=/nowhere "$@"',
    "no language": 'unset LANG LC_ALL; PYTHONCOERCECLOCALE=0 LC_ALL=POSIX "$@"',
    "files for nobody else": 'umask 077; "$@"',
    "a temporary folder that is not there": 'TMPDIR=/nowhere "$@"',
    "a temporary folder where nothing runs": (
        'mount -t tmpfs -o noexec,mode=1777 tmpfs "$0"; TMPDIR="$0" "$@"'
    ),
    "a temporary folder that is full": (
        'mount -t tmpfs -o size=4k,mode=1777 tmpfs "$0"; head -c 4096 /dev/zero > "$0/full"; '
        'TMPDIR="$0" "$@"'
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("script", CIRCUMSTANCES.values(), ids=CIRCUMSTANCES)
def test_it_grades_in_awkward_circumstances(script: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        command = ["sh", "-c", script, place, *ANSWER]
        if "mount" in script:
            mine = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
            command = ["unshare", *mine, "--mount", *command]
        said = answer(command)
    assert said.get("answer") == 42 and said["level"] != "process", said


if os.geteuid() == 0:

    @pytest.mark.slow
    def test_everything_holds_for_an_ordinary_user_too() -> None:
        tried_as_ordinary_user(*map(str, sorted(TESTS.glob("sandbox/test_sandbox*.py"))))

else:

    @pytest.fixture(scope="module")
    def unprotected() -> Iterator[Zygote]:
        with Zygote("numpy", LIMITS, allow_process=True, without=ALL) as zygote:
            assert zygote.protection is Protection.PROCESS
            yield zygote

    @pytest.mark.parametrize("name", OUT_OF_REACH)
    def test_each_attempt_goes_through_without_the_sandbox(unprotected: Zygote, name: str) -> None:
        assert returned(try_it(unprotected, OUT_OF_REACH[name])).value == "through"

    @pytest.mark.parametrize(
        ("without", "level"),
        [("namespaces", Protection.LANDLOCK), ("landlock", Protection.NAMESPACES)],
    )
    def test_nothing_gets_through_without_one_of_the_layers_that_hide_files(
        without: str, level: Protection
    ) -> None:
        with Zygote("numpy", LIMITS, without=(without,)) as zygote:
            assert zygote.protection is level
            for name, body in OUT_OF_REACH.items():
                assert failed(try_it(zygote, body)).outcome is Outcome.RAISED, name

    def test_without_both_layers_that_hide_files_grading_does_not_start() -> None:
        lesser = ("namespaces", "landlock")
        with pytest.raises(KitError) as caught, Zygote("numpy", LIMITS, without=lesser):
            pass
        assert "can read" in caught.value.fact and "Landlock" in caught.value.cure
        assert "other processes" in caught.value.fact
