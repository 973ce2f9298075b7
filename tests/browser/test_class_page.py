"""The class page in a browser: it fits a phone and paper, it sorts, searches and filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from autograder.reports.class_page import ClassContext
from autograder.reports.misunderstandings import misunderstandings
from autograder.reports.roll import FollowUp
from autograder.values.verdict import ChainVerdict, Finding, Outcome, Verdict
from browser.contrast import too_faint
from support.verdicts import EXERCISE, class_page, verdict

LONG = Finding(Outcome.WRONG_VALUES, "Your softmax runs down the columns. " * 8)
PHONE, PAPER = 400, 718  # pixels; A4 without its margins
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
NOT_SCALED = Finding(
    Outcome.WRONG_VALUES, "Your scores are not scaled.", misconception="scores_not_scaled"
)
QUERY_AXIS = replace(NOT_SCALED, fact="Your softmax runs down.", misconception="query_axis")
BLANK = Finding(Outcome.NOT_WRITTEN, "`softmax` is not written yet.")
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\">\"'><script>document.title='owned'</script>"
)


def long_page() -> str:
    """A page whose texts are long, with every outcome in it."""
    one = verdict("a", **{step.name: LONG for step in EXERCISE.steps})
    verdicts = [replace(one, student=name) for name in ("ada", "a" * 80, "an " * 40)]
    for outcome in Outcome:
        wrong = {} if outcome is Outcome.PASSED else {"softmax": Finding(outcome, "Look here.")}
        chain = ChainVerdict(outcome, None if outcome is Outcome.PASSED else "softmax")
        verdicts.append(replace(verdict(outcome.value, **wrong), chain=chain))
    waiting = FollowUp("remark", ("ada", "b" * 80), "`" + "x" * 200 + "`", "A cure.")
    return written(verdicts, ClassContext(follow_ups=[waiting]))


def written(verdicts: list[Verdict], context: ClassContext | None = None) -> str:
    mistakes = tuple((each, "x = 1") for each in misunderstandings(EXERCISE, verdicts))
    return class_page(EXERCISE, verdicts, replace(context or ClassContext(), mistakes=mistakes))


def small_class() -> list[Verdict]:
    """Zoë has not written softmax, Ben does not scale, Ada and Carl are right or nearly."""

    def at(step: str, outcome: Outcome = Outcome.WRONG_VALUES) -> ChainVerdict:
        return ChainVerdict(outcome, step)

    return [
        verdict("ada"),
        replace(verdict("ben", scale_scores=NOT_SCALED), chain=at("scale_scores")),
        replace(verdict("carl", project_output=LONG), chain=at("project_output")),
        replace(verdict("zoë b", softmax=BLANK), chain=at("softmax", Outcome.NOT_WRITTEN)),
        replace(verdict(HOSTILE, scale_scores=NOT_SCALED), chain=at("scale_scores")),
    ]


@pytest.fixture
def opened(new_page: Callable[..., Page], tmp_path: Path) -> Callable[..., Page]:
    """Open a page of a class in a new tab."""

    def open_page(text: str, **size: Any) -> Page:
        (tmp_path / "index.html").write_text(text, encoding="utf-8")
        page = new_page(**size)
        page.goto((tmp_path / "index.html").as_uri())
        return page

    return open_page


@pytest.fixture
def page(opened: Callable[..., Page]) -> Page:
    """The page of the small class."""
    return opened(written(small_class()))


def names(page: Page) -> list[str]:
    """The names of the students that are shown, in their order."""
    shown = page.locator("#map tbody tr:visible th")
    return [name if name != HOSTILE else "hostile" for name in shown.all_inner_texts()]


def tab_to(page: Page, wanted: str) -> None:
    """Press Tab until the part of the page is reached."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.locator(wanted).evaluate("each => each === document.activeElement"):
            return
    raise AssertionError(f"{wanted} is not reached")


def test_the_page_fits_what_shows_it_and_can_be_read_on_every_color(
    opened: Callable[..., Page],
) -> None:
    shown = opened(long_page())
    for scheme in SCHEMES:
        shown.emulate_media(media="screen", color_scheme=scheme)
        assert too_faint(shown.locator("main")) == [], scheme
        for width in (PHONE, 1100):
            shown.set_viewport_size({"width": width, "height": 900})
            assert shown.evaluate("document.documentElement.scrollWidth") <= width
            controls = shown.locator("#controls")
            expect(controls).to_be_visible()
            box = controls.bounding_box()
            assert box and box["x"] >= 0 and box["x"] + box["width"] <= width, (scheme, width)


