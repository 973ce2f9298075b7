"""From a download to a platform's own table: collected, graded, filled in by real commands."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from autograder.reports.grades_csv import read_verdicts
from demo.sample_class import hand_in
from platforms.platform_downloads import ROOT, attn, download, zipped
from support.released_course import NAME, sample_class
from support.verdicts import EXERCISE

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
    text = (tmp_path / "out.csv").read_bytes().decode()
    assert text.startswith("\ufeffIdentifier") and text.count("\r\n") == 5
    filled = [row[3] for row in csv.reader(io.StringIO(text, newline=""))][1:]
    points = [f"{verdicts[f'zoe_{name}'].points:g}" for name in reversed(STUDENTS)]
    assert filled == [*points, ""] and len(set(points)) == 2
