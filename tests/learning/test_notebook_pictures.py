"""The pictures in a notebook: under a check, and in the last cells, where the layer is at work.

The notebooks are the released ones, with the reference, nothing, or something wrong in place
of the steps, and run by the kernel that students have.
"""

from __future__ import annotations

import random
import re
import runpy
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import numpy as np
import pytest
import torch

from autograder.checks.reference import Reference, read_reference
from autograder.course.page import clean_html
from autograder.judging.examples import write_examples
from autograder.judging.inprocess import undisturbed
from autograder.learning.notebook_check import Check, NotRightYet, StepReport, open_exercise
from autograder.learning.notebook_layer import show_numbers
from autograder.learning.step_lesson import lesson_of
from autograder.play.training_cell import train
from autograder.reports.finding import html
from autograder.reports.picture import is_attention
from autograder.submission.reading import read_submission
from autograder.values.symbols import HIDDEN
from support.learner_workspace import ROOT
from support.reference_steps import reference_steps
from support.typed_commands import printed

NAMES = ("numpy_single_head", "torch_single_head", "torch_multi_head", "vit_multi_head")
STRETCH = "stretch_steps"
WORDS = "the cat slept because it was tired".split()
CLASSES = {
    "numpy_single_head": "SingleHeadAttention",
    "torch_single_head": "SingleHeadAttention",
    "torch_multi_head": "MultiHeadAttention",
    "vit_multi_head": "MultiHeadSelfAttention",
    STRETCH: "CrossAttention",
}


@cache
def reference(name: str) -> Reference:
    return read_reference(ROOT / "solutions" / name)


def notebook(name: str, changes: dict[str, str]) -> nbformat.NotebookNode:
    """The released notebook, with these sources in place of its steps."""
    read: nbformat.NotebookNode = nbformat.read(
        ROOT / "assignments" / name / f"{name}.ipynb", as_version=4
    )
    for cell in read.cells:
        facts = cell.metadata.get("nbgrader", {})
        if facts.get("solution") and facts["grade_id"] in changes:
            cell.source = changes[facts["grade_id"]]
    return read


def code(read: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in read.cells if cell.cell_type == "code"]


def stubs(name: str) -> dict[str, str]:
    """The source of every step, as it is handed out."""
    return {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in code(notebook(name, {}))
        if cell.metadata.get("nbgrader", {}).get("solution")
    }


