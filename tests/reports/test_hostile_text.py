"""One hostile class carried through everything that people read after grading.

What students wrote (names, messages, output, comments, prose) goes through `attn grade`,
`nbgrader generate_feedback`, `nbgrader export` and formgrader's page. Pages are taken apart
and held against the page of an honest student: whatever tag, attribute or script is in the one
and not in the other, a student wrote.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbconvert.filters import strip_files_prefix
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output, new_raw_cell

from autograder.course.creation import Course, notebook_name
from autograder.course.page import TAGS, clean_markdown
from autograder.reports.class_page import class_script
from autograder.reports.feedback import page_name
from autograder.values.files import file_stem
from autograder.values.verdict import Outcome, Verdict
from support.broken.case import STEPS
from support.released_course import NAME, ROOT, released_course
from support.shown import Page
from support.typed_commands import Run, attn, nbgrader

pytestmark = pytest.mark.slow  # a class of hostile texts, through every report

HTML = (
    "<script>alert(1)</script><img src=x onerror=alert(1)><svg/onload=alert(1)>'\"></pre></code>"
    "<a href='javascript:alert(1)'>a</a><iframe src=//evil.example></iframe><!-- <style>*{x:y}"
)
TERMINAL = (
    "\x1b[31mred\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil.example\x07link\x1b]8;;\x07"
    "\x1b]52;c;ZXZpbA==\x07\x9b1mx\x9d0;y\x07\x1bPq\x1b\\\rfull marks\x08\x08\x1b"
)
DIRECTIONS = "\u202elive\u202c\u2066a\u2069\u200f\u200b\u200d\u2060\ufeff\u00ad\U000e0041"
ILLEGAL = "\x00\x01\x0b\x1f\x7f\ufffe\uffff\ud800"
MARKUP = "[bold red]m[/bold red][link=http://evil.example]l[/link][/][@click=app.bell]c[/]"
MARKDOWN = (
    "[a](javascript:alert(1)) [b](files/javascript:alert(1)) <javascript:alert(1)> `</code><b>` "
    "![c](x' onerror='alert(1)) $\\href{javascript:alert(1)}{f}$ $$</script><img src=x>$$"
)
WORKFLOW = "x\n::add-mask::x\n::set-output name=grade::22\n##[add-mask]x\n::stop-commands::y"
FORMULAS = ("=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\uff1d1", "x;=1")
TEXTS = (HTML, TERMINAL, DIRECTIONS, ILLEGAL, MARKUP, MARKDOWN, WORKFLOW, "\r\n".join(FORMULAS))
# As far as a file system takes them, as names of folders.
NAMED = "=1+1, <svg onload=alert(1)> \";alert(1);' \x1b(B\u202eid\u200b"
IDS = (
    NAMED,
    "::add-mask::anna",
    "@SUM(1)\t=2 [bold]b ##[add-mask]b\n::warning::c,,,,22,0,22,22\nx \u2067$x$",
)
HONEST = "honest"
HOSTILE = tuple(f"mallory{number}" for number in range(len(TEXTS)))
EVERYBODY = (HONEST, *HOSTILE, *IDS)
# Every notebook holds every text, so a few are enough for nbgrader's pages. (It takes a bracket
# in a folder's name for a pattern, and finds no notebook there.)
WITH_PAGES = (HONEST, HOSTILE[0], *IDS[:2])


def hostile_code(first: int) -> dict[str, str]:
    """A cell for every step: the texts as messages, from `first` on, and as names of all kinds."""
    raised = {
        name: f"class E(ValueError): pass\n\ndef {name}(*given):\n    # {comment(text)}\n"
        f"    print({text!r})\n    raise E({text!r})  # {comment(text)}"
        for name, text in zip(STEPS, TEXTS[first:] + TEXTS[:first])
    }
    text = "".join(TEXTS)
    kinds = (
        f"def {STEPS[8]}(*given):\n    raise type({text!r}, (Exception,), {{}})({HTML!r})",
        f"def {STEPS[9]}(*given):\n    return type({HTML!r}[:80], (), {{}})()",
        f"class {STEPS[10]}:\n    def __init__(self, *given):\n"
        f"        exec('raise ValueError(names)', {{'names': {text!r}}}, Names(given))",
    )
    names = (
        "import numpy as np\nclass Names(dict):\n    def __init__(self, given):\n"
        f"        super().__init__({{{HTML!r}: np.ones(2), {TERMINAL!r}: np.ones(3)}})\n"
    )
    cells = {**raised, **dict(zip(STEPS[8:], kinds))}
    return {**cells, STEPS[10]: names + cells[STEPS[10]]}


def comment(text: str) -> str:
    """The text as far as it can stand in a line of source."""
    kept = text.encode("utf-8", "replace").decode().replace("\x00", "")
    return re.sub("[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", " ", kept)


def hand_in(course: Course, student: str, code: Mapping[str, str]) -> None:
    notebook = nbformat.read(course.release(NAME) / notebook_name(NAME), as_version=4)
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if grade_id in code:
            cell.source = code[grade_id]
        if student != HONEST and cell.cell_type == "code":
            data = {"text/html": HTML, "application/javascript": "alert(1)", "text/plain": "22"}
            cell.outputs = [new_output("display_data", data=data)]
    if student != HONEST:
        prose = [comment(text) for text in TEXTS]
        notebook.cells[1:1] = [
            *(new_markdown_cell(text) for text in prose),
            new_markdown_cell("```python\n" + "\n".join(prose) + "\n```"),
            new_code_cell("\n".join(f"# {text}" for text in prose)),
            new_code_cell(f"%%html\n{HTML}"),
            new_raw_cell(HTML, metadata={"raw_mimetype": "text/html"}),
        ]
        notebook.metadata["title"] = HTML
        notebook.metadata["language_info"] = {"name": HTML, "pygments_lexer": HTML}
        notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"x": HTML}}
    folder = course.submitted(NAME, student)
    folder.mkdir(parents=True)
    (folder / notebook_name(NAME)).write_text(nbformat.writes(notebook), encoding="utf-8")


@dataclass(frozen=True)
class Graded:
    """The course after grading, and what was printed."""

    course: Course
    printed: str

    def verdict(self, student: str) -> Verdict:
        path = self.course.graded(NAME) / "verdicts" / f"{file_stem(student)}.json"
        return Verdict.from_json(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("home")
    names = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    return {**{name: str(home) for name in names}, "COLUMNS": "160"}


def ended_well(run: Run) -> str:
    assert run.code == 0, run.said
    return run.said


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Graded:
    course = released_course(tmp_path_factory.mktemp("hostile") / "course")
    hand_in(course, HONEST, {})
    for number, student in enumerate((*HOSTILE, *IDS)):
        hand_in(course, student, hostile_code(number % len(TEXTS)))
    run = attn("grade", ".", folder=course.directory, **environment)
    return Graded(course, ended_well(run))


@pytest.fixture(scope="module")
def published(graded: Graded, environment: dict[str, str]) -> dict[str, str]:
    """nbgrader's own feedback: student to page."""
    left_out = f"--CourseDirectory.student_id_exclude={','.join(HOSTILE[1:])}"
    words = ("generate_feedback", NAME, left_out, "--CourseFeedback.kit_pages=False", "--force")
    ended_well(nbgrader(*words, folder=graded.course.directory, **environment))
    return {
        student: (graded.course.feedback(NAME, student) / f"{NAME}.html").read_text("utf-8")
        for student in WITH_PAGES
    }


