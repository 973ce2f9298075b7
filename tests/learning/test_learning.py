"""The learner's commands, as a learner types them: start, check, hint, show, list, solution, reset.

Everything runs through the installed command, in a process of its own. On a disk with nothing but
the kit's wheel it runs in tests/authoring/test_release.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder.values.exercise import EARLIER_EXAMPLES, EXAMPLES
from support.learner_workspace import (
    NAME,
    REFERENCE,
    RIGHT_SOFTMAX,
    ROOT,
    WRONG_SOFTMAX,
    limited,
    progress_file,
    put,
    start,
    stub_file,
    written,
)
from support.typed_commands import attn, typed

RIGHT, NOT_ALL, REFUSED = 0, 1, 2
SCRIPT = f"{NAME}.py"


@pytest.fixture(scope="module")
def two_exercises(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace for commands that change nothing."""
    return start(tmp_path_factory.mktemp("two") / "work", NAME, "vit_multi_head")


# --- attn start ---------------------------------------------------------------------------------


def test_start_lays_out_every_exercise_and_says_what_to_type_next(tmp_path: Path) -> None:
    run = typed("start", "work", folder=tmp_path)
    assert run.code == RIGHT and run.err == ""
    for folder in (ROOT / "assignments").glob("*/"):
        files = {path.name for path in (tmp_path / "work" / folder.name).iterdir()}
        assert {f"{folder.name}.py", f"{folder.name}.ipynb", EXAMPLES} <= files
    assert "  cd work\n  attn watch\n    checks whenever you save\n" in run.out
    assert "Single-head attention in NumPy\n  11 steps, about 85 minutes\n" in run.out
    assert "In `softmax`, replace the line that raises NotImplementedError" in run.words
    assert "Begin here, and write the class first" in run.words
    named = re.findall(rf"^  ({NAME}/\S+)\n    in ", run.out, re.MULTILINE)
    named = [tmp_path / "work" / file for file in named]
    assert [file.suffix for file in named] == [".py", ".ipynb"]
    assert all(file.is_file() for file in named)
    laid = [path.name for path in (tmp_path / "work").rglob("*")]
    assert not [name for name in laid if re.search("solution|grader|misconception", name)]


def test_who_learns_alone_reads_of_nobody_to_hand_in_to(workspace: Path) -> None:
    readmes = [path.read_text(encoding="utf-8") for path in workspace.glob("*/README.md")]
    assert readmes
    for text in readmes:
        assert not re.search("hand(ed)? in|Submit|hidden grader", text)
        assert "`attn list` shows your progress" in text and "## The shapes" in text


def test_start_again_leaves_work_as_it_is_and_brings_the_rest_up_to_date(workspace: Path) -> None:
    file = put(workspace, softmax=WRONG_SOFTMAX)
    mine = file.read_text(encoding="utf-8")
    (workspace / NAME / EXAMPLES).write_text("{}", encoding="utf-8")
    (workspace / NAME / EARLIER_EXAMPLES).write_text("{}", encoding="utf-8")
    file.with_suffix(".ipynb").unlink()
    run = typed("start", ".", "--exercise", NAME, folder=workspace)
    assert not (workspace / NAME / EARLIER_EXAMPLES).exists()
    assert run.code == RIGHT
    assert f"kept as you left it: {NAME}/{NAME}.py" in run.out and "cd " not in run.out
    assert f"brought up to date: {NAME}/{EXAMPLES}" in run.out
    assert file.read_text(encoding="utf-8") == mine
    assert file.with_suffix(".ipynb").is_file()


def test_start_again_names_the_file_of_the_exercise_that_is_under_way(tmp_path: Path) -> None:
    workspace = start(tmp_path / "work", NAME, "torch_single_head")
    facts = json.loads(progress_file(workspace).read_text(encoding="utf-8"))
    facts["current"] = "torch_single_head"
    progress_file(workspace).write_text(json.dumps(facts), encoding="utf-8")
    again = typed("start", "../work", "--exercise", NAME, folder=workspace).out
    assert "torch_single_head/torch_single_head.py" in again and f"{NAME}/{NAME}.py" not in again


