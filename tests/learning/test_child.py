"""The process that a learner's code runs in: how it starts, what its code may do, what is left.

Everything runs through the command, or in a Python of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from autograder.cli.kit import out
from autograder.errors import KitError
from autograder.learning import once, process
from autograder.values.exercise import read_exercise
from support.learner_workspace import (
    NAME,
    REFERENCE,
    RIGHT_SOFTMAX,
    ROOT,
    limited,
    start,
    stub_file,
    written,
)
from support.processes import PATIENCE, left_in, wait_for, working_in
from support.terminal import Terminal, save
from support.typed_commands import ATTN, attn, typed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what is left")

LOOP = "    while True:\n        pass"
STUCK = """while True:
        try:
            while True:
                pass
        except BaseException:
            pass"""
CHECKING = """\
import sys
from pathlib import Path
from autograder.cli.kit import out
from autograder.learning import once
from autograder.learning import process
from autograder.learning import screen
print("run")
process.METHODS = ("{method}",)
sys.path.insert(0, "")  # all that the program itself needs is imported by now
once.check(Path(), None, out(), print)
"""
SERVERS = """\
import sys
from pathlib import Path
from queue import SimpleQueue
from autograder.learning.watching import Background
from autograder.values.exercise import read_exercise
answers = SimpleQueue()
background = Background(answers.put, lambda what: None)
for folder in sys.argv[1:]:
    background.check(read_exercise(Path(folder)))
    print(answers.get().outcome.printed.strip())
background.close()
"""


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files, with a short name: a socket lies in it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def put(workspace: Path, top: str = "", **bodies: str) -> Path:
    """Write some steps in the script, and a cell below them; return it."""
    file = stub_file(workspace)
    text = written(file.read_text(encoding="utf-8"), **bodies or {"softmax": RIGHT_SOFTMAX})
    file.write_text(f"{text}\n\n# %%\n{top}\n", encoding="utf-8")
    return file


def until(condition: Callable[[Path], object], workspace: Path) -> None:
    """Wait until `condition` holds for the workspace."""
    wait_for(lambda: condition(workspace), "it does not come")


def library(folder: Path, code: str, name: str = "numpy") -> str:
    """A folder for PYTHONPATH in which NumPy, or the module of another name, is `code`."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(code, encoding="utf-8")
    known = os.environ.get("PYTHONPATH")
    return f"{folder}{os.pathsep}{known}" if known else str(folder)


# --- what its code may do -------------------------------------------------------------------------


def test_an_exception_that_nothing_catches_is_told_by_its_name(workspace: Path) -> None:
    put(workspace, softmax="    raise KeyboardInterrupt('not me')")
    (step,) = typed("check", "softmax", "--json", folder=workspace).document["steps"]
    (finding,) = [check["finding"] for check in step["checks"]]
    assert finding["outcome"] == "crashed"
    assert finding["details"] == ["KeyboardInterrupt: not me"]


def test_an_exception_whose_own_words_raise_is_told_by_its_name_and_line(workspace: Path) -> None:
    odd = "\n\n\nclass Odd(Exception):\n    def __str__(self):\n        raise self"
    put(workspace, softmax=f"    raise Odd{odd}")
    (step,) = typed("check", "softmax", "--json", folder=workspace).document["steps"]
    finding = step["checks"][0]["finding"]
    assert finding["outcome"] == "raised"
    assert finding["fact"].startswith("Line 26, `raise Odd`, raises `Odd: (the exception has no")


def test_what_is_printed_below_python_reaches_neither_screen_nor_json(workspace: Path) -> None:
    put(workspace, "import os\nos.write(1, b'seen')\nos.system('echo seen; echo seen >&2')")
    run = attn("check", "--json", folder=workspace)
    assert run.document["printed"] == "" and "seen" not in run.out + run.err


def test_its_code_may_start_processes_and_import_what_lies_beside_it(workspace: Path) -> None:
    (workspace / NAME / "mine.py").write_text("def say():\n    print('from a process')\n")
    top = (
        "import mine, multiprocessing, os, sys\n"
        "one = multiprocessing.get_context('fork').Process(target=os._exit, args=(3,))\n"
        "one.start()\none.join()\n"
        "print(one.exitcode, os.path.basename(os.getcwd()), sys.path.index(os.getcwd()) > 0)"
    )
    put(workspace, top)
    run = typed("check", "softmax", "--json", folder=workspace)
    assert run.document["printed"] == f"3 {NAME} True\n", run.document["troubles"]


