"""Every layer is needed, and every level is what it says: also for an ordinary user.

Root's workers become another user, who may not be able to enter the folder of
the interpreter without namespaces. So the levels are tried as an ordinary user;
when root runs this, in a private view of the file system in which the
interpreter can be reached.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import autograder
from autograder.errors import KitError
from autograder.exercise import Limits
from autograder.request import Failed, Request, Returned
from autograder.sandbox import Protection, SandboxedStudent, Zygote
from autograder.verdict import Outcome

sys.path.insert(0, str(Path(__file__).parent))
from test_sandbox_attacks import OUT_OF_REACH, try_it

HERE = Path(__file__).parent
LIMITS = Limits(seconds_per_call=2.0, memory_megabytes=256)
ALL = ("namespaces", "landlock", "seccomp", "rlimits")
NOBODY_IN_PARTICULAR = "12345"


def test_nothing_but_the_full_set_of_layers_is_called_full() -> None:
    with Zygote("numpy", LIMITS) as zygote:
        measured = zygote.measured
    layers = measured.namespaces and measured.landlock and measured.seccomp
    assert (zygote.protection is Protection.FULL) == bool(layers)
    assert measured.gaps == {}


def test_without_a_filter_of_system_calls_grading_does_not_start() -> None:
    with pytest.raises(KitError) as caught, Zygote("numpy", LIMITS, without=("seccomp",)):
        pass
    assert "system calls" in str(caught.value) and "libseccomp" in caught.value.cure


def test_without_limits_grading_does_not_start() -> None:
    with pytest.raises(KitError) as caught, Zygote("numpy", LIMITS, without=("rlimits",)):
        pass
    assert "limits" in caught.value.fact


def test_a_secret_that_a_worker_can_read_stops_grading() -> None:
    open_to_all = Path(os.__file__)
    with pytest.raises(KitError) as caught, Zygote("numpy", LIMITS, secrets=(open_to_all,)):
        pass
    assert str(open_to_all) in caught.value.fact


def test_a_library_that_is_not_installed_is_named() -> None:
    with pytest.raises(KitError) as caught, Zygote("no_such_library", LIMITS):
        pass
    assert "no_such_library" in caught.value.fact


def test_asking_for_the_process_level_by_name_lowers_the_demand() -> None:
    with Zygote("numpy", LIMITS, allow_process=True, without=("seccomp",)) as zygote:
        assert zygote.protection is Protection.PROCESS
        assert "system calls" in zygote.measured.gaps
        with SandboxedStudent(zygote, ("def f(): return 1",), seed=1) as student:
            reply = student.ask(Request("f"))
    assert isinstance(reply, Returned) and reply.value == 1


def test_a_worker_cannot_signal_its_sibling() -> None:
    code = "import os\ndef f(): os.kill(-1, 0)\ndef g(): return 1"
    with (
        Zygote("numpy", LIMITS, without=("landlock",)) as zygote,  # it alone would hide them too
        SandboxedStudent(zygote, (code,), seed=1) as sibling,
        SandboxedStudent(zygote, (code,), seed=1) as student,
    ):
        assert isinstance(sibling.ask(Request("g")), Returned)
        reply = student.ask(Request("f"))
    assert isinstance(reply, Failed) and reply.exception
    assert reply.exception.type_name == "PermissionError"


def blocked(path: Path) -> Path | None:
    """Return the topmost folder above `path` that another user may not enter."""
    for folder in reversed((path, *path.parents)):
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


def private_view(folders: list[Path]) -> list[str]:
    """Return the shell commands that make `folders` reachable, in a mount namespace of their own."""
    lines = []
    closed = {folder: gate for folder in folders if (gate := blocked(folder))}
    for number, folder in enumerate(closed):
        stage = f'"$stage/{number}"'
        lines += [f"mkdir {stage}", f"mount --bind {shlex.quote(str(folder))} {stage}"]
    for gate in set(closed.values()):
        lines.append(f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(gate))}")
    for number, folder in enumerate(closed):
        place = shlex.quote(str(folder))
        lines += [f"mkdir -p {place}", f'mount --bind "$stage/{number}" {place}']
    return lines


if os.geteuid() == 0:

    def test_everything_holds_for_an_ordinary_user_too() -> None:
        package = Path(autograder.__file__).parent
        folders = [Path(sys.base_prefix), Path(sys.prefix), package, HERE]
        files = sorted(str(path) for path in HERE.glob("test_sandbox*.py"))
        who = ["--reuid", NOBODY_IN_PARTICULAR, "--regid", NOBODY_IN_PARTICULAR, "--clear-groups"]
        tests = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
        script = [
            "set -e",
            'stage=$(mktemp -d); chmod 755 "$stage"; mount -t tmpfs tmpfs "$stage"',
            *private_view(folders),
            f"cd {shlex.quote(str(HERE.parent))}",
            f"exec setpriv {shlex.join([*who, *tests])}",
        ]
        run = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(script)],
            env={"PATH": os.environ["PATH"], "HOME": "/", "PYTHONPATH": str(package.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        assert " passed" in run.stdout and "skipped" not in run.stdout

else:

    @pytest.mark.parametrize("name", OUT_OF_REACH)
    def test_each_attempt_goes_through_without_the_sandbox(name: str) -> None:
        with Zygote("numpy", LIMITS, allow_process=True, without=ALL) as zygote:
            assert zygote.protection is Protection.PROCESS
            reply = try_it(zygote, OUT_OF_REACH[name])
        assert isinstance(reply, Returned) and reply.value == "through", reply

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
                reply = try_it(zygote, body)
                assert isinstance(reply, Failed) and reply.outcome is Outcome.RAISED, name

    def test_without_both_layers_that_hide_files_grading_does_not_start() -> None:
        lesser = ("namespaces", "landlock")
        with pytest.raises(KitError) as caught, Zygote("numpy", LIMITS, without=lesser):
            pass
        assert "can read" in caught.value.fact and "Landlock" in caught.value.cure
        assert "other processes" in caught.value.fact