def test_who_installed_into_an_environment_is_told_how_to_enter_it(tmp_path: Path) -> None:
    """`make learn` makes one, and its `attn` is on no path yet."""
    run = subprocess.run(
        [sys.executable, "-m", "autograder.cli", "start", "work"],
        cwd=tmp_path,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == RIGHT, run.stderr
    (typed_first,) = re.findall(r"^Type:\n  source (\S+)$", run.stdout, re.MULTILINE)
    assert Path(typed_first) == Path(sys.prefix, "bin", "activate") and Path(typed_first).is_file()


def test_a_second_workspace_inside_a_workspace_is_refused(workspace: Path) -> None:
    for folder in (workspace, workspace / NAME):
        run = typed("start", "my-attention", folder=folder)
        assert run.code == REFUSED and "inside a workspace" in run.err
        assert f"attn start {workspace}" in run.err and "outside" in run.err
        assert not (folder / "my-attention").exists()


def test_start_refuses_an_exercise_that_is_not_known_and_makes_nothing(tmp_path: Path) -> None:
    run = typed("start", "work", "--exercise", "numpy_two_heads", folder=tmp_path)
    assert run.code == REFUSED and "'numpy_two_heads'" in run.err and NAME in run.err
    assert not (tmp_path / "work").exists()


# --- attn check: what is right, what is wrong ---------------------------------------------------


def test_a_check_names_the_one_thing_to_look_at_its_hint_and_the_next_command(
    workspace: Path,
) -> None:
    put(workspace, softmax=WRONG_SOFTMAX)
    run = typed("check", folder=workspace)
    assert run.code == NOT_ALL and run.err == ""
    assert "✗ softmax" in run.out and "· scale_scores" in run.out
    assert "0 of 11 steps pass, 0 of 22 points." in run.out
    assert "Your softmax runs down the columns" in run.words
    assert "Hint" not in run.out, "the mistake has a name, and the hint may be about another"
    assert "attn check softmax" in run.out and "attn show softmax" in run.out


def test_of_two_mistakes_at_once_the_one_that_the_first_example_shows_is_named(
    workspace: Path,
) -> None:
    put(workspace, softmax=WRONG_SOFTMAX.replace(" - scores.max(-2, keepdims=True)", ""))
    run = typed("check", "softmax", folder=workspace)
    assert run.code == NOT_ALL and run.err == ""
    assert "Your softmax runs down the columns" in run.words
    assert "large scores overflow" not in run.words


def test_the_reference_passes_is_heard_and_then_the_next_exercise_is_named(tmp_path: Path) -> None:
    workspace = start(tmp_path / "work", NAME, "torch_single_head")
    stub_file(workspace).write_text(REFERENCE, encoding="utf-8")
    run = typed("check", NAME, folder=workspace)
    assert run.code == RIGHT
    assert "11 of 11 steps pass, 22 of 22 points." in run.out
    assert "hidden graders" in run.out and run.out.rstrip().endswith(f"attn play {NAME}")
    heard = typed("play", folder=workspace)
    assert heard.code == RIGHT and heard.out.rstrip().endswith(f"attn finish {NAME}")
    finished = typed("finish", NAME, folder=workspace)
    assert finished.code == RIGHT
    assert finished.out.rstrip().endswith("attn check torch_single_head")


def test_json_has_the_same_answer_with_keys_that_stay(workspace: Path) -> None:
    put(workspace, softmax=f"    print('seen')\n{WRONG_SOFTMAX}")
    run = typed("check", f"{NAME}.softmax", "--json", folder=workspace)
    assert run.code == NOT_ALL
    answer = run.document
    facts = "format_version exercise file passes points max_points"
    assert list(answer) == f"{facts} steps next troubles remarks printed".split()
    assert (answer["exercise"], answer["passes"], answer["max_points"]) == (NAME, False, 2)
    (step,) = answer["steps"]
    assert list(step) == "name title passes points max_points checks".split()
    first = step["checks"][0]
    assert list(first) == "title passes finding printed".split()
    assert first["finding"]["misconception"] == "softmax_over_the_queries"
    assert first["printed"] == "seen\n"
    assert answer["next"]["step"] == "softmax" and "down the columns" in answer["next"]["message"]


BAD = {
    "softmax": RIGHT_SOFTMAX,
    "initialize_weights": "    while True:\n        pass",
    "project_qkv": "    import os\n    os._exit(3)",
    "compute_attention_scores": "    import ctypes\n    ctypes.string_at(0)",
    "scale_scores": "    return input('how much? ')",
    "create_causal_mask": "    raise SystemExit",
    "apply_mask": "    while True:\n        print('again and again')",
    "compute_attention_weights": "    return initialize_weights(4, None)",
    "apply_attention": (
        "    while True:\n        try:\n            while True:\n                pass\n"
        "        except BaseException:\n            pass"
    ),
    "project_output": "    return attention_output @ output_weights",
}


def test_a_step_that_calls_a_wrong_one_waits_for_it_at_home(workspace: Path) -> None:
    put(
        workspace,
        softmax="    return scores",
        compute_attention_weights="    return softmax(scores)",
    )
    run = typed("check", "compute_attention_weights", folder=workspace)
    assert run.code == NOT_ALL
    assert "… compute_attention_weights (0/8)" in run.words
    assert "… waits for an earlier step" in run.words and "✗" not in run.words
    assert "So this step waits for step 1. Look there first." in run.words


def test_whatever_a_step_does_costs_only_that_step(workspace: Path) -> None:
    limited(workspace, seconds_per_call=0.5)
    file = put(workspace, **BAD)
    run = typed("check", "--json", folder=workspace)
    assert run.code == NOT_ALL and run.err == ""
    found: dict[str, Any] = {
        step["name"]: next((one["finding"] for one in step["checks"] if one["finding"]), None)
        for step in run.document["steps"]
    }
    outcomes = {name: finding and finding["outcome"] for name, finding in found.items()}
    assert outcomes == {
        "softmax": None,
        "initialize_weights": "timed_out",
        "project_qkv": "crashed",
        "compute_attention_scores": "crashed",
        "scale_scores": "raised",
        "create_causal_mask": "crashed",
        "apply_mask": "output_limit",
        "compute_attention_weights": "waits",
        "apply_attention": "timed_out",
        "project_output": None,
        "SingleHeadAttention": "not_written",
    }
    lines = file.read_text(encoding="utf-8").splitlines()
    loop = next(number for number, line in enumerate(lines, 1) if line == "    while True:")
    told = found["initialize_weights"]["fact"]
    assert re.match(r"`initialize_weights` was still running after [\d.]+ s at line \d+, `", told)
    assert int(re.search(r"line (\d+)", told)[1]) in (loop, loop + 1)  # type: ignore[index]
    assert found["project_qkv"]["details"] == ["exit code 3"]
    assert "SIGSEGV" in found["compute_attention_scores"]["details"][0]
    assert "nobody answers while a check runs" in found["scale_scores"]["fact"]
    assert "printed more than 64 kB" in found["apply_mask"]["fact"]
    assert (
        "calls `initialize_weights`, which does not return"
        in (found["compute_attention_weights"]["fact"])
    )
    # Nothing interrupts it; the line is told all the same.
    assert re.search(
        r"still running after [\d.]+ s at line \d+, `", found["apply_attention"]["fact"]
    )


@pytest.mark.parametrize(
    "top, told",
    [
        ("while True:\n    pass", "The top of your file was still running after"),
        ("import time\ntime.sleep(600)", "The top of your file was still running after"),
        ("import os\nos._exit(0)", "The top of your file ends Python"),
        ("exit()", "The top of your file ends Python at line"),
        ("print('x' * 10**6)", "The top of your file printed more than 64 kB at line"),
        ("1 / 0", "raises `ZeroDivisionError: division by zero`."),
        ("def broken(:\n    pass", "Python cannot read this yet: SyntaxError, line"),
    ],
)
def test_what_the_top_of_a_file_does_is_told_before_the_steps(
    workspace: Path, top: str, told: str
) -> None:
    limited(workspace, seconds_per_submission=1)
    file = put(workspace, softmax=RIGHT_SOFTMAX)
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"\n\n# %%\n{top}\n")
    run = typed("check", folder=workspace)
    assert run.code == NOT_ALL and run.err == ""
    assert told in run.words
    # What stands above it was run, unless Python itself was ended.
    assert "os._exit" in top or re.search(r"✓ softmax \((\d+)/\1\)", run.out)