def test_nothing_of_one_check_is_left_in_the_next_and_each_has_its_own_process(
    workspace: Path,
) -> None:
    put(workspace, "import os\nprint(os.getpid(), os.getppid())")
    told = [typed("check", "--json", folder=workspace).document["printed"] for _ in range(2)]
    (one, server), (other, same_server) = map(str.split, told)
    assert one != other
    assert server == same_server != str(os.getpid()), "each is forked from what has NumPy"


# --- how it starts --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_it_starts_either_way_and_runs_the_program_and_what_lies_beside_the_work_never_again(
    workspace: Path, tmp_path: Path, method: str
) -> None:
    folder = put(
        workspace,
        softmax=RIGHT_SOFTMAX,
        initialize_weights="    import os\n    os._exit(3)",
    ).parent
    for name in ("numpy", "pickle", "runpy"):
        (folder / f"{name}.py").write_text("open('imported', 'w')", encoding="utf-8")
    program = tmp_path / "program.py"  # without `if __name__ == "__main__":`
    program.write_text(CHECKING.format(method=method), encoding="utf-8")
    run = attn("-P", program, folder=folder, command=sys.executable)
    assert "✓ softmax" in run.out and "☠ initialize_weights" in run.out, run
    assert run.out.count("run\n") == 1
    assert not (folder / "imported").exists()
    assert left_in(workspace) == {}


def test_where_no_socket_can_lie_it_starts_all_the_same(workspace: Path, tmp_path: Path) -> None:
    long = tmp_path / ("long" * 30)
    long.mkdir()
    stub_file(workspace).write_text(REFERENCE, encoding="utf-8")
    assert attn("check", folder=workspace, TMPDIR=str(long)).code == 0


@pytest.mark.parametrize(
    "code, told",
    [
        ("raise ImportError('no such file')", "this Python cannot import it (ImportError: no such"),
        ("raise OSError('libblas.so is broken')", "did not start: OSError: libblas.so is broken"),
        ("import os; os.kill(os.getpid(), 4)", "Python did not start: signal SIGILL"),
    ],
)
def test_a_library_that_does_not_work_is_told_in_its_own_words(
    workspace: Path, tmp_path: Path, code: str, told: str
) -> None:
    path = library(tmp_path / "broken", code)
    run = attn("check", folder=workspace, PYTHONPATH=path, COLUMNS="500")
    assert run.code == 2 and told in run.err, run.err
    assert "Traceback" not in run.err


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("torch"), reason="PyTorch is not installed")
def test_it_is_forked_from_a_server_that_holds_the_library_of_the_exercise(tmp_path: Path) -> None:
    names = (NAME, NAME, "torch_single_head", "torch_single_head")
    workspace = start(tmp_path / "work", *names[1:3])
    for name in names[1:3]:
        file = workspace / name / f"{name}.py"
        file.with_suffix(".ipynb").unlink()
        top = "import os\nserver = os.getppid()\nmaps = open(f'/proc/{server}/maps').read()"
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"\n\n# %%\n{top}\nprint(server, 'libtorch' in maps)\n")
    run = attn("-c", SERVERS, *names, folder=workspace, command=sys.executable)
    first, again, other, last = run.out.splitlines()
    assert first == again and first.endswith("False"), run.err
    assert other == last and last.endswith("True")


