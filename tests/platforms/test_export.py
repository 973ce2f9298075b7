"""`attn platform export`: the gradebook's marks in the tables that platforms take back."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from autograder.errors import KitError
from autograder.grading.journal import infrastructure
from autograder.platforms.csv_table import list_of, read_class_list, read_table, write_beside
from autograder.platforms.mark_export import (
    FilledTable,
    StudentMark,
    canvas_column,
    class_marks,
    fill,
    moodle_column,
)
from autograder.reports.grades_csv import read_verdicts
from autograder.reports.roll import ClassGradebook, EnteredCell, GradebookEntry
from autograder.submission.reading import Submission
from demo.sample_class import hand_in
from platforms.platform_downloads import ROOT, attn, download, zipped
from support.released_course import NAME, sample_class
from support.verdicts import EXERCISE, verdict, write_verdicts

NOT_JUDGED = "a fault of the grader"
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Attention (77),Essay (78),Final Score\r\n"
    ",,,,,Manual Posting,,\r\n"
    "    Points Possible,,,,,22.00,10.00,(read only)\r\n"
    '"Doe, Jane",111,s1,jdoe,"A, ""evening""",,9.50,50\r\n'
    '"=HYPERLINK(1)",222,s2,mcurie,A,3.00,,\r\n'
    "Noether Emmy,333,s3,enoether,A,EX,7,\r\n"
    '"Turing, Alan",444,s4,aturing,B,,,\r\n'
    '"Student, Test",999,,f00d,A,,,\r\n'
)
MOODLE = (
    "\ufeffID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung,"
    "Bewertung kann geändert werden,Zuletzt geändert (Bewertung),Feedback als Kommentar\n"
    'Teilnehmer/in501,Jane Doe,jane@uni.de,Abgegeben,,"22,00",Ja,-,"<p>a, b</p>"\n'
    'Teilnehmer/in502,Marie Curie,marie@uni.de,Abgegeben,"1,00","22,00",Ja,-,\n'
    'Teilnehmer/in503,Emmy Nöther,emmy@uni.de,Keine Abgabe,,"22,00",Ja,-,\n'
)


def marks(**points: float | None) -> dict[str, StudentMark]:
    return {
        name: StudentMark(name, each, 22.0, NOT_JUDGED if each is None else "")
        for name, each in points.items()
    }