def test_what_the_code_prints_is_shown_apart_and_cut(workspace: Path) -> None:
    body = "    for number in range(40):\n        print('line', number, '\\x1b[31m')"
    put(workspace, softmax=f"{body}\n{WRONG_SOFTMAX}")
    run = typed("check", "softmax", folder=workspace)
    assert "Your code printed:\n  | line 0 \n  | line 1 \n" in run.out
    assert "| line 11" in run.out and "| line 12" not in run.out
    assert "… and 28 more lines" in run.out and "\x1b[31m" not in run.out


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system bounds memory")
def test_an_array_far_too_large_ends_in_words(workspace: Path) -> None:
    put(workspace, softmax="    return np.empty(4 * 10**8)")
    run = typed("check", "softmax", folder=workspace)
    assert run.code == NOT_ALL
    assert "It asked for more memory" in run.words or "Unable to allocate" in run.words


def test_the_parent_of_a_check_loads_neither_numpy_nor_torch(workspace: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nimport autograder.cli.command_line\n"
        "from autograder.learning import once\nfrom autograder.cli.kit import out\n"
        "once.check(Path(sys.argv[1]), None, out(), print)\n"
        "print('loaded', {'numpy', 'torch', 'pytest'} & set(sys.modules))"
    )
    run = attn("-c", code, workspace, folder=workspace, command=sys.executable)
    assert run.code == RIGHT, run.err
    assert run.out.rstrip().endswith("loaded set()")


