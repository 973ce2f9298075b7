"""Heat maps: the same numbers in a terminal, on a page, as text and in a file.

What a person reads is tested where it comes out: printed by rich, laid over a light and a
dark page, written by matplotlib.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.color import ColorSystem
from rich.console import RenderableType

from autograder.course.page import clean_html
from autograder.errors import KitError
from autograder.reports import terminal_text as figure_file
from autograder.reports.picture import (
    MOST_OPAQUE,
    NEGATIVE,
    POSITIVE,
    WIDEST,
    Panel,
    axis_names,
    comparison,
    is_attention,
    panel,
    render_panels,
    short,
    text_lines,
)
from autograder.reports.terminal_text import Blocks, _figure, _matplotlib, save_figure, style
from support.shown import READABLE, contrast, printed

SEED = 20170612
TOKENS = "the cat slept because".split()


@pytest.fixture
def weights() -> np.ndarray:
    """(B=2, heads=3, query=4, key=4) attention weights."""
    scores = np.random.default_rng(SEED).normal(size=(2, 3, 4, 4))
    shares = np.exp(scores)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def drawn(array: object, **facts: Any) -> RenderableType:
    return Blocks((panel(array, **facts),))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-0.0, "0"),
        (0.4155, "0.42"),
        (-1.0901, "-1.09"),
        (12.34, "12.3"),
        (-345.6, "-346"),
        (10000.4, "1e4"),
        (-1e9, "-1e9"),
        (0.00123, "1e-3"),
        (float("nan"), "NaN"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
    ],
)
def test_a_number_is_short_and_what_is_none_is_a_word(value: float, text: str) -> None:
    assert short(value) == text


def test_a_sequence_axis_twice_is_query_and_key_and_a_weight_matrix_is_neither() -> None:
    assert axis_names("B heads N N", 4) == ("B", "heads", "query", "key")
    assert axis_names("D D", 2) == ("D", "D")
    assert axis_names(None, 2) == ("axis 0", "axis 1")
    assert is_attention("S S") and not is_attention("B S D") and not is_attention("S")


# --- in a terminal ------------------------------------------------------------------------------


def test_without_color_every_cell_still_shows_its_number(weights: np.ndarray) -> None:
    text = printed(drawn(weights, title="weights", axes="B heads S S", labels=TOKENS))
    assert "\x1b" not in text
    lines = text.splitlines()
    for token, row in zip(TOKENS, weights[0, 0]):
        line = next(line for line in lines if line.startswith(token))
        assert re.findall(r"\d\.\d\d", line) == [f"{value:.2f}" for value in row], f"seed {SEED}"


def test_of_several_sequences_and_heads_the_first_is_shown_and_that_is_said(
    weights: np.ndarray,
) -> None:
    text = printed(drawn(weights, title="weights", axes="B heads S S"))
    assert "shown: B[0] of 2, heads[0] of 3" in text
    assert "key →" in text and "query ↓" in text


def test_with_color_every_number_has_one_of_the_256_behind_it_and_0_has_none() -> None:
    text = printed(drawn(np.array([[0.25, 0.0, -0.5, 1.0]]), title="x"), color=True)
    assert len(re.findall(r"48;5;\d+m", text)) == 3 and "48;2" not in text
    assert re.search(r"\d+m +\+0\.25\x1b\[0m +0\x1b", text)


def test_without_color_a_sign_tells_positive_from_negative() -> None:
    signed = printed(drawn(np.array([[0.25, 0.0, -0.5, -np.inf, -1e9]]), title="x"))
    assert signed.splitlines()[-1].split() == ["0", "+0.25", "0", "-0.50", "-inf", "-1e9"]
    # A number that a mask has taken away is not on the scale, and is no reason for signs.
    assert "+" not in printed(drawn(np.array([[0.25, -1e9]]), title="x"))


def lab(color: Sequence[float]) -> np.ndarray:
    """CIELAB, in which equal distances look about equal."""
    parts = [part / 255 for part in color]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    rows = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ratio = np.array(rows) @ linear / (0.9505, 1.0, 1.089)
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("background", [0, 255], ids=["dark", "light"])
def test_a_larger_number_stands_out_more_from_a_light_and_a_dark_terminal(
    sign: int, background: int
) -> None:
    assert style(0.0).bgcolor is None and style(0.0).color is None
    strengths = np.linspace(0.01, 1, 100)
    behind = [style(sign * float(each)).bgcolor for each in strengths]
    far = [
        float(np.linalg.norm(lab(tuple(each.get_truecolor())) - lab([background] * 3)))
        for each in behind
        if each
    ]
    assert len(far) == len(strengths) and far == sorted(far) and len(set(far)) >= 5
    assert far[0] > 25  # the smallest number is seen, too


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_a_wide_array_is_cut_to_the_width_of_the_terminal_with_a_note(width: int) -> None:
    array = np.random.default_rng(SEED).normal(size=(30, 64))
    lines = printed(drawn(array, title="x", axes=("S", "D")), width).splitlines()
    assert max(map(len, lines)) <= width
    notes = " ".join(" ".join(lines[27:]).split())
    assert re.search(r"the first 24 of 30 along S", notes)
    assert re.search(r"the first \d+ of 64 along D", notes)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_panels_stand_side_by_side_where_they_fit_and_never_wrap(
    weights: np.ndarray, width: int
) -> None:
    panels = comparison(weights[:, 0] * 2, weights[:, 0], axes="B S S").panels
    lines = printed(Blocks(panels), width).splitlines()
    assert max(map(len, lines)) <= width
    titles = [line.split() for line in lines if "yours" in line or "difference" in line]
    assert (titles == [["yours", "expected", "difference"]]) == (width == 120)


def test_what_is_no_number_is_a_word_everywhere() -> None:
    array = np.array([[np.nan, np.inf], [-np.inf, -1e9]])
    drawn = (panel(array, title="scores"),)
    for text in (
        printed(Blocks(drawn)),
        "\n".join(text_lines(drawn)),
        render_panels(drawn),
    ):
        for word in ("NaN", "inf", "-inf", "-1e9"):
            assert word in text


def test_fewer_than_two_axes_are_one_row() -> None:
    assert "C →" in printed(drawn(np.arange(3.0), title="bias", axes="C"))
    assert panel(np.float64(2), title="one").values.shape == (1, 1)


# --- yours, expected and the difference ---------------------------------------------------------


def test_shapes_that_differ_are_told_with_the_names_of_their_axes(weights: np.ndarray) -> None:
    compared = comparison(weights[..., :3], weights, axes="B heads S S")
    assert compared.panels == ()
    assert "(B=2, heads=3, S=4, S=3)" in compared.words
    assert "(B=2, heads=3, S=4, S=4) is expected" in compared.words


def test_the_entry_that_differs_is_the_one_that_is_shown(weights: np.ndarray) -> None:
    yours = weights.copy()
    yours[1, 2, 3, 0] += 0.25
    compared = comparison(yours, weights, axes="B heads S S")
    assert "1 of 96 numbers differ" in compared.words and "[1, 2, 3, 0]" in compared.words
    assert [each.title for each in compared.panels] == ["yours", "expected", "difference"]
    for each in compared.panels:
        assert each.notes == ("shown: B[1] of 2, heads[2] of 3",)
        assert each.axes == ("query", "key")
    difference = compared.panels[2].values
    assert difference[3, 0] == pytest.approx(0.25) and np.count_nonzero(difference) == 1


def test_of_several_entries_that_differ_the_largest_difference_is_shown(
    weights: np.ndarray,
) -> None:
    yours = weights.copy()
    yours[0, 0, 0, 0] += 0.001
    yours[1, 1, 2, 3] -= 0.5
    compared = comparison(yours, weights, axes="B heads S S")
    assert "the largest difference is 0.5, at [1, 1, 2, 3]" in compared.words
    assert compared.panels[2].notes == ("shown: B[1] of 2, heads[1] of 3",)
    yours[0, 2, 0, 0] = np.nan  # without a size; it is counted
    assert comparison(yours, weights, axes="B heads S S").panels[0].notes[0].endswith("[1] of 3")
    yours[...] = np.inf
    assert comparison(yours, weights, axes="B heads S S").panels[0].notes[0].endswith("[0] of 3")


def test_equal_colors_are_equal_numbers_in_yours_and_expected(weights: np.ndarray) -> None:
    yours, expected, _ = comparison(3 * weights, weights, axes="B heads S S").panels
    assert yours.bound == expected.bound == pytest.approx(float(3 * weights[0, 0].max()))


def test_what_is_equal_for_a_check_is_no_difference() -> None:
    expected = np.array([[0.5, -1e9], [np.nan, 1.0]])
    yours = np.array([[0.5 + 1e-9, -np.inf], [np.nan, 1.0]])
    compared = comparison(yours, expected)
    assert not compared.differs and "agree" in compared.words
    assert not compared.panels[2].values.any()


def test_a_mask_of_booleans_is_set_beside_one_of_numbers() -> None:
    compared = comparison(np.tril(np.ones((3, 3), bool), -1), np.tril(np.ones((3, 3))), axes="S S")
    assert compared.differs and "3 of 9" in compared.words


# --- on a page ----------------------------------------------------------------------------------


def test_a_page_shows_what_a_label_says_as_text() -> None:
    html = render_panels((panel(np.eye(2), title="<b>", labels=["<script>", "&amp;"]),))
    assert "<script" not in html and "<b>" not in html and "&lt;script&gt;" in html


def test_a_screen_reader_hears_what_a_table_shows_and_which_head_a_number_has(
    weights: np.ndarray,
) -> None:
    page = render_panels((panel(weights[0, 0], title="'your' weights", labels=TOKENS),))
    assert "<table aria-label='&#x27;your&#x27; weights'" in page
    heads = re.findall("<th [^>]*>", page)
    assert len(heads) == 2 * (1 + len(TOKENS))
    assert all(re.search("scope='(row|col|colgroup)'", head) for head in heads)


def test_a_table_stays_one_where_nbgraders_feedback_takes_its_styles_out(
    weights: np.ndarray,
) -> None:
    page = clean_html(render_panels((panel(weights[0, 0], title="weights", labels=TOKENS),)))
    assert "&lt;" not in page and "style=" not in page
    assert page.count("<tr>") == 2 + len(TOKENS)
    assert f"<td>{weights[0, 0, 0, 0]:.2f}</td>" in page


def over(page: float, color: str, opacity: float) -> list[float]:
    return [page * (1 - opacity) + int(part) * opacity for part in color.split(",")]


@pytest.mark.parametrize("color", [POSITIVE, NEGATIVE])
@pytest.mark.parametrize(("page", "text"), [(255, 33), (17, 255)], ids=["light", "dark"])
def test_numbers_on_a_page_can_be_read_in_both_themes(color: str, page: int, text: int) -> None:
    for opacity in np.linspace(0, MOST_OPAQUE, 12):
        assert contrast(over(page, color, float(opacity)), [text] * 3) >= READABLE


def test_numbers_in_a_terminal_can_be_read_on_every_block() -> None:
    for strength in np.linspace(-1, 1, 41):
        shown = style(float(strength))
        if shown.color is None or shown.bgcolor is None:
            assert abs(strength) < 1e-9 and not shown  # the terminal's own colors
            continue
        # The 16 colors differ from terminal to terminal; rich takes them for rather dark.
        for system, least in ((ColorSystem.EIGHT_BIT, READABLE), (ColorSystem.STANDARD, 4.0)):
            ink, paper = (
                [float(part) for part in each.downgrade(system).get_truecolor()]
                for each in (shown.color, shown.bgcolor)
            )
            assert contrast(ink, paper) >= least, f"strength {strength}, {system}"


# --- as text ------------------------------------------------------------------------------------


def test_as_text_panels_stand_side_by_side_only_where_they_fit(weights: np.ndarray) -> None:
    small = comparison(2 * weights[0, 0, :2, :2], weights[0, 0, :2, :2]).panels
    own, labels = weights[0, 0], ["a long label"] * 4
    large = [panel(own, title=title, labels=labels) for title in ("yours", "expected")]
    assert "yours:" in text_lines(small)[0] and "difference:" in text_lines(small)[0]
    assert text_lines(large)[0] == "yours:"
    assert all(len(line) <= WIDEST for line in (*text_lines(small), *text_lines(large)))


# --- in a file ----------------------------------------------------------------------------------


@pytest.fixture
def panels(weights: np.ndarray) -> tuple[Panel, ...]:
    return comparison(2 * weights, weights, axes="B heads S S").panels


@pytest.mark.parametrize(("name", "begin"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_a_picture_is_saved_and_the_same_picture_is_the_same_file(
    tmp_path: Path, panels: tuple[Panel, ...], name: str, begin: bytes
) -> None:
    save_figure(tmp_path / name, panels)
    save_figure(tmp_path / f"again_{name}", panels)
    data = (tmp_path / name).read_bytes()
    assert data.startswith(begin) and len(data) > 5000
    assert data == (tmp_path / f"again_{name}").read_bytes()


@pytest.mark.parametrize(
    ("name", "fact"),
    [("a.pdf", "cannot be saved as .pdf"), ("a", "suffix"), ("no/a.png", "cannot be written")],
)
def test_a_file_that_cannot_be_saved_is_told_with_a_cure(
    tmp_path: Path, panels: tuple[Panel, ...], name: str, fact: str
) -> None:
    with pytest.raises(KitError) as caught:
        save_figure(tmp_path / name, panels)
    assert fact in caught.value.fact and caught.value.cure
    assert caught.value.place == str(tmp_path / name)


def test_without_matplotlib_a_file_is_refused_with_what_to_install(
    tmp_path: Path, panels: tuple[Panel, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(KitError) as caught:
        save_figure(tmp_path / "a.png", panels)
    assert "pip install matplotlib" in caught.value.cure
    assert list(tmp_path.iterdir()) == []


OWN_BACKEND = """
import sys, matplotlib
matplotlib.use("pdf")
import numpy as np
from pathlib import Path
from autograder.reports.terminal_text import save_figure
from autograder.reports.picture import panel
save_figure(Path(sys.argv[1]), (panel(np.eye(3), title="eye"),))
told = matplotlib.get_backend(), "matplotlib.pyplot" in sys.modules
print(*told, matplotlib.rcParams["svg.hashsalt"])
"""


def test_saving_leaves_the_learners_own_backend_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWN_BACKEND, str(tmp_path / "a.svg")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["pdf", "False", "None"]


def test_drawing_in_a_notebook_loads_neither_rich_nor_matplotlib() -> None:
    code = (
        "import sys, numpy; from autograder.reports.picture import panel; "
        "from autograder.reports.picture import render_panels; "
        "render_panels([panel(numpy.eye(2), title='x')]); print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"rich", "matplotlib", "torch"} & set(run.stdout.split()) == set()


def saved(shown: Panel) -> Any:
    """What matplotlib draws of a panel."""
    (place,) = _figure(_matplotlib(Path("a.png")), (shown,)).axes
    return place


def test_in_a_saved_picture_every_number_stands_in_its_own_cell() -> None:
    shown = panel(np.arange(6.0).reshape(2, 3), title="yours")
    place = saved(shown)
    cells = {
        (column, row): cell
        for row, line in enumerate(shown.cells)
        for column, cell in enumerate(line)
    }
    assert {text.get_position(): text.get_text() for text in place.texts} == cells
    assert len(cells) == 6 and place.images[0].get_array().shape == (2, 3)


def test_a_saved_picture_names_its_rows_and_columns_and_says_what_is_not_shown() -> None:
    labels = ["a", "cat", "slept"]
    place = saved(panel(np.zeros((2, 3, 4)), title="yours", axes="B S D", labels=labels))
    assert (place.get_title(), place.get_ylabel(), place.get_xlabel()) == ("yours", "S", "D")
    assert [each.get_text() for each in place.get_yticklabels()] == labels
    assert [each.get_text() for each in place.get_xticklabels()] == ["0", "1", "2", "3"]
    assert place.texts[-1].get_text() == "shown: B[0] of 2"


def test_a_saved_picture_colors_each_cell_by_its_number_and_none_that_is_off_the_scale() -> None:
    shown = panel(np.array([[2.0, -1.0, 0.0], [np.nan, -1e9, -np.inf]]), title="scores")
    colors = saved(shown).images[0].get_array()
    assert colors.filled(9).tolist() == [[1.0, -0.5, 0.0], [9, 9, 9]]


def test_a_picture_of_a_large_array_is_cut_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Panel] = []

    def only_noted(matplotlib: Any, panels: tuple[Panel, ...]) -> Any:
        drawn.extend(panels)
        return matplotlib.figure.Figure()

    monkeypatch.setattr(figure_file, "_figure", only_noted)
    save_figure(tmp_path / "a.svg", (panel(np.zeros((30, 64)), title="x", axes="S D"),))
    (cut,) = drawn
    assert cut.values.shape == (24, 24)
    assert cut.notes == ("the first 24 of 30 along S", "the first 24 of 64 along D")
