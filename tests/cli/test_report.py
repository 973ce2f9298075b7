"""The results of a class that is graded again, and words to everybody who made one mistake."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from autograder.cli import report
from autograder.errors import KitError
from autograder.reports.grades_csv import find_verdict, read_verdicts
from autograder.reports.misunderstandings import DRAFTS, PARAGRAPHS, Paragraph, write_paragraph
from autograder.values import files
from support.copied_exercise import ROOT, copy_exercise
from support.nameless_mistakes import FLATTER, NOT_THE_ROOT, SHARPER, SHARPER_TOO, written
from support.typed_commands import Run, typed

NAME = "numpy_single_head"
STEP = "compute_attention_weights"
WORDS = "Your weights are sharper than `softmax` gives them. <b>Where</b> does 1.3 come from?"
SHOWN = "Your weights are sharper than <code>softmax</code> gives them. &lt;b&gt;Where"
ROW_OF_CARL = "\ncarl "
CLASS = {
    "ada": {STEP: SHARPER},
    "ben": {STEP: SHARPER_TOO},
    "carl": {STEP: FLATTER},
    "dora": {"scale_scores": NOT_THE_ROOT},
}


def attn(word: str, homework: Path, *words: object) -> Run:
    """Run a command on a class of the exercise."""
    options = ("--exercise", NAME, "--processes", 1) if word == "grade" else ("--exercise", NAME)
    return typed(word, homework, *words, *options, folder=ROOT, COLUMNS="200")


@pytest.fixture
def homework(graded: Path) -> Path:
    """A graded class as it was before the first test, in its old place: results name that."""
    place = graded.with_name("class")
    shutil.rmtree(place)
    shutil.copytree(graded, place, symlinks=True)
    return place / "homework"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "class" / "homework"
    folder.mkdir(parents=True)
    for student, changed in CLASS.items():
        (folder / f"{student}.py").write_text(written(NAME, **changed), encoding="utf-8")
    run = attn("grade", folder)
    assert run.code == 0, run.out + run.err
    return Path(shutil.copytree(folder.parent, folder.parents[1] / "graded", symlinks=True))


def results(homework: Path) -> Path:
    return homework.with_name("homework-graded")


def page(homework: Path, student: str) -> str:
    return (results(homework) / "feedback" / f"{student}.html").read_text(encoding="utf-8")


def called(homework: Path) -> str:
    """What the class page calls the mistake that two have made."""
    (found,) = {each[0] for each in re.finditer(rf"{STEP}/[0-9a-f]{{8}}", page(homework, "index"))}
    return str(found)


def test_words_reach_all_who_made_the_mistake_and_nobody_else(homework: Path) -> None:
    mistake = called(homework)
    run = attn("report", homework, "--tell", mistake, WORDS)
    assert run.code == 0, run.err
    assert "It is on the page of 2 students now." in run.out
    assert [student for student in CLASS if SHOWN in page(homework, student)] == ["ada", "ben"]
    assert SHOWN in page(homework, "index")


def test_a_class_that_grows_and_shrinks_has_its_files_in_place_and_the_words_where_they_belong(
    homework: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_PRINTED", len(CLASS))
    monkeypatch.setattr(files, "FILES_IN_A_FOLDER", len(CLASS))
    step, code = called(homework).split("/")
    write_paragraph(results(homework), Paragraph(step, code, WORDS))
    assert files_of(results(homework)) == {student: student for student in CLASS}

    # One too many for a table in the terminal, and for one folder.
    (homework / "emil.py").write_text(written(NAME, **{STEP: SHARPER}) + "\n# mine\n")
    run = attn("grade", homework)
    assert run.code == 0, run.err
    assert "5 students: the table is on the class page." in run.out and ROW_OF_CARL not in run.out
    places = {**dict.fromkeys(CLASS, "0001-0004"), "emil": "0005-0008"}
    assert files_of(results(homework)) == {name: f"{at}/{name}" for name, at in places.items()}
    assert SHOWN in page(homework, places["emil"] + "/emil")

    # As before, but without what was ada's.
    (homework / "ada.py").unlink()
    run = attn("grade", homework)
    assert run.code == 0 and ROW_OF_CARL in run.out
    assert files_of(results(homework)) == {name: name for name in places if name != "ada"}
    assert not any(each.is_dir() for each in results(homework).glob("*/*"))

    run = attn("report", homework, "--tell", called(homework), "--remove")
    assert "Nothing is on the page of 2 students now." in run.out
    class_now = ("index", "ben", "carl", "dora", "emil")
    assert not any("From your instructor" in page(homework, each) for each in class_now)


def files_of(output: Path) -> dict[str, str]:
    """Where the files of each student are: verdict, page and text alike, and links lead there."""
    verdicts = {
        path.stem: path.relative_to(output / "verdicts").with_suffix("").as_posix()
        for path in (output / "verdicts").rglob("*.json")
    }
    for ending in ("html", "txt"):
        feedback = [
            path.relative_to(output / "feedback").with_suffix("").as_posix()
            for path in (output / "feedback").rglob(f"*.{ending}")
            if path.stem != "index"
        ]
        assert sorted(feedback) == sorted(verdicts.values())
    page = (output / "feedback" / "index.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="([^"#]+)\.html"', page))
    assert links == set(verdicts.values())
    assert [each.student for each in read_verdicts(output / "verdicts")] == sorted(verdicts)
    assert all(find_verdict(output / "verdicts", student) for student in verdicts)
    return verdicts


@pytest.mark.parametrize(
    "spelled",
    [
        "divided by the dimension (in scale_scores): 1 student",
        "Divided by the dimension (in scale_scores)",
        "divided by the dimension",
        "scale_scores/divided_by_the_dimension",
        "5: You divide by the embedding dimension itself, but its square root is …",
    ],
)
def test_a_mistake_is_known_by_whatever_is_printed_of_it(homework: Path, spelled: str) -> None:
    run = attn("report", homework, "--tell", spelled, "Look at the paper.")
    assert run.code == 0, run.err
    assert "Look at the paper." in page(homework, "dora")
    assert "Look at the paper." not in page(homework, "ada")


def test_a_mistake_is_known_by_the_sentence_in_the_csv_unless_two_are_told_so(
    homework: Path,
) -> None:
    table = (results(homework) / "grades.csv").read_text(encoding="utf-8")
    said = {row["student"]: row["diagnosis"] for row in csv.DictReader(table.splitlines())}
    assert attn("report", homework, "--tell", said["dora"], "For you.").code == 0
    assert "For you." in page(homework, "dora")
    run = attn("report", homework, "--tell", said["ada"], "For you.")
    assert run.code == 2 and "may be several mistakes" in " ".join(run.err.split())


def test_a_mistake_that_is_spelled_almost_so_is_named_first(homework: Path) -> None:
    run = attn("report", homework, "--tell", "divided by dimension", "words")
    assert run.code == 2
    assert "there are: scale_scores/divided_by_the_dimension" in " ".join(run.err.split())


def test_a_mistake_that_nobody_made_is_refused_with_those_that_there_are(homework: Path) -> None:
    run = attn("report", homework, "--tell", "softmax/abc", "words")
    assert run.code == 2
    assert "nobody in this class has made the mistake 'softmax/abc'" in run.err
    assert called(homework) in run.err
    assert not (results(homework) / PARAGRAPHS).exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Look at the paper."], "write the words in quotes, after the mistake"),
        (["softmax/abc"], "write the words in quotes"),
        (["softmax/abc", "  "], "write the words in quotes"),
    ],
)
def test_without_a_mistake_or_words_nothing_is_begun(
    words: list[str], said: str, tmp_path: Path
) -> None:
    run = attn("report", tmp_path, "--tell", *words)
    assert run.code == 2
    assert said in " ".join(run.err.split())


def test_a_report_judges_nobody(homework: Path) -> None:
    before = page(homework, "ada")
    (results(homework) / "feedback" / "ada.html").unlink()
    assert attn("report", homework).code == 0
    assert page(homework, "ada") == before


BROKEN = ("empty", "no_notebook", "link")


def test_no_hand_in_keeps_a_class_from_its_report_or_its_words(homework: Path) -> None:
    (homework / "empty").mkdir()
    (homework / "no_notebook.ipynb").write_text("no JSON", encoding="utf-8")
    (homework / "link.py").symlink_to(homework / "ada.py")
    assert attn("grade", homework).code == 1
    with (homework / "ben.py").open("a", encoding="utf-8") as file:
        file.write("\nmore = 1\n")
    for command in (("report",), ("report", "--tell", called(homework), WORDS)):
        run = attn(command[0], homework, *command[1:])
        assert run.code == 1, run.err
        assert {*re.findall(r"^not graded: (\w+):", run.out, re.MULTILINE)} == {*BROKEN, "ben"}
        assert "ben: it has not been judged as it is now. Grade again." in run.out
    assert SHOWN in page(homework, "ada")
    assert "Not graded yet" in page(homework, "ben") and "Not graded yet" in page(homework, "empty")
    run = attn("grade", homework)  # what the line says settles it
    assert run.code == 1 and "not graded: ben" not in run.out
    assert SHOWN in page(homework, "ben")


def test_one_syntax_error_of_a_class_is_one_mistake(tmp_path: Path) -> None:
    folder = tmp_path / "homework"
    folder.mkdir()
    unclosed = "def softmax(scores):\n{}    weights = np.exp((scores)\n    return weights\n"
    for number, student in enumerate(CLASS):
        text = written(NAME, softmax=unclosed.format("    more = 1\n" * number))
        (folder / f"{student}.py").write_text(text, encoding="utf-8")
    assert attn("grade", folder).code == 0
    class_page = page(folder, "index")
    (line,) = re.findall(r"<summary>(.*)<strong>without a name</strong>", class_page)
    assert "4<span" in line and "students" in line
    waiting = json.loads((results(folder) / "needs-you.json").read_text())["needs_you"]
    (remark,) = (each for each in waiting if "never closed" in each["reason"])
    assert remark["students"] == sorted(CLASS)


def test_where_nobody_is_judged_by_the_checks_of_now_the_cure_works(
    homework: Path, tmp_path: Path
) -> None:
    before = page(homework, "ada")
    with (copy_exercise(NAME, tmp_path / "solutions") / "graders.py").open("a") as file:
        file.write("# other checks\n")
    options = ("--solutions", tmp_path / "solutions")
    run = attn("report", homework, *options)
    assert run.code == 2 and "nobody in this class has been judged" in run.err
    assert "attn grade" in run.err and page(homework, "ada") == before
    assert attn("grade", homework, *options).code == attn("report", homework, *options).code == 0


def test_a_class_that_was_graded_with_other_settings_says_which_and_both_cures_work(
    homework: Path,
) -> None:
    before, alone = page(homework, "ada"), "--steps-earn-alone"
    mistake = called(homework)
    for command in (("report", homework), ("report", homework, "--tell", mistake, WORDS)):
        run = attn(*command, alone)
        assert run.code == 2 and page(homework, "ada") == before
        assert "this class was graded without `--steps-earn-alone` (in a course," in run.err
        assert "which is not so now" in run.err
    assert attn("report", homework).code == 0 and page(homework, "ada") == before
    step, code = mistake.split("/")
    write_paragraph(results(homework), Paragraph(step, code, WORDS))
    assert attn("grade", homework, alone).code == attn("report", homework, alone).code == 0
    assert SHOWN in page(homework, "ada")
    assert attn("report", homework).code == 0, "what was judged before is kept as well"


def test_no_report_and_no_words_change_what_a_class_was_graded_with(homework: Path) -> None:
    """In a folder, the points for a part of the checks are an option of each command."""
    part = "--partial-points"
    shutil.copy(ROOT / "tests" / "sample_class" / NAME / "mistake_weights_too_large.py", homework)
    assert attn("grade", homework, part).code == 0
    before = (results(homework) / "grades.csv").read_bytes()
    for command in (("report", homework), ("report", homework, "--tell", called(homework), WORDS)):
        run = attn(*command)
        assert run.code == 2 and "automatic points, and by the settings of now" in run.err
        assert (results(homework) / "grades.csv").read_bytes() == before
        assert not (results(homework) / PARAGRAPHS).exists()
        assert attn(*command, part).code == 0
    assert (results(homework) / "grades.csv").read_bytes() == before
    assert attn("grade", homework).code == attn("report", homework).code == 0


def test_a_class_that_was_never_graded_has_no_report(tmp_path: Path) -> None:
    folder = tmp_path / "homework"
    folder.mkdir()
    (folder / "ada.py").write_text(written(NAME), encoding="utf-8")
    run = attn("report", folder)
    assert run.code == 2
    assert "this class has not been graded yet" in run.err
    assert [each.name for each in tmp_path.iterdir()] == ["homework"]


@pytest.mark.parametrize("damaged", ["{", "[1]", '[{"step": 1, "code": "", "text": ""}]'])
def test_a_damaged_file_of_words_is_refused_and_nothing_is_lost(
    tmp_path: Path, damaged: str
) -> None:
    file = tmp_path / PARAGRAPHS
    file.write_text(damaged, encoding="utf-8")
    with pytest.raises(KitError, match="this file is damaged"):
        write_paragraph(tmp_path, Paragraph(STEP, "3f2a9c01", WORDS))
    assert file.read_text(encoding="utf-8") == damaged


@pytest.mark.slow  # the class is graded a second time, by another catalogue
def test_a_draft_taken_over_names_the_mistake(homework: Path, tmp_path: Path) -> None:
    attn("report", homework, "--tell", called(homework), WORDS)
    draft = (results(homework) / DRAFTS).read_text(encoding="utf-8")
    assert "Ada" not in draft
    name = f"unnamed_{called(homework).split('/')[1]}"
    body = draft[draft.index(f"    def {name}") :]
    exercise = copy_exercise(NAME, tmp_path / "solutions")
    catalogue = exercise / "misconceptions.py"
    text = catalogue.read_text(encoding="utf-8")
    assert text.count(f"\nclass {STEP}:\n") == 1
    body = body.replace("softmax(", "solution.softmax(")
    taken = text.replace(f"\nclass {STEP}:\n", f"\nclass {STEP}:\n{body}\n")
    catalogue.write_text(taken, encoding="utf-8")
    run = attn("grade", homework, "--solutions", tmp_path / "solutions")
    assert run.code == 0, run.err
    for student in ("ada", "ben"):
        verdict = json.loads((results(homework) / "verdicts" / f"{student}.json").read_text())
        (step,) = (each for each in verdict["steps"] if each["name"] == STEP)
        assert {each["finding"]["misconception"] for each in step["checks"] if each["finding"]} == {
            name
        }