# --- which exercise, which step -----------------------------------------------------------------


def test_a_step_is_found_by_its_name_from_anywhere_in_the_workspace(tmp_path: Path) -> None:
    workspace = start(tmp_path / "work", NAME, "torch_single_head", "vit_multi_head")
    deep = workspace / NAME / "notes" / "more"
    deep.mkdir(parents=True)
    assert "· softmax" in typed("check", "softmax", folder=deep).out
    other = typed("hint", "vit_multi_head.apply_attention", folder=deep)
    assert other.code == RIGHT and "apply_attention" in other.out


def test_a_name_that_two_exercises_have_is_asked_back(tmp_path: Path) -> None:
    workspace = start(tmp_path / "work", NAME, "torch_multi_head", "vit_multi_head")
    run = typed("hint", "split_heads", folder=workspace)
    assert run.code == REFUSED
    assert "torch_multi_head.split_heads, vit_multi_head.split_heads" in run.err


def test_away_from_a_workspace_it_is_said_how_to_get_one(tmp_path: Path) -> None:
    for command in ("check", "list", "hint", "watch"):
        run = typed(command, folder=tmp_path)
        assert run.code == REFUSED and "attn start" in run.err, command


def test_beside_a_workspace_the_way_into_it_is_named(workspace: Path) -> None:
    run = typed("check", folder=workspace.parent)
    assert run.code == REFUSED and f"cd {workspace.name}" in run.err and "start" not in run.err
    assert f"  cd {workspace.name}\n    has exercises" in typed(folder=workspace.parent).out


REFUSED_WORDS = {  # what is typed, and what is told, in parts
    "test": "Did you mean: attn check",
    "next": "Did you mean: attn, which says",
    "chek": "Did you mean: attn check",
    f"check {NAME} 9": f"write: attn check {NAME}.9",
    f"read {NAME} 9": f"write: attn read {NAME}.9",
    f"hint {NAME} 9": f"write: attn hint {NAME}.9",
    f"watch {NAME} 9": f"write: attn watch {NAME}.9",
    f"hint {SCRIPT}": f"{SCRIPT} is a file, and this command is about",
    f"show {SCRIPT}": f"{SCRIPT} is a file, and this command is about",
    f"finish {SCRIPT}": f"{SCRIPT} is a file, and this command is about",
    f"play {SCRIPT}": f"{SCRIPT} is a file, and this command is about",
    f"check {SCRIPT} --debug": "this command is about a step",
    "play numpy_single_hed": f"there is no exercise 'numpy_single_hed' … did you mean {NAME}?",
    "finish numpy_single_hed": f"there is no exercise 'numpy_single_hed' … did you mean {NAME}?",
    "check Softmax": "did you mean softmax? Otherwise",
    "check create_causal": "did you mean create_causal_mask? Otherwise",
    f"check {NAME}.sofmax": "did you mean softmax? Otherwise",
    "check numpy_single": f"did you mean {NAME}? Otherwise",
    "check split_head": "did you mean vit_multi_head.split_heads? Otherwise",
    "hint xyz": "use one of: softmax",
    "check 0": f"there is no step 0 in {NAME} … cure: use a number from 1 to 11; attn list shows",
    "check 12": f"there is no step 12 in {NAME} … cure: use a number from 1 to 11; attn list shows",
    f"check {NAME}.99": f"there is no step 99 in {NAME} … cure: use a number from 1 to 11",
    "check ٣": "there is no step '٣'",
}


