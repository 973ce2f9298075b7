"""A student's and an instructor's day, from the assignment list to the grade, in a browser.

The second is an instructor's week: a question of their own, and every button of formgrader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.notebook_page import NotebookPage
from support.classroom import COURSE, Classroom, open_classroom
from support.lab import Lab, start_lab
from support.learner_workspace import NAME, RIGHT_SOFTMAX, WRONG_SOFTMAX
from support.reference_steps import reference_steps
from support.typed_commands import ATTN

NOTEBOOK = f"{NAME}/{NAME}.ipynb"


def open_list(page: Page, lab: Lab) -> None:
    """Open nbgrader's assignment list from the menu."""
    page.goto(lab.url("lab/workspaces/list"))
    page.get_by_role("menuitem", name="Nbgrader", exact=True).click()
    page.locator(".lm-Menu-item", has_text="Assignment List").click()
    expect(page.locator("#course_list_default")).to_have_text(COURSE)


def listed(page: Page, part: str) -> Locator:
    """One of the three parts of the list: released, fetched, submitted."""
    return page.locator(f"#{part}_assignments_list")


def fetch(page: Page) -> None:
    listed(page, "released").locator(".btn", has_text="Fetch").click()
    expect(listed(page, "fetched")).to_contain_text(NAME)


def feedback(assignments: Page, page: Page, lab: Lab, folder: Path) -> Locator:
    """Fetch the feedback, and open it as the student's page; return what it shows."""
    assignments.locator("#refresh_assignments_list").click()
    submitted = listed(assignments, "submitted")
    submitted.locator(".btn", has_text="Fetch Feedback").click()
    expect(submitted).to_contain_text("(view feedback)")
    (file,) = (folder / NAME / "feedback").glob("*/*.html")
    page.goto(lab.url(f"files/{quote(file.relative_to(folder).as_posix())}"))
    return page.locator("body")


def submit(page: Page) -> None:
    listed(page, "fetched").locator(".btn", has_text="Submit").click()
    expect(listed(page, "submitted")).to_contain_text(NAME)


@pytest.fixture
def instructors_lab(classroom: Classroom) -> Iterator[Lab]:
    """A JupyterLab in the course directory."""
    running = start_lab(classroom.instructor, classroom.course)
    yield running
    running.stop()


def test_a_student_works_and_hands_in_and_both_read_the_grade(
    classroom: Classroom, lab: Lab, instructors_lab: Lab, new_page: Callable[..., Page]
) -> None:
    assignments, folder = new_page(), classroom.student.folder
    open_list(assignments, lab)
    fetch(assignments)

    notebook = NotebookPage(new_page(), lab, folder, NOTEBOOK)
    notebook.run("setup", "given-001", "step-softmax", "check-softmax")
    card = notebook.card("softmax")
    expect(card).to_contain_text("softmax is not written yet.")

    notebook.write_step("softmax", WRONG_SOFTMAX)
    notebook.run("step-softmax", "check-softmax")
    expect(card).to_contain_text("softmax: 0 of 9 checks pass.")
    expect(card).to_contain_text("The shape of the result is right, (B=4, S=3, S=3).")
    expect(card).to_contain_text("Your softmax runs down the columns")
    expect(card.locator("table")).to_have_count(3)  # one token, yours, expected
    for rung, words in enumerate(("One row of scores", "last axis", "keep that axis"), start=1):
        summary = card.locator("summary", has_text=f"Hint {rung} of 3")
        hint = summary.locator("xpath=..")
        expect(hint).not_to_have_attribute("open", "")
        summary.click()
        expect(hint).to_contain_text(words)
    assert "Your softmax runs down the columns" in notebook.validate()

    notebook.write_step("softmax", RIGHT_SOFTMAX)
    notebook.run("step-softmax", "check-softmax")
    expect(card).to_contain_text("softmax: 9 of 9 checks pass.")
    expect(card).to_contain_text("hidden graders ask the same with other inputs")
    expect(card.locator("table").last).to_contain_text("slept")  # their own weights

    for step, source in reference_steps(NAME).items():
        notebook.write(f"step-{step}", source)
    notebook.run_all()
    shown = next(name for name, text in notebook.sources.items() if "show_example(" in text)
    expect(notebook.output(shown).locator("table").first).to_contain_text("slept")
    expect(notebook.output(shown)).to_contain_text("makes (3.50, 0.57, 0.51) of “it”")
    heard = next(name for name, text in notebook.sources.items() if "import speak" in text)
    expect(notebook.output(heard)).to_contain_text("JULIET:")
    expect(notebook.output(notebook.order[-1])).to_contain_text("all 11 steps are done")
    for trouble in ("stderr", "error"):
        expect(notebook.page.locator(f"[data-mime-type$='jupyter.{trouble}']")).to_have_count(0)
    assert "Success" in notebook.validate()

    submit(assignments)
    assert classroom.name in classroom.teach("nbgrader", "collect", NAME)
    assert "22/22" in classroom.teach(ATTN, "grade", ".")
    classroom.teach("nbgrader", "release_feedback", NAME)
    page = new_page()
    expect(feedback(assignments, page, lab, folder)).to_contain_text("22 of 22 points")

    page.goto(instructors_lab.url("formgrader/gradebook"))
    expect(page.locator("table")).to_contain_text("22 / 22")
    page.get_by_role("link", name=NAME, exact=True).click()
    page.get_by_role("link", name=NAME, exact=True).click()
    page.get_by_role("link", name="Submission #1").click()
    expect(page.locator("body")).to_contain_text("check(softmax)")