def file(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "table.csv"
    path.write_bytes(text.encode(encoding))
    return path


def into_canvas(
    folder: Path, given: dict[str, StudentMark], text: str = CANVAS, **options: bool
) -> FilledTable:
    table = read_table(file(folder, text))
    return fill(table, canvas_column(table, "77"), given, list_of(given), **options)


def rows(content: bytes, delimiter: str = ",") -> list[list[str]]:
    text = content.decode("utf-8")
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def test_only_the_cells_of_the_marks_change_in_canvas_gradebook(tmp_path: Path) -> None:
    done = into_canvas(tmp_path, marks(jdoe=20.5, s2=0.0))
    expected = CANVAS.replace('evening""",,', 'evening""",20.5,').replace("A,3.00,", "A,0,")
    assert done.content.decode() == expected
    assert done.filled == {"jdoe": "20.5", "s2": "0"} and done.problems == ()


def test_what_is_not_known_is_no_zero_and_is_told(tmp_path: Path) -> None:
    done = into_canvas(tmp_path, marks(jdoe=None, enoether=22.0, stranger=4.0))
    assert done.content.decode() == CANVAS and not done.filled
    assert done.problems == (
        "enoether: excused in Canvas.",
        f"jdoe: no mark, and the cell stays as it is: {NOT_JUDGED}.",
        "stranger: is in no row of the table, by none of the identifiers.",
    )
    assert "row 7 (Turing, Alan): nobody in the class has these identifiers." in done.notes


def test_an_identifier_that_could_be_of_two_is_not_guessed(tmp_path: Path) -> None:
    done = into_canvas(tmp_path, marks(**{"111": 5.0}), CANVAS.replace("mcurie", "111"))
    assert not done.filled and "could be in several rows (4, 5)" in done.problems[0]
    done = into_canvas(tmp_path, marks(**{"111": 5.0, "s1": 6.0}))
    assert not done.filled
    assert done.problems[0] == "row 4 (Doe, Jane): several students could be meant: 111, s1."


def test_a_roster_says_who_is_who_and_names_never_do(tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    text = "student_id,name,canvas_id\njane,Doe Jane,222\nalan,Alan Turing,\nabsent,,111\n"
    roster.write_text(text, "utf-8")
    table = read_table(file(tmp_path, CANVAS))
    given = marks(jane=7.0, alan=8.0)
    done = fill(table, canvas_column(table, "77"), given, read_class_list(roster))
    assert done.filled == {"jane": "7"} and rows(done.content)[4][5] == "7"
    assert done.problems == ("alan: is in no row of the table, by none of the identifiers.",)
    assert "absent: no mark, and the cell stays as it is." in done.notes


def test_other_points_than_the_exercises_are_refused_unless_converted(tmp_path: Path) -> None:
    hundred = CANVAS.replace("22.00", "100")
    with pytest.raises(KitError, match="has 22 points, and the column has 100"):
        into_canvas(tmp_path, marks(jdoe=11.0), hundred)
    assert into_canvas(tmp_path, marks(jdoe=11.0), hundred, scale=True).filled == {"jdoe": "50"}


def test_marks_are_not_converted_to_no_points(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="has 0 points, so every mark would be 0"):
        into_canvas(tmp_path, marks(jdoe=11.0), CANVAS.replace("22.00", "0"), scale=True)


def test_a_column_is_named_when_there_are_several_and_totals_are_refused(tmp_path: Path) -> None:
    table = read_table(file(tmp_path, CANVAS))
    with pytest.raises(KitError, match="more than one column"):
        canvas_column(table, None)
    assert canvas_column(table, "Essay").number == canvas_column(table, "Essay (78)").number == 6
    with pytest.raises(KitError, match="no column"):
        canvas_column(table, "Final Score")
    with pytest.raises(KitError, match="not a gradebook that Canvas exported"):
        canvas_column(read_table(file(tmp_path, MOODLE)), None)


def test_a_semicolon_a_decimal_comma_and_latin_1_stay_as_they_are(tmp_path: Path) -> None:
    text = "Student;ID;Section;Köpfe (7)\n    Points Possible;;;22,00\nNoé;1;A;\n"
    table = read_table(file(tmp_path, text, "latin-1"))
    done = fill(table, canvas_column(table, None), marks(**{"1": 2.5}), list_of(["1"]))
    assert done.content == text.replace("1;A;", "1;A;2,5").encode("latin-1")


def test_the_line_that_tells_excel_the_delimiter_stays_and_is_no_heading(tmp_path: Path) -> None:
    text = "\ufeffsep=;\r\nStudent;ID;Section;Köpfe (7)\r\n    Points Possible;;;22\r\nNoé;1;A;\r\n"
    table = read_table(file(tmp_path, text))
    done = fill(table, canvas_column(table, None), marks(**{"1": 2.5}), list_of(["1"]))
    assert done.content == text.replace("1;A;", "1;A;2.5").encode()


def test_moodles_worksheet_is_filled_in_whatever_language_it_is(tmp_path: Path) -> None:
    table = read_table(file(tmp_path, MOODLE))
    column = moodle_column(table, None)
    assert table.headings[column.number] == "Bewertung" and column.max_points == 22.0
    roster = tmp_path / "roster.csv"
    roster.write_text("student_id,moodle_participant,email\njane,501,\nmarie,,MARIE@uni.de\n")
    done = fill(table, column, marks(jane=20.5, marie=3.0), read_class_list(roster))
    expected = MOODLE.replace('Abgegeben,,"22', 'Abgegeben,"20,5","22').replace('"1,00"', '"3"')
    assert done.content.decode() == expected and done.problems == ()


def test_a_worksheet_of_which_the_grade_is_not_clear_needs_the_column(tmp_path: Path) -> None:
    text = "Identifier,Full name,Status,Grade,Feedback\nParticipant 1,A B,x,,\n"
    table = read_table(file(tmp_path, text))
    with pytest.raises(KitError, match="no column could be"):
        moodle_column(table, None)
    done = fill(table, moodle_column(table, "Grade"), marks(a=1.0), list_of(["a"]))
    assert done.problems and not done.filled
    assert moodle_column(table, "Grade").max_points is None


def test_the_copy_never_takes_the_place_of_the_table(tmp_path: Path) -> None:
    path = file(tmp_path, CANVAS)
    (tmp_path / "same.csv").symlink_to(path)
    for target in (path, tmp_path / "same.csv"):
        with pytest.raises(KitError, match="take the place of"):
            write_beside(target, b"", path)
    assert path.read_bytes().decode() == CANVAS


@pytest.mark.parametrize("text", [CANVAS, MOODLE, "a\tb\r1\t\r", 'x,y\n"a\nb",\n', "a,b\n1,"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_table_is_cut_into_cells_as_python_does_it(
    tmp_path: Path, text: str, encoding: str
) -> None:
    table = read_table(file(tmp_path, text.removeprefix("\ufeff"), encoding))
    stream = io.StringIO(text.removeprefix("\ufeff"), newline="")
    expected = list(csv.reader(stream, delimiter=table.delimiter))
    assert [[cell.value for cell in row] for row in table.rows] == expected
    assert table.filled({}) == text.removeprefix("\ufeff").encode(
        "utf-8" if encoding == "utf-8" else "utf-16"
    )


def test_the_mark_is_the_gradebooks_and_waits_for_every_question() -> None:
    step = EXERCISE.steps[0].name
    cells = (EnteredCell(step, step, 2.0, 2.0, 1.5), EnteredCell("essay", "", 3.0))
    entries = {
        "ada": GradebookEntry("ada", cells[:1], 0.5),
        "ben": GradebookEntry("ben", cells),
        "zero": GradebookEntry("zero", (EnteredCell(step, step, 2.0, 0.0),)),
    }
    handed_in = Submission("carl", EXERCISE.name, (), Path("carl"))
    judged = [verdict("ada"), verdict("ben"), infrastructure(EXERCISE, handed_in, "a fault")]
    found = class_marks(judged, ClassGradebook(entries))
    assert {name: (mark.points, mark.reason) for name, mark in found.items()} == {
        "ada": (1.0, ""),
        "ben": (None, "`essay` is not graded yet"),
        "carl": (None, "a fault of the grader (a fault)"),
        "zero": (0.0, ""),
    }


def test_the_command_fills_in_the_marks_of_a_graded_folder(tmp_path: Path) -> None:
    write_verdicts(tmp_path / "hw-graded" / "verdicts", [verdict("jdoe"), verdict("s4")])
    (tmp_path / "hw").mkdir()
    table, target = file(tmp_path, CANVAS), tmp_path / "filled.csv"
    words = ("platform", "export", "canvas", tmp_path / "hw", "--into", table, "--to", target)
    run = attn(*words)
    assert run.code == 2 and "--column" in run.err
    run = attn(*words, "--column", "Attention")
    assert run.code == 0 and "2 of 2 marks filled in" in run.out, run.out + run.err
    assert [row[5] for row in rows(target.read_bytes())[3:]] == ["22", "3.00", "EX", "22", ""]
    assert table.read_bytes().decode() == CANVAS


STUDENTS = ("correct_einsum", "mistake_not_scaled", "correct_loops")


@pytest.mark.slow
def test_what_comes_out_of_moodle_goes_back_with_the_marks_of_the_class(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {}
    for number, student in enumerate(sample_class(*STUDENTS), 501):
        made = hand_in(student, EXERCISE, ROOT / "assignments" / NAME, tmp_path / student.name)
        folder = f"Zoë {student.name.replace('_', ' ')}_{number}_assignsubmission_file_"
        inside = made.read_bytes()
        if number == 501:  # in a zip, with a folder around it
            files[f"{folder}/hand in.zip"] = zipped({f"work/{made.name}": inside})
        else:
            files[f"{folder}/{made.name}"] = inside
    zip_file, homework = download(tmp_path / "moodle.zip", files), tmp_path / "homework"
    run = attn("platform", "collect", zip_file, "--to", homework, "--exercise", NAME)
    assert run.code == 0, run.out + run.err
    run = attn("grade", homework, "--exercise", NAME, "--solutions", ROOT / "solutions")
    assert run.code == 0, run.out + run.err
    verdicts = {each.student: each for each in read_verdicts(tmp_path / "homework-graded/verdicts")}
    assert sorted(verdicts) == sorted(f"zoe_{name}" for name in STUDENTS)

    head = "Identifier,Full name,Status,Grade,Maximum grade,Last modified (grade)\r\n"
    lines = [f"Participant {number},Zoë,Submitted,,22.00,-\r\n" for number in (503, 502, 501, 599)]
    sheet = tmp_path / "sheet.csv"
    sheet.write_bytes(("\ufeff" + head + "".join(lines)).encode())
    words = ("--into", sheet, "--roster", homework / "collected.csv", "--to", tmp_path / "out.csv")
    run = attn("platform", "export", "moodle", homework, *words)
    assert run.code == 0 and "3 of 3 marks filled in" in run.out, run.out + run.err
    content = (tmp_path / "out.csv").read_bytes()
    assert content.startswith("\ufeffIdentifier".encode()) and content.count(b"\r\n") == 5
    filled = [row[3] for row in rows(content)][1:]
    points = [f"{verdicts[f'zoe_{name}'].points:g}" for name in reversed(STUDENTS)]
    assert filled == [*points, ""] and len(set(points)) == 2