# What formgrader's server does for a page, without the server: its configuration, its exporter,
# and the names as its handler hands them over.
FORMGRADER = """
import json, os, sys
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader.formgrader import FormgradeExtension
extension = FormgradeExtension()
extension.root_dir = os.getcwd()
extension.initialize([])
exporter = HTMLExporter(config=extension.config)
pages = {}
for student, path in json.load(sys.stdin).items():
    facts = dict(assignment_id="a", notebook_id="n", submission_id="s", index=0, total=1,
                 base_url="", last_name=None, first_name=None, student=student, notebook_path=path)
    pages[student] = exporter.from_filename(path, resources=facts)[0]
json.dump(pages, sys.stdout)
"""


@pytest.fixture(scope="module")
def formgrader(graded: Graded, environment: dict[str, str]) -> dict[str, str]:
    """The page on which an instructor grades by hand: student to page."""
    course = graded.course
    paths = {
        student: str(course.autograded(NAME, student) / notebook_name(NAME))
        for student in WITH_PAGES
    }
    python = {"command": sys.executable, "keys": json.dumps(paths)}
    run = attn("-c", FORMGRADER, folder=course.directory, **python, **environment)
    assert run.code == 0, run.err
    return run.document


# --- what is printed, and what is written as data -----------------------------------------------