def test_on_paper_nothing_is_behind_a_scroll_bar_and_nothing_is_there_to_press(
    opened: Callable[..., Page],
) -> None:
    shown = opened(long_page(), width=PAPER)
    for scheme in SCHEMES:
        shown.emulate_media(media="print", color_scheme=scheme)
        assert shown.evaluate("document.documentElement.scrollWidth") <= PAPER, scheme
        for side in ("Width", "Height"):
            over = f"all => Math.max(...all.map(each => each.scroll{side} - each.client{side}))"
            assert shown.locator(".scroll, .map").evaluate_all(over) <= 0, (side, scheme)
        expect(shown.locator("#controls")).to_be_hidden()
        expect(shown.get_by_role("button", name="Show them in the table")).to_have_count(0)


@pytest.mark.parametrize(("students", "rows"), [(30, 30), (300, 25)])
def test_the_table_is_on_the_first_screen(
    opened: Callable[..., Page], students: int, rows: int
) -> None:
    many = [verdict(f"s{number:03}", softmax=LONG) for number in range(students)]
    page = opened(written(many), width=1400, height=900)
    row = page.locator("#map tbody tr").nth(rows - 1)
    assert (box := row.bounding_box()) and box["y"] + box["height"] <= 900


def test_names_and_heads_stay_in_view_while_the_table_scrolls(
    opened: Callable[..., Page],
) -> None:
    many = [verdict(f"s{number:03}", softmax=LONG) for number in range(60)]
    page = opened(written(many), width=PHONE, height=700)
    page.locator("#map").evaluate("each => each.scrollTo(300, 2000)")
    region, head, row = (
        page.locator(each).bounding_box()
        for each in ("#map", "#map thead th:nth-child(3)", "#map tbody tr:nth-child(30) th")
    )
    assert region and head and row
    assert abs(head["y"] - region["y"]) <= 2 and abs(row["x"] - region["x"]) <= 2


def test_the_keyboard_alone_sorts_searches_and_filters(page: Page) -> None:
    count = page.get_by_role("status")
    assert names(page) == ["hostile", "ada", "ben", "carl", "zoë b"]
    expect(count).to_have_text("5 of 5 students")

    tab_to(page, "#map [data-sort='1'] button")
    page.keyboard.press("Enter")
    assert names(page) == ["zoë b", "hostile", "ada", "ben", "carl"]
    head = page.get_by_role("columnheader", name="1 Softmax")
    expect(head).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Enter")
    assert names(page) == ["hostile", "ada", "ben", "carl", "zoë b"]
    expect(head).to_have_attribute("aria-sort", "descending")
    tab_to(page, "#map [data-sort=chain] button")
    page.keyboard.press("Space")
    assert names(page) == ["zoë b", "hostile", "ben", "carl", "ada"]
    expect(page.locator("[aria-sort]")).to_have_count(1)

    page.get_by_role("status").click()
    tab_to(page, "#by-name")
    page.keyboard.type("ZOE B")
    expect(count).to_have_text("1 of 5 students")
    assert names(page) == ["zoë b"]
    tab_to(page, "#show-all")
    page.keyboard.press("Enter")
    expect(count).to_have_text("5 of 5 students")

    page.get_by_role("status").click()
    tab_to(page, "#by-mistake")
    page.keyboard.type("scores not")
    page.keyboard.press("Enter")
    expect(count).to_have_text("2 of 5 students")
    assert names(page) == ["hostile", "ben"]


def test_the_lists_choose_by_step_outcome_mistake_and_chain(page: Page) -> None:
    rows: tuple[tuple[dict[str, str], list[str]], ...] = (
        ({"step": "1", "outcome": "·"}, ["zoë b"]),
        ({"outcome": "✗"}, ["hostile", "ben", "carl"]),
        ({"outcome": "missed"}, ["hostile", "ben", "carl", "zoë b"]),
        ({"step": "5", "outcome": "✓"}, ["ada", "carl", "zoë b"]),
        ({"mistake": "u"}, ["carl"]),
        ({"chain": "right"}, ["ada"]),
        ({"chain": "5"}, ["hostile", "ben"]),
        ({"chain": "5", "step": "1", "outcome": "·"}, []),
    )
    for chosen, shown in rows:
        for name, value in chosen.items():
            page.locator(f"#by-{name}").select_option(value)
        assert names(page) == shown, chosen
        expect(page.get_by_role("status")).to_have_text(f"{len(shown)} of 5 students")
        page.locator("#show-all").click()
        expect(page.get_by_role("status")).to_have_text("5 of 5 students")