def last_cells(read: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The cells below the last check."""
    cells = code(read)
    checks = [n for n, cell in enumerate(cells) if cell.metadata.get("nbgrader", {}).get("grade")]
    return cells[checks[-1] + 1 :]


@dataclass(frozen=True)
class Ran:
    """What the last cells of a notebook print when they run in one namespace with its steps."""

    printed: str
    names: dict[str, Any]


@pytest.fixture
def run_last_cells(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """Run them, where each training has only three steps."""
    monkeypatch.setattr("autograder.play.training_cell.train", partial(train, most_steps=3))

    def run(name: str, **changes: str) -> Ran:
        read = notebook(name, reference_steps(name) | changes)
        checks = [
            cell
            for cell in code(read)
            if not cell.metadata.get("nbgrader", {}).get("locked") and cell.id != "closing"
        ]
        names: dict[str, Any] = {"__name__": "__main__"}
        with undisturbed():
            for cell in checks:
                exec(compile(cell.source, cell.id, "exec"), names)
        return Ran(printed(capsys), names)

    return run


def check_of(name: str) -> Check:
    return open_exercise(name, ROOT / "assignments" / name)


# --- the notebooks, from top to bottom ----------------------------------------------------------


@pytest.fixture
def quiet_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """IPython and Jupyter keep what they write of themselves out of the home directory."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    yield


# A kernel with PyTorch takes seconds: one exercise of each library is quick, the others are slow.
RUN = [name if name == NAMES[0] else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]


@pytest.mark.usefixtures("quiet_kernel")
@pytest.mark.parametrize("name", RUN)
def test_with_the_reference_in_place_a_notebook_runs_draws_and_says_nothing_on_stderr(
    name: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(ROOT / "assignments" / name, tmp_path / name)
    read = notebook(name, reference_steps(name))
    nbclient.NotebookClient(
        read, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    everything = [output for cell in code(read) for output in cell.outputs]
    assert [each for each in everything if each.get("name") == "stderr"] == []
    assert {each.output_type for each in everything} <= {"display_data", "stream"}
    for step in reference(name).exercise.steps:
        (check,) = (cell for cell in code(read) if cell.id == f"check-{step.name}")
        words = check.outputs[0].data["text/plain"]
        counted = re.search(rf"{step.name}: (\d+) of (\d+) checks pass", words)
        assert counted and counted[1] == counted[2] and HIDDEN in words
    *cells, closing = last_cells(read)
    shown = [output for cell in cells for output in cell.outputs]
    displayed = [each.data for each in shown if each.output_type == "display_data"]
    pictures = [data for data in displayed if "<table" in data["text/html"]]
    (told,) = closing.outputs
    steps = reference(name).exercise.steps
    assert f"all {len(steps)} steps are done" in told.data["text/html"].replace("\n", " ")
    assert pictures
    learned = [each for each in pictures if "learns to" in each["text/plain"]]
    assert len(learned) == len(reference(name).exercise.trainings)  # each one output, renewed
    assert all("<svg" in each["text/html"] and "step" in each["text/plain"] for each in learned)
    for data in pictures:
        rows = "looks, block" if data in learned else "query ↓"
        assert rows in data["text/plain"]
    said = " ".join(" ".join(data["text/plain"].split()) for data in displayed)
    assert "largest difference" in said and "equal, up to rounding" in said
    assert said.count("Your layer has learned it.") >= min(1, len(learned))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_begins_with_the_way_through_its_steps(name: str) -> None:
    titles = [step.title for step in reference(name).exercise.steps]
    way = next(cell.source for cell in notebook(name, {}).cells if cell.id == "setup-steps")
    assert re.findall(r"^\d+\. (.*?): `", way, re.MULTILINE) == titles


# --- under a check ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_step_that_gives_queries_by_keys_shows_the_learners_own(name: str) -> None:
    check, module = check_of(name), reference(name).module
    for step in check.exercise.steps:
        forms = [e.expectation.form for e in check.examples if e.step == step.name]
        gives = any(axes and is_attention(axes) for form in forms for axes in form.axes)
        shown = check(getattr(module, step.name))
        titles = [panel.title for panel in shown.picture.panels if not panel.bars]
        assert titles == ([f"your {step.name}"] if gives else []), step.name
        if gives:
            assert shown.picture.panels[-1].axes == ("query", "key")
            token = "sun" if name == "vit_multi_head" else "slept"
            assert token in repr(shown) and token in shown._repr_html_()
        assert HIDDEN in repr(shown) and HIDDEN in shown._repr_html_()


@pytest.mark.parametrize("step", ["create_causal_mask", "apply_mask", "compute_attention_weights"])
def test_the_causal_triangle_is_seen(step: str) -> None:
    check = check_of("numpy_single_head")
    shown = check(getattr(reference("numpy_single_head").module, step))
    cells = shown.picture.panels[-1].cells
    forbidden = {cells[i][j] for i in range(3) for j in range(3) if j > i}
    allowed = {cells[i][j] for i in range(3) for j in range(3) if j <= i}
    assert forbidden == ({"-1e9"} if step == "apply_mask" else {"0"})
    assert not forbidden & allowed


def wrong(check: Check, step: Any) -> StepReport:
    with pytest.raises(NotRightYet) as caught:
        check(step)
    return caught.value.report


def test_where_values_differ_yours_stands_beside_what_is_due() -> None:
    def scale_scores(attention_scores: Any, embedding_dimension: int) -> Any:
        return attention_scores / embedding_dimension

    check = check_of("numpy_single_head")
    of_step = [each for each in check.examples if each.step == "scale_scores"]
    asked = next(each.request for each in of_step if each.expectation.form.tokens)
    shown = wrong(check, scale_scores)
    row, yours, expected = shown.picture.panels
    assert (row.title, yours.title, expected.title) == ("“it”", "yours", "expected")
    assert row.labels[0] == ("yours", "expected", "difference")
    assert np.allclose(np.sqrt(asked.arguments[1]) * yours.values, expected.values)
    assert np.allclose(
        row.values, [yours.values[4], expected.values[4], row.values[0] - row.values[1]]
    )
    for text in ("\n".join(shown.lines()), str(NotRightYet(shown)), shown._repr_html_()):
        assert "expected" in text and "query ↓" in text and "slept" in text
        assert "your “it” gives “cat” 2.00, and 3.46 is expected" in " ".join(text.split())


def test_of_several_results_the_one_that_differs_is_drawn_by_its_name() -> None:
    def project_qkv(x: Any, query: Any, key: Any, value: Any) -> Any:
        return x @ query, x @ key, x @ key

    picture = wrong(check_of("numpy_single_head"), project_qkv).picture
    assert "`values`" in picture.caption and picture.panels[-1].axes == ("S", "D")


@pytest.mark.parametrize("result", [lambda s: s[:, :1], lambda s: None, lambda s: s.astype(int)])
def test_where_the_shape_or_type_is_wrong_there_is_nothing_to_draw(result: Any) -> None:
    def softmax(scores: Any) -> Any:
        return result(scores)

    shown = wrong(check_of("numpy_single_head"), softmax)
    assert (
        shown.picture.panels == ()
        and shown.card.step.finding.parts
        and "<table" not in shown._repr_html_()
    )


def test_a_card_stays_a_card_where_nbgraders_feedback_takes_its_styles_out() -> None:
    def softmax(scores: Any) -> Any:
        return np.full_like(scores, np.nan)

    page = clean_html(wrong(check_of("numpy_single_head"), softmax)._repr_html_())
    assert "&lt;" not in page and "<td>NaN</td>" in page and "<details>" in page


# --- the order of a card ------------------------------------------------------------------------


def test_a_card_leads_with_what_is_right_then_the_one_thing_to_look_at_and_folds_its_checks() -> (
    None
):
    def softmax(scores: Any) -> Any:
        exponentials = np.exp(scores)
        return exponentials / exponentials.sum(axis=-1, keepdims=True)

    shown = wrong(check_of("numpy_single_head"), softmax)
    page = shown._repr_html_()
    order = [
        "✓ The shape of the result is right",
        "<strong style='display:block;margin:.4em 0'>Your softmax exponentiates large scores",
        "In the check “scores as large",
        "<table",
        "<summary>Hint 1 of 3",
        "<summary>softmax: 2 of 9 checks pass.</summary>",
        "✓ every row of scores becomes weights",
        "✗ scores as large as 10 000",
        "… 5 more checks come when these pass",
    ]
    places = [page.index(each) for each in order]
    assert places == sorted(places)
    before, _, folded = page.partition("2 of 9 checks pass.</summary>")
    assert "✗" not in before and folded.index("</details>") > folded.index("… 5 more")
    text = "\n".join(shown.lines())
    assert text.index("✓ The shape") < text.index("Your softmax") < text.index("2 of 9 checks")


def test_where_a_finding_says_nothing_of_what_is_right_the_checks_that_pass_do() -> None:
    known = reference("numpy_single_head").module.softmax

    def softmax(scores: Any) -> Any:
        if scores.dtype == np.float32:
            raise ValueError("stop")
        return known(scores)

    lines = wrong(check_of("numpy_single_head"), softmax).lines()
    told = "✓ Every row of scores becomes weights that sum to 1, and 4 more checks."
    assert lines[0] == told and "ValueError" in lines[1]


@pytest.mark.parametrize("name", NAMES)
def test_below_the_check_of_every_step_stands_the_question_of_its_lesson(name: str) -> None:
    cells = notebook(name, {}).cells
    for step in check_of(name).exercise.steps:
        asked = lesson_of(check_of(name).exercise, step.name).after
        below = 1 + next(n for n, cell in enumerate(cells) if cell.source == f"check({step.name})")
        assert asked and html(asked.question) in cells[below].source


# --- a check disturbs nothing -------------------------------------------------------------------


def state() -> list[Any]:
    """All that a learner's next cell could notice."""
    bits = np.random.get_state(legacy=False)
    return [
        random.getstate(),
        (bits["state"]["key"].tolist(), bits["state"]["pos"]),
        np.geterr(),
        np.get_printoptions(),
        torch.get_rng_state().tolist(),
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
    ]


def undisturbed_state() -> list[Any]:
    """The state after draws and settings of the learner's own: none that `disturb` leaves."""
    np.seterr(all="warn", under="ignore")  # as NumPy starts: later tests see what is left here
    np.set_printoptions(precision=8)
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    random.random()
    np.random.random()
    torch.rand(1)
    return state()


def disturb() -> None:
    random.seed(1)
    np.random.seed(1)
    np.random.normal()
    np.seterr(divide="raise")
    np.set_printoptions(precision=1)
    torch.manual_seed(1)
    torch.rand(3)
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)


def test_without_protection_the_code_that_disturbs_does_disturb() -> None:
    with undisturbed():
        before = undisturbed_state()
        disturb()
        assert all(one != two for one, two in zip(before, state()))


@pytest.mark.parametrize("right", [True, False], ids=["right values", "wrong values"])
def test_a_check_leaves_the_random_state_and_every_setting_as_they_were(right: bool) -> None:
    known = reference("numpy_single_head").module.softmax

    def softmax(scores: Any) -> Any:
        disturb()
        return known(scores) if right else scores

    before = undisturbed_state()
    wrong(check_of("numpy_single_head"), softmax)  # to set a seed is wrong, too
    assert state() == before


def test_a_check_that_draws_weights_leaves_the_learners_generator_where_it_was() -> None:
    before = undisturbed_state()
    check_of("torch_multi_head")(reference("torch_multi_head").module.MultiHeadAttention)
    check_of("numpy_single_head")(reference("numpy_single_head").module.initialize_weights)
    assert state() == before


def test_a_check_asks_the_same_again_after_code_that_overwrites_its_input() -> None:
    def softmax(scores: Any) -> Any:
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return scores

    check = check_of("numpy_single_head")
    before = write_examples(check.exercise.name, check.examples)
    first = wrong(check, softmax)
    assert write_examples(check.exercise.name, check.examples) == before
    assert repr(replace(wrong(check, softmax), remarks=())) == repr(first)


# --- the last cells -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_step_that_is_not_written_is_named_in_one_sentence(
    name: str, run_last_cells: Callable[..., Ran]
) -> None:
    nothing = run_last_cells(name, **stubs(name)).printed
    assert f"No picture yet: `{CLASSES[name]}.__init__` is not written yet." in nothing
    assert f"No comparison yet: `{CLASSES[name]}.__init__` is not written yet." in nothing
    almost = run_last_cells(name, apply_attention=stubs(name)["apply_attention"]).printed
    assert "No picture yet: `apply_attention` is not written yet." in almost


def test_the_stretch_steps_end_beside_the_library_and_a_table_of_numbers(
    run_last_cells: Callable[..., Ran],
) -> None:
    printed = run_last_cells(STRETCH).printed
    assert "that of nn.MultiheadAttention" in printed and "equal, up to rounding" in printed
    assert "spread / D 1 " in printed  # which the script prints, too: test_stretch_steps.py


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (
            {"D": np.arange(3), "spread": np.arange(2)},
            "the columns have different shapes: (3,), (2,).",
        ),
        ({"D": "abc"}, "your layer gives an object of type str"),
        (
            {"D": np.ones((2, 2)), "spread": np.ones((2, 2))},
            "a column has the shape (2, 2), but one axis is expected.",
        ),
    ],
)
def test_numbers_that_make_no_table_are_told_in_one_sentence(
    columns: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_numbers(lambda: columns)
    assert printed(capsys).startswith(f"No numbers yet: {told}")


def test_without_the_bonus_the_other_pictures_are_there(
    run_last_cells: Callable[..., Ran],
) -> None:
    step = "CausalMultiHeadAttention"
    stub = stubs("torch_multi_head")
    printed = run_last_cells("torch_multi_head", **{step: stub[step]}).printed
    assert f"No picture yet: `{step}.forward` is not written yet." in printed
    assert "head 1: key" in printed and "equal, up to rounding" in printed
    assert "is your layer. step 0 loss" in printed and "step 3 loss" in printed


HEADS = "def merge_heads(attention_output):\n    {}\n"
UNSCALED = "def scale_scores(attention_scores, embedding_dimension):\n    return attention_scores\n"
SHARES = "def compute_attention_weights(scaled_scores):\n    return 3 * scaled_scores.softmax(-1)\n"
SHOWN = "def hide_padding(scaled_scores, padding_mask):\n    return scaled_scores\n"
WRONG = {  # an exercise, a step, and what is told, in parts
    "it raises": (
        "vit_multi_head",
        HEADS.format("raise ValueError('axes')"),
        "your layer stops with ValueError: axes.",
    ),
    "it uses what is not there": (
        "vit_multi_head",
        HEADS.format("return missing"),
        "there is no `missing`: is the code there that defines it, and has it run?",
    ),
    "it gives one token": (
        "vit_multi_head",
        HEADS.format("return attention_output[0, 0]"),
        "No picture yet:",
    ),
    "it gives three times as much": (
        "vit_multi_head",
        HEADS.format("return 3 * attention_output.permute(0, 2, 1, 3).flatten(2)"),
        "0.48) is expected. Which",
    ),
    "its weights are no shares": ("vit_multi_head", SHARES, "sums to 3, but its shares"),
    "its scores are not scaled": (
        "numpy_single_head",
        UNSCALED,
        "of “it”, but (3.50, 0.57, 0.51) is expected. Which … more than rounding can explain",
    ),
    "it sees the padding": (STRETCH, SHOWN, "more than rounding can explain"),
}


@pytest.mark.parametrize(("name", "source", "said"), WRONG.values(), ids=WRONG)
def test_a_layer_that_is_wrong_is_told_is_not_called_equal_and_never_raises(
    name: str, source: str, said: str, run_last_cells: Callable[..., Ran]
) -> None:
    step = source.removeprefix("def ").partition("(")[0]
    printed = run_last_cells(name, **{step: source}).printed
    assert all(each in printed for each in said.split(" … ")), printed
    assert "equal, up to rounding" not in printed


def test_without_pytorch_the_comparison_says_so(
    run_last_cells: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "torch"]:
        monkeypatch.setitem(sys.modules, module, None)
    printed = run_last_cells("numpy_single_head").printed
    assert "PyTorch is not installed here" in printed and "where each token looks" in printed


FOLLOWED = {  # of the walkthrough: what was worked out by hand, and the same unrounded
    "numpy_single_head": ("result[IT]", "causal[IT]"),
    "torch_single_head": ("result[IT, :head_dim]", "exact[IT, :head_dim]"),
    "torch_multi_head": ("result[IT]", "unmasked[IT]"),
    "vit_multi_head": ("result[CLASS]", "exact[CLASS]"),
}


@pytest.mark.parametrize("name", NAMES)
def test_what_was_followed_by_hand_comes_out_of_the_learners_layer_and_is_drawn(
    name: str, run_last_cells: Callable[..., Ran]
) -> None:
    """The numbers are those of the lesson: the same sentence, the same matrices."""
    walkthrough = runpy.run_path(str(ROOT / "solutions" / name / "walkthrough.py"))
    by_hand, exact = (eval(f"vector({row})", walkthrough) for row in FOLLOWED[name])
    printed = run_last_cells(name).printed
    words = "[class] sky sun grass cow".split() if name.startswith("vit") else WORDS
    token = words[0] if name.startswith("vit") else "it"
    assert f"Your layer makes {exact} of “{token}”. By hand it was {by_hand}: there" in printed
    assert printed.count("query ↓ " + " ".join(words)) >= (1 if "single" in name else 2)
    for word in words:
        assert re.search(rf"{re.escape(word)} [\d. ]+", printed), word


def test_what_another_choice_does_is_shown_by_the_learners_own_steps(
    run_last_cells: Callable[..., Ran],
) -> None:
    """The answers in the lesson say what these cells print."""
    walkthrough = runpy.run_path(str(ROOT / "solutions" / NAMES[0] / "walkthrough.py"))
    printed = run_last_cells(NAMES[0]).printed
    assert printed.startswith("query of it 3 1 0 D = 3 D = 3, divided D = 300 D = 300, divided ")
    numbers = [float(each) for each in printed.partition("300, divided ")[2].split()[:20]]
    table = np.array(numbers).reshape(5, 4).T
    assert np.allclose(table, [*walkthrough["narrow"], *walkthrough["wide"]], atol=0.006)
    printed = run_last_cells(NAMES[0], **stubs(NAMES[0])).printed
    assert "No numbers yet: `project_qkv` is not written yet." in printed
    assert "No numbers yet: `compute_attention_scores` is not written yet." in printed


def test_one_head_in_place_of_two_sees_what_the_lesson_says(
    run_last_cells: Callable[..., Ran],
) -> None:
    name = "torch_multi_head"
    walkthrough = runpy.run_path(str(ROOT / "solutions" / name / "walkthrough.py"))
    names, seen = run_last_cells(name).names, []
    given = names["compute_attention_weights"]

    def noting(scores: torch.Tensor) -> torch.Tensor:
        seen.append(given(scores))
        return given(scores)  # type: ignore[no-any-return]

    names["compute_attention_weights"] = noting
    assert "exact" not in names["the_sentence"](heads=1)
    assert np.allclose(seen[0][0, 0].detach(), walkthrough["one_head"], atol=0.006)


def test_a_layer_written_in_one_piece_still_tells_what_it_makes(
    run_last_cells: Callable[..., Ran],
) -> None:
    source = reference_steps("numpy_single_head")["SingleHeadAttention"]
    in_one_piece = source.replace("compute_attention_weights(scores)", "softmax(scores)")
    assert in_one_piece != source
    printed = run_last_cells("numpy_single_head", SingleHeadAttention=in_one_piece).printed
    assert "Your layer makes (3.50, 0.57, 0.51) of “it”." in printed
    assert "No picture can be drawn of where it looks: your layer does not call" in printed
    assert "Let it get its attention weights from that function" in printed
    assert "No picture yet" not in printed


def test_without_the_mask_it_sees_the_words_that_come_later(
    run_last_cells: Callable[..., Ran],
) -> None:
    names = run_last_cells("numpy_single_head").names
    given, seen = names["compute_attention_weights"], []

    def noting(scores: np.ndarray) -> np.ndarray:
        seen.append(given(scores)[0])
        return np.asarray(given(scores))

    names["compute_attention_weights"] = noting
    assert "exact" in names["the_sentence"](True) and "exact" not in names["the_sentence"](False)
    causal, whole = seen
    assert WORDS[int(np.argmax(causal[4]))] == "cat" and not np.triu(causal, k=1).any()
    assert whole[4, 5:].all()


@pytest.mark.parametrize("name", [*NAMES, STRETCH])
def test_while_grading_the_last_cells_have_nothing_to_say(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"{name}.ipynb"
    nbformat.write(notebook(name, reference_steps(name)), file)
    submission = read_submission(file, reference(name).exercise, "ada")
    assert submission.rejected is None and not submission.remarks
    # A worker has no kit: whatever still asks for it raises.
    monkeypatch.setitem(sys.modules, "autograder", None)
    names: dict[str, Any] = {"__name__": "submission"}
    with undisturbed():
        for cell in submission.cells:
            exec(compile(cell, name, "exec"), names)
    assert capsys.readouterr().out == ""
    assert CLASSES[name] in names