def assert_harmless_in_a_terminal(printed: str) -> None:
    assert {mark for mark in printed if not mark.isprintable()} <= {"\n"}
    assert "##[" not in printed
    assert [line for line in printed.splitlines() if re.match(r"\s*::", line)] == []
    assert not re.search(r"::[A-Za-z]", printed)  # a narrower terminal may break the line there


def test_everybody_is_judged_and_every_text_arrives(graded: Graded) -> None:
    for student in (*HOSTILE, *IDS):
        verdict = graded.verdict(student)
        assert verdict.student == student
        assert verdict.points == 0 and not verdict.infrastructure
        ends = {step.outcome for step in verdict.steps}
        assert ends == {Outcome.RAISED, Outcome.WRONG_TYPE}
    told = " ".join(step.finding.message for step in verdict.steps if step.finding)
    for text in ("<script>alert(1)", "[bold red]m", "files/javascript:", "add-mask", "=HYPERLINK"):
        assert text in told


def test_the_terminal_shows_text_and_obeys_none(graded: Graded) -> None:
    assert_harmless_in_a_terminal(graded.printed)
    for text in ("<script>alert(1)", "[bold red]m[/bold red]", "[link=http://evil", ": :add-mask"):
        assert text in graded.printed


def test_what_is_not_graded_is_named_in_harmless_text(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    name = f"x\n::warning::{NAMED}[link=http:evil]"
    (tmp_path / f"{name}.ipynb").write_text("{", encoding="utf-8")
    run = attn("grade", tmp_path, "--exercise", NAME, folder=ROOT, **environment)
    assert "not graded: x : :warning::" in run.out and "[link=http:evil]" in run.out
    assert_harmless_in_a_terminal(run.out)


def test_a_spreadsheet_of_grades_has_a_row_for_each_and_no_formula(graded: Graded) -> None:
    text = (graded.course.graded(NAME) / "grades.csv").read_text(encoding="utf-8")
    assert_rows_without_formulas(text, "diagnosis")


def test_nbgraders_export_has_a_row_for_each_and_no_formula(
    graded: Graded, environment: dict[str, str]
) -> None:
    ended_well(nbgrader("export", folder=graded.course.directory, **environment))
    text = (graded.course.directory / "grades.csv").read_text(encoding="utf-8")
    rows = assert_rows_without_formulas(text, "student_id")
    assert {HONEST, *HOSTILE} < {row["student_id"] for row in rows}
    assert {row["max_score"] for row in rows} == {"22.0"}
    assert {row["score"] for row in rows} == {"0.0"}


def assert_rows_without_formulas(text: str, needed: str) -> list[dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(EVERYBODY)
    cells = [value for row in rows for value in row.values()]
    assert all(type(value) is str and value.isprintable() for value in cells)
    parts = [part for value in cells for part in (value, *value.split(";"))]
    assert [part for part in parts if re.match(r"\s*[=+\-@\uff1d]", part)] == []
    assert any(row[needed] for row in rows)
    return rows


@pytest.mark.parametrize("student", EVERYBODY)
def test_a_verdict_file_holds_the_name_exactly_and_no_raw_control(
    graded: Graded, student: str
) -> None:
    path = graded.course.graded(NAME) / "verdicts" / f"{file_stem(student)}.json"
    data = path.read_bytes()
    assert json.loads(data)["student"] == student
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)


# --- pages --------------------------------------------------------------------------------------


def links_in(page: Page) -> set[str]:
    return {value for name, value in page.attributes if name in LINKS}


def handlers_in(page: Page) -> Counter[str]:
    return Counter(value for name, value in page.attributes if name.startswith("on"))


LINKS = ("href", "src", "action", "formaction", "data", "srcdoc", "xlink:href", "style")
FORMATTING = set("p br code pre details summary h3 h4 ul ol li span div".split())


def assert_nothing_of_the_students(hostile: str, honest: str, allowed: set[str]) -> Page:
    """Hold a page against the same page of somebody honest; return it taken apart."""
    page, plain = Page(hostile), Page(honest)
    foreign = {tag for tag, _ in page.tags} - {tag for tag, _ in plain.tags} - allowed
    assert foreign == set()
    names = {name for name, _ in page.attributes}
    assert names <= {name for name, _ in plain.attributes} | {"class", "title"}
    assert handlers_in(page) == handlers_in(plain)
    assert page.scripts == plain.scripts
    links = links_in(page) - links_in(plain)
    assert [link for link in links if not re.match("https?://|#", link)] == []
    assert not re.search("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", hostile)
    return page


@pytest.mark.parametrize("student", (*HOSTILE, *IDS))
def test_a_page_of_feedback_has_no_tag_attribute_or_link_of_a_student(
    graded: Graded, student: str
) -> None:
    folder = graded.course.graded(NAME) / "feedback"
    hostile, honest = (
        (folder / page_name(name)).read_text(encoding="utf-8") for name in (student, HONEST)
    )
    page = assert_nothing_of_the_students(hostile, honest, FORMATTING)
    assert page.scripts == [] and not handlers_in(page)
    assert "<script>alert(1)</script>" in page.text


def test_the_page_of_the_class_has_no_tag_attribute_or_link_of_a_student(graded: Graded) -> None:
    text = (graded.course.graded(NAME) / "feedback" / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.scripts == [class_script()] and not handlers_in(page)
    assert {tag for tag, _ in page.tags}.isdisjoint({"svg", "img", "iframe", "b", "link"})
    assert "<svg onload=alert(1)>" in page.text and "<script>alert(1)</script>" in page.text
    assert {link for link in links_in(page) if ":" in link} == set()


@pytest.mark.parametrize("pages", ["published", "formgrader"])
@pytest.mark.parametrize("student", WITH_PAGES[1:])
def test_nbgraders_pages_have_no_tag_attribute_or_link_of_a_student(
    pages: str, student: str, request: pytest.FixtureRequest
) -> None:
    shown = request.getfixturevalue(pages)
    page = assert_nothing_of_the_students(shown[student], shown[HONEST], {*TAGS, *FORMATTING})
    assert "<script>alert(1)</script>" in page.text


def test_formgraders_page_shows_the_name_of_a_folder_as_text(formgrader: dict[str, str]) -> None:
    assert "<svg onload=alert(1)>" in Page(formgrader[NAMED]).text


@pytest.mark.parametrize(
    "source",
    [
        "[a](files/javascript:alert(1))",
        "[a](/files/files/javascript:alert(1))",
        "<a href='files/data:text/html,x'>a</a>",
        "<a href='files/java&#9;script&colon;alert(1)'>a</a>",
        "<a href=' files/javascript:alert(1)'>a</a>",
        "<a href='FILES/javascript:alert(1)' title='https://a.org'>a</a>",
    ],
)
def test_no_link_becomes_another_when_nbgrader_shortens_it(source: str) -> None:
    # What nbgrader's templates put behind the filter.
    shortened = strip_files_prefix(clean_markdown({}, source))
    assert not [link for link in links_in(Page(shortened)) if link]


def test_prose_cannot_pass_for_a_part_of_formgrader() -> None:
    page = clean_markdown(
        {}, "<div class='nbgrader_cell'><span class='btn full-credit'>x</span></div>"
    )
    assert "class" not in page
    assert '<span class="k">' in clean_markdown({}, "```python\nreturn 1\n```")