QUESTION, ID, WHY = "Why is there a mask?", "why_a_mask", "So that no token sees the future."


def ask_in_create_assignment(page: Page, lab: Lab, course: Path) -> None:
    """Add a question that is graded by hand at the end, as docs/instructors.md says."""
    notebook = NotebookPage(page, lab, course, f"source/{NOTEBOOK}")
    page.locator(".jp-Notebook .jp-Cell").last.click()
    for key in ("Escape", "b", "m", "Enter"):
        page.keyboard.press(key)
    page.keyboard.insert_text(QUESTION)
    page.keyboard.press("Escape")
    page.locator(".jp-SideBar .lm-TabBar-tab[title*='Create Assignment']").click()
    cell = page.locator(".nbgrader-CellWidget.nbgrader-mod-active")
    cell.get_by_label("Type:").select_option(label="Manually graded answer")
    cell.get_by_label("ID:").fill(ID)
    cell.get_by_label("Points:").fill("3")
    cell.get_by_label("Points:").press("Tab")
    notebook.page.locator(".jp-Notebook .jp-Cell").last.click()
    notebook.save()


def press(page: Page, sign: str) -> None:
    """Press one of formgrader's signs in the only row; close what says that it is done."""
    page.locator(f"tbody a:has(.glyphicon-{sign})").click()
    done = page.locator("#success-modal")
    expect(done).to_be_visible()
    done.get_by_role("button", name="Close").last.click()
    expect(done).to_be_hidden()


def test_an_instructor_asks_releases_collects_grades_by_hand_and_gives_back_in_a_browser(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    room = open_classroom(tmp_path)
    teaching = start_lab(room.instructor, room.course)
    learning = start_lab(room.student, room.student.folder)
    try:
        week(room, teaching, learning, new_page)
    finally:
        teaching.stop()
        learning.stop()


def week(room: Classroom, teaching: Lab, learning: Lab, new_page: Callable[..., Page]) -> None:
    """Walk it from the question to the student's page."""
    ask_in_create_assignment(new_page(), teaching, room.course)
    formgrader, folder = new_page(), room.student.folder
    formgrader.goto(teaching.url("formgrader/manage_assignments"))
    for sign in ("education", "remove", "cloud-upload"):  # generate, take back, release
        press(formgrader, sign)

    assignments = new_page()
    open_list(assignments, learning)
    fetch(assignments)
    notebook = NotebookPage(new_page(), learning, folder, NOTEBOOK)
    for step, source in reference_steps(NAME).items():
        notebook.write(f"step-{step}", source)
    question = next(name for name, text in notebook.sources.items() if QUESTION in text)
    notebook.cell(question).dblclick()
    notebook.write(question, WHY)
    notebook.save()
    submit(assignments)

    press(formgrader, "cloud-download")
    formgrader.goto(teaching.url(f"formgrader/manage_submissions/{NAME}"))
    press(formgrader, "flash")
    expect(formgrader.locator("tbody")).to_contain_text("needs manual grading")
    said = room.teach(ATTN, "grade", ".")
    assert "22/25" in said and f"`{ID}` is not graded yet." in said

    formgrader.goto(teaching.url(f"formgrader/gradebook/{NAME}/{NAME}"))
    formgrader.get_by_role("link", name="Submission #1").click()
    expect(formgrader.locator("body")).to_contain_text(WHY)
    score = formgrader.locator(f".nbgrader_cell:has(:text('{WHY}')) input.score")
    score.fill("2")
    score.press("Tab")
    expect(formgrader.locator(".score-saved:visible")).to_have_count(1)
    formgrader.wait_for_load_state("networkidle")
    assert re.search(rf"{room.name} .* 24/25", room.teach(ATTN, "grade", "."))

    formgrader.goto(teaching.url("formgrader/manage_assignments"))
    press(formgrader, "comment")  # generate feedback
    press(formgrader, "envelope")  # release it
    page = new_page()
    expect(feedback(assignments, page, learning, folder)).to_contain_text("24 of 25 points")
    page.goto((room.course / "graded" / "index.html").as_uri())
    expect(page.get_by_role("row").filter(has_text=room.name)).to_contain_text("24/25")