@pytest.mark.parametrize("before", ["its turn", "the second way to start"])
def test_a_child_that_is_ended_before_it_starts_is_not_started(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, ended = [], threading.Event()

    class Start:
        def __init__(self, method: str) -> None:
            tried.append(method)

        def start(self) -> None:
            assert ended.wait(PATIENCE)
            raise FileNotFoundError("the folder of the socket is gone")

    monkeypatch.setattr(process, "METHODS", ("forkserver", "spawn"))
    monkeypatch.setattr(process.Child, "_made", lambda _, method, far: Start(method))
    known = set(threading.enumerate())
    with process._one_at_a_time:
        child = process.Child(read_exercise(ROOT / "assignments" / NAME))
        (starter,) = set(threading.enumerate()) - known
        if before == "its turn":
            child.end()
    if before != "its turn":
        wait_for(lambda: tried, "no way to start is tried")
        child.end()
    ended.set()
    starter.join(PATIENCE)
    assert tried == ([] if before == "its turn" else ["forkserver"])


@pytest.mark.parametrize("command", ["check", "show"])
def test_a_command_that_is_refused_ends_the_child_that_it_began(
    command: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []

    class Begun(process.Child):
        def end(self) -> None:
            ended.append(self)
            super().end()

    for file in (workspace / NAME).glob(f"{NAME}.*"):
        file.unlink()
    monkeypatch.setattr(once, "Child", Begun)
    with pytest.raises(KitError, match="there is neither"):
        if command == "check":
            once.check(workspace, None, out(), print)
        else:
            once.show_step(workspace, "softmax", None, out(), print)
    assert len(ended) == 1


def test_a_child_that_was_ended_while_it_waited_costs_nothing(workspace: Path) -> None:
    terminal = Terminal(workspace, ATTN, "watch")
    terminal.sees("`softmax` is not written yet.")
    until(lambda work: working_in(work / NAME), workspace)
    (waiting,) = working_in(workspace / NAME)
    os.kill(waiting, signal.SIGKILL)
    until(lambda work: waiting not in working_in(work), workspace)
    save(workspace, softmax=RIGHT_SOFTMAX)
    assert "ends Python" not in terminal.sees("✓ softmax passes.") + terminal.sees("q quit")
    terminal.press("q")
    assert terminal.ends() == 0


# --- nothing is left over -------------------------------------------------------------------------


def begun(workspace: Path, *words: str, **env: str) -> subprocess.Popen[str]:
    """A command in a group of processes of its own, as in a terminal."""
    return subprocess.Popen(
        [ATTN, *words],
        cwd=workspace,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heeds_ctrl_c,
    )


def heeds_ctrl_c() -> None:
    """Undo what a script does to the processes that it starts in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def looping(workspace: Path, *words: str, **env: str) -> subprocess.Popen[str]:
    """A command whose check does not come to an end, when its child is at work."""
    limited(workspace, seconds_per_call=600)
    put(workspace, softmax=f"    open('begun', 'w').close()\n{LOOP}")
    run = begun(workspace, *words, **env)
    until(lambda work: (work / NAME / "begun").exists(), workspace)
    assert working_in(workspace)
    return run


@pytest.mark.parametrize("words", [("check", "softmax"), ("watch",)])
def test_nothing_is_left_of_a_command_that_is_killed(
    workspace: Path, temporary: Path, words: tuple[str, ...]
) -> None:
    with looping(workspace, *words, TMPDIR=str(temporary)) as run:
        run.kill()
    assert left_in(workspace) == {} and list(temporary.iterdir()) == []


def test_ctrl_c_ends_a_check_with_its_child_and_says_little(
    workspace: Path, temporary: Path
) -> None:
    with looping(workspace, "check", "softmax", TMPDIR=str(temporary)) as run:
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        out, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 1 and "Traceback" not in out + err and "Aborted" in err
    assert left_in(workspace) == {} and list(temporary.iterdir()) == []


FORKED_FROM = "'forkserver' in sys.orig_argv[-1]"
WAITS = "open('begun', 'w').close()\n    while not os.path.exists('go'): time.sleep(0.01)"
IMPORTED = {  # what is imported when Ctrl-C comes
    "the first library of the command": ("click", "signal.raise_signal(signal.SIGINT)"),
    "by Python, for the server": ("sitecustomize", f"if {FORKED_FROM}:\n    {WAITS}"),
    "the array library": ("numpy", "open('begun', 'w').close()\ntime.sleep(600)"),
}


@pytest.mark.parametrize("module, code", IMPORTED.values(), ids=IMPORTED)
def test_ctrl_c_while_something_is_imported_ends_all_and_says_little(
    workspace: Path, tmp_path: Path, module: str, code: str
) -> None:
    path = library(tmp_path / "slow", f"import os, signal, sys, time\n{code}", module)
    run = begun(workspace, "watch", PYTHONPATH=path)
    if "begun" in code:
        until(lambda work: (work / "begun").exists(), workspace)
        os.killpg(run.pid, signal.SIGINT)
    (workspace / "go").touch()
    out, err = run.communicate(timeout=PATIENCE)
    assert "Traceback" not in out + err
    assert ("Aborted!" in err) == (module == "click") and left_in(workspace) == {}


def test_what_the_steps_have_started_ends_with_them(workspace: Path) -> None:
    limited(workspace, seconds_per_call=0.5)
    ends = {"softmax": "pass", "initialize_weights": "import os\n    os._exit(3)"}
    ends["project_qkv"] = STUCK
    starts = "    import subprocess\n    subprocess.Popen(['sleep', '60{}'])\n    {}"
    bodies = {name: starts.format(number, end) for number, (name, end) in enumerate(ends.items())}
    put(workspace, **bodies)
    assert attn("check", folder=workspace).code == 1
    assert left_in(workspace) == {}


def test_a_check_that_cannot_begin_leaves_nothing(workspace: Path) -> None:
    stub_file(workspace).unlink()
    stub_file(workspace).with_suffix(".ipynb").write_text("{", encoding="utf-8")
    run = attn("check", folder=workspace)
    assert run.code == 2 and "not valid JSON" in run.words + run.err
    assert left_in(workspace) == {}