@pytest.mark.parametrize("words", REFUSED_WORDS)
def test_words_that_mean_nothing_here_are_answered_with_what_to_type(
    two_exercises: Path, words: str
) -> None:
    run = typed(*words.split(), folder=two_exercises)
    assert run.code == REFUSED and run.out == ""
    err, told = " ".join(run.err.split()), REFUSED_WORDS[words]
    assert all(each in err for each in told.split(" … ")), err
    assert ("did you mean" in err) == ("did you mean" in told)
    if "Did you mean" in told:
        assert not re.search("reset|export", err), "none that does harm"


# --- progress, hints ----------------------------------------------------------------------------


def test_hints_come_rung_by_rung_are_remembered_and_the_last_is_shown_again(
    workspace: Path,
) -> None:
    none = typed("hint", "softmax", "--again", folder=workspace)
    assert none.code == RIGHT and "There was no hint for softmax yet." in none.out
    runs = []
    for number in (1, 2, 3, 4, 5, 5):
        runs.append(typed("hint", "softmax", folder=workspace))
        again = typed("hint", "softmax", "--again", folder=workspace)
        assert again.out == runs[number - 1].out, "and it is not the next"
    assert [re.findall(r"Hint (\d) of 5:", run.out) for run in runs] == [
        *map(list, "12345"),
        [*"123"],
    ]
    left = [re.findall(r"(\d) more if you ask again", run.out) for run in runs[:4]]
    assert left == [["4"], ["3"], ["2"], ["1"]]
    assert "lines of code to sort, then the step with a gap." in runs[2].words
    assert "3 of these 6 lines make this step" in runs[3].words
    assert "____" in runs[4].out and "That was the last one." in runs[4].out
    assert "Those are all the hints" in runs[5].out and "____" in runs[5].out
    assert "softmax 2 points, about 10 minutes, 5 hints" in typed("list", folder=workspace).words
    assert "Hint" not in typed("check", "softmax", folder=workspace).out, "it is not told again"


def test_the_list_tells_points_minutes_difficulty_and_how_far_one_is(workspace: Path) -> None:
    put(workspace, softmax=RIGHT_SOFTMAX)
    assert typed("check", folder=workspace).code == NOT_ALL
    out = typed("list", folder=workspace).out
    assert "━········· 1 of 11 steps, 2 of 22 points" in out
    assert "about 75 minutes left, difficulty 1 of 3" in out
    assert "✓ 1 softmax" in out and "· 2 initialize_weights" in out
    # Without a step, a hint is for the first one that is open.
    assert "initialize_weights" in typed("hint", folder=workspace).out


def test_progress_keeps_what_this_version_does_not_know(workspace: Path) -> None:
    facts = {
        "version": 9,
        "streak": 4,
        "exercises": {NAME: {"softmax": {"hints": 2, "stars": 5}, "gone": {"passed": True}}},
    }
    progress_file(workspace).write_text(json.dumps(facts), encoding="utf-8")
    assert "Hint 3 of 5" in typed("hint", "softmax", folder=workspace).out
    kept = json.loads(progress_file(workspace).read_text(encoding="utf-8"))
    assert (kept["version"], kept["streak"]) == (9, 4)
    assert kept["exercises"][NAME]["softmax"]["stars"] == 5
    assert kept["exercises"][NAME]["gone"] == {"passed": True}


@pytest.mark.parametrize("text", ["{", "[]", "\x00\xff", '{"exercises": 5, "current": []}'])
def test_a_broken_record_of_progress_is_never_a_crash(workspace: Path, text: str) -> None:
    progress_file(workspace).write_bytes(text.encode("latin-1"))
    run = typed("hint", "softmax", folder=workspace)
    assert run.code == RIGHT and "Hint 1 of 5" in run.out
    aside = list(progress_file(workspace).parent.glob("*.unreadable-*"))
    if not text.startswith('{"'):
        assert [path.read_bytes() for path in aside] == [text.encode("latin-1")]
        assert "could not be read" in run.err and "Your code is untouched" in run.err
    assert "Hint 2 of 5" in typed("hint", "softmax", folder=workspace).out


def test_where_progress_cannot_be_saved_a_check_has_its_answer_all_the_same(
    workspace: Path,
) -> None:
    shutil.rmtree(progress_file(workspace).parent)
    progress_file(workspace).parent.write_text("not a folder", encoding="utf-8")
    run = typed("check", "softmax", folder=workspace / NAME)
    assert run.code == NOT_ALL and "Next: softmax" in run.out