def test_points_are_sorted_as_numbers_and_who_has_none_comes_first(
    opened: Callable[..., Page],
) -> None:
    ours = Finding(Outcome.INFRASTRUCTURE, "The worker did not start.")
    steps = [step.name for step in EXERCISE.steps]
    page = opened(
        written(
            [
                verdict("nine", **dict.fromkeys(steps[1:], BLANK)),
                verdict("ours", **dict.fromkeys(steps, ours)),
                verdict("twenty", softmax=QUERY_AXIS),
                verdict("zero", **dict.fromkeys(steps, BLANK)),
            ]
        )
    )
    page.get_by_role("button", name="Points").click()
    assert names(page) == ["ours", "zero", "nine", "twenty"]


def test_a_number_leads_to_the_students_it_counts(page: Page) -> None:
    for section, button, shown in (
        ("mistakes", "scores not scaled", ["hostile", "ben"]),
        ("steps", "1: show wrong at step 10", ["carl"]),
        ("chains", "2: show where the chain breaks at step 5", ["hostile", "ben"]),
    ):
        page.locator("#by-name").fill("nobody")
        part = page.locator(f"section[aria-labelledby={section}]")
        part.locator("summary").first.press("Enter") if section == "mistakes" else None
        part.get_by_role("button", name=button).press("Enter")
        assert names(page) == shown, section
        expect(page.locator("#map")).to_be_focused()
        expect(page.locator("#map thead")).to_be_in_viewport()
        expect(page.locator("#by-name")).to_have_value("")


def test_a_name_in_markup_stays_a_name_whatever_is_pressed(page: Page) -> None:
    page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    for button in page.get_by_role("button").all():
        button.click()
    page.locator("#show-all").click()
    assert HOSTILE in page.locator("#map").inner_text()
    assert page.title() == f"{EXERCISE.title}: the class"
    assert page.locator("img").count() == 0 and page.locator("script").count() == 1


def test_the_policy_of_the_page_keeps_any_other_script_from_running(
    opened: Callable[..., Page],
) -> None:
    strange = "<script>document.title = 'owned'</script><p onclick='x' id='p'></p></main>"
    page = opened(written(small_class()).replace("</main>", strange))
    assert page.locator("script").count() == 2
    assert page.title() == f"{EXERCISE.title}: the class"
    expect(page.get_by_role("status")).to_have_text("5 of 5 students")  # ours has run


def test_without_scripts_the_page_is_whole_and_has_nothing_to_press(
    chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text(written(small_class()), encoding="utf-8")
    page = chromium.new_page(java_script_enabled=False)
    page.goto((tmp_path / "index.html").as_uri())
    expect(page.locator("#map tbody tr")).to_have_count(5)
    assert page.locator("#map tbody tr:visible").count() == 5
    assert page.locator("button:visible, select:visible").count() == 0
    cut = page.locator("#map td.look").nth(3)
    assert cut.evaluate("each => each.scrollWidth > each.clientWidth")
    page.get_by_label("Whole sentences").check()
    assert cut.evaluate("each => each.scrollWidth <= each.clientWidth")
    expect(page.locator("[data-chain='5']")).to_have_text("2")
    page.close()


def test_a_cell_tells_a_screen_reader_what_its_sign_means(page: Page) -> None:
    table = page.get_by_role("table", name="Each student's points")
    row = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name="ben"))
    expect(row.get_by_role("cell", name="✗ wrong values")).to_have_count(1)
    expect(row.get_by_role("cell", name="✗ 5 wrong values")).to_have_count(1)
    expect(table.get_by_role("columnheader", name="5 Scaling")).to_have_count(1)


def test_five_thousand_students_can_be_sorted_and_searched(opened: Callable[..., Page]) -> None:
    many = [verdict(f"s{number:04}") for number in range(4_999)]
    page = opened(written([*many, replace(small_class()[3], student="the last")]))
    page.get_by_role("button", name="1 Softmax", exact=True).click()
    expect(page.locator("#map tbody tr").first).to_contain_text("the last")
    page.locator("#by-name").fill("s4998")
    expect(page.get_by_role("status")).to_have_text("1 of 5000 students")
    assert names(page) == ["s4998"]