# --- attn show, solution, reset -----------------------------------------------------------------


def test_show_draws_yours_expected_and_the_difference(workspace: Path) -> None:
    put(workspace, softmax=WRONG_SOFTMAX)
    picture = workspace / "softmax.svg"
    run = typed("show", "softmax", "--save", picture, folder=workspace, COLUMNS="80")
    assert run.code == RIGHT, run.err
    assert "Your “it” gives “cat” 0.30, and 0.63 is expected." in run.out
    assert all(re.search(rf"^{each}\b", run.out, re.M) for each in ("yours", "expected", "it"))
    assert "0.30" in run.out and "0.63" in run.out and "-0.33" in run.out
    assert picture.read_text(encoding="utf-8").lstrip().startswith("<?xml")
    random = typed("show", "initialize_weights", folder=workspace)
    assert "draws random numbers" in random.words


def test_a_solution_is_shown_after_the_step_passes_or_after_a_yes(workspace: Path) -> None:
    closed = typed("hint", "softmax", "--solution", folder=workspace, keys="n\n")
    assert closed.code == NOT_ALL and "stays closed" in closed.out and "exp" not in closed.out
    opened = typed("hint", "softmax", "--solution", folder=workspace, keys="y\n")
    assert opened.code == RIGHT and "keepdims=True" in opened.out
    assert "BEGIN SOLUTION" not in opened.out and "def initialize_weights" not in opened.out
    assert "solution shown" in typed("list", folder=workspace).out
    put(workspace, scale_scores="    return attention_scores / np.sqrt(embedding_dimension)")
    assert typed("check", "scale_scores", folder=workspace).code == RIGHT
    free = typed("hint", "scale_scores", "--solution", folder=workspace)
    assert free.code == RIGHT and "sqrt" in free.out and "?" not in free.out
    listed = typed("list", folder=workspace).out
    assert listed.count("solution shown") == 1, "after a pass, it is no help any more"


def test_where_nobody_answers_it_is_a_no_in_words(workspace: Path) -> None:
    file = put(workspace, softmax=WRONG_SOFTMAX)
    mine = file.read_text(encoding="utf-8")
    reset = typed("reset", "softmax", folder=workspace)
    assert reset.code == NOT_ALL and "Nothing was changed." in reset.out
    assert "--yes" in reset.err and "Aborted" not in reset.err
    assert file.read_text(encoding="utf-8") == mine
    solution = typed("hint", "softmax", "--solution", folder=workspace)
    assert solution.code == NOT_ALL and "stays closed" in solution.out


def test_reset_puts_one_step_back_and_keeps_a_copy(workspace: Path) -> None:
    stub = stub_file(workspace).read_text(encoding="utf-8")
    file = put(workspace, softmax=WRONG_SOFTMAX, project_output="    return 1")
    with file.open("a", encoding="utf-8") as stream:
        stream.write("\n\ndef softmax(scores):\n    return scores\n")
    mine = file.read_text(encoding="utf-8")
    no = typed("reset", "softmax", folder=workspace, keys="n\n")
    assert no.code == NOT_ALL and file.read_text(encoding="utf-8") == mine
    yes = typed("reset", "softmax", folder=workspace, keys="y\n")
    assert yes.code == RIGHT
    expected = written(stub, project_output="    return 1")
    assert file.read_text(encoding="utf-8").rstrip() == expected.rstrip()
    (copy,) = (workspace / ".attn" / "kept").iterdir()
    assert copy.read_text(encoding="utf-8") == mine and copy.name in yes.words.replace(" ", "")


# --- every screen -------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["40", "80"])
def test_it_reads_on_a_narrow_screen_without_color_and_a_wrapped_line_stays_indented(
    workspace: Path, columns: str
) -> None:
    put(workspace, softmax=f"    print('seen')\n{WRONG_SOFTMAX}")
    shown = {}
    for words in ("check", "list", "hint softmax", "show softmax"):
        run = typed(*words.split(), folder=workspace, COLUMNS=columns, NO_COLOR="1", TERM="dumb")
        assert "\x1b" not in run.out
        shown[words] = run.out.splitlines()
        assert [line for line in shown[words] if len(line) > int(columns)] == [], words
        if words != "show softmax":
            assert [line for line in shown[words] if line != line.rstrip()] == [], words
    listed = shown["list"][1:-1]
    assert all(line.startswith("  ") for line in listed), listed
    after = shown["check"][shown["check"].index("Next: softmax") + 1 :]
    assert all(line[:2] in ("", "  ") for line in after), after


def test_a_hint_that_a_check_shows_is_no_help_and_is_not_told_again_as_the_next(
    workspace: Path,
) -> None:
    for _ in range(2):
        assert "Hint 1 of 5" in typed("check", "softmax", folder=workspace).out
    assert "hint" not in typed("list", folder=workspace).out
    assert "Hint 2 of 5" in typed("hint", "softmax", folder=workspace).out
    assert "about 10 minutes, 2 hints" in typed("list", folder=workspace).words


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("    return scores +", "Python cannot read this yet"),
        ("    raise ValueError('mine')", "raises `ValueError: mine`"),
        ("    print(scores)", "without a `return`"),
        (
            "    scores = scores + 1\n    print(scores)",
            "prints the result; `return` gives it to the caller.",
        ),
        ("    scores -= 1\n" + RIGHT_SOFTMAX, "in place"),
        (RIGHT_SOFTMAX.replace(" - scores.max(-1, keepdims=True)", ""), "softmax"),
    ],
)
def test_where_a_check_says_what_is_wrong_no_hint_is_about_something_else(
    workspace: Path, body: str, told: str
) -> None:
    put(workspace, softmax=body)
    run = typed("check", "softmax", folder=workspace)
    assert run.code == NOT_ALL and told in run.words and "Hint" not in run.out, run.out
    assert run.words.count("Python cannot read this yet") == told.count("Python cannot read")


# --- numbers of steps ---------------------------------------------------------------------------


def test_the_number_of_a_step_is_a_name_for_it(workspace: Path) -> None:
    put(workspace, project_qkv="    return 1")
    assert "✗ project_qkv" in typed("check", "3", folder=workspace).out
    assert "✗ project_qkv" in typed("check", f"{NAME}.3", folder=workspace).out
    assert "project_qkv: " in typed("hint", "3", folder=workspace).out
    assert "The check: " in typed("show", "3", folder=workspace).out
    assert "def project_qkv" in typed("hint", "3", "--solution", "--yes", folder=workspace).out
    asked = typed("reset", "3", folder=workspace, keys="y\n")
    assert asked.code == RIGHT and "the stub of project_qkv back into" in asked.out
    assert "return 1" not in stub_file(workspace).read_text(encoding="utf-8")


def test_where_there_is_nothing_to_draw_it_is_told_why(workspace: Path) -> None:
    put(workspace, softmax="    return scores[5, 7]")
    shown = typed("show", "softmax", folder=workspace).words
    assert "raises `IndexError: index 5 is out of bounds" in shown
    assert "Your code gave no array here." in shown


def test_hints_after_a_pass_are_given_one_by_one_and_are_no_help(workspace: Path) -> None:
    put(workspace, softmax=RIGHT_SOFTMAX)
    assert typed("check", "softmax", folder=workspace).code == RIGHT
    for number in (1, 2):
        assert f"Hint {number} of 5" in typed("hint", "softmax", folder=workspace).out
    (softmax,) = (
        line for line in typed("list", folder=workspace).out.splitlines() if "1 soft" in line
    )
    assert "✓" in softmax and "hint" not in softmax


@pytest.mark.parametrize("here", ["", NAME])
def test_every_command_that_is_printed_is_about_the_exercise_that_was_named(
    tmp_path: Path, here: str
) -> None:
    workspace = start(tmp_path / "work", NAME, "torch_single_head")
    name = "torch_single_head.scale_scores"
    typed_words = [*[("hint", name)] * 6, ("read", name), ("hint", name, "--order")]
    outputs = [typed(*words, folder=workspace / here).out for words in typed_words]
    if here:  # elsewhere, a check makes its exercise the current one
        outputs.append(typed("check", name, folder=workspace / here).out)
    found = re.findall(r"^ *attn (\w+) (\S+) ?(--\w+|)", "".join(outputs), re.MULTILINE)
    asked = {(command, option) for command, _, option in found}
    assert {
        ("hint", "--order"),
        ("hint", "--solution"),
        ("read", "--answers"),
        ("check", ""),
    } <= asked
    assert {step for _, step, _ in found} == {name}
    typed("check", name, folder=workspace / here)
    after = typed("check", name, folder=workspace / here).out
    assert f"attn check {name if here else 'scale_scores'}\n    after" in after
