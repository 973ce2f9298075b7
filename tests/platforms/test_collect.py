"""`attn platform collect` on what platforms give to download, and what nobody wishes to get."""

from __future__ import annotations

import csv
import os
import stat
import subprocess
import warnings
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath

import pytest

from autograder.course.creation import Course, read_course
from autograder.platforms import archive, collected_download
from autograder.platforms.collected_download import Delivered, laid_out
from platforms.platform_downloads import attn, download, tree, zipped
from support.typed_commands import Run

NAME = "numpy_single_head"

CANVAS = {
    "doejane_111_9001_numpy_single_head.ipynb": "jane, first",
    "doejane_111_9005_numpy_single_head-1.ipynb": "jane, second",
    "curiemarie_LATE_222_9002_numpy_single_head-2.py": "marie",
    "noetheremmy_333_9003_notes.pdf": "emmy",
}
MOODLE = {
    "Jane Doe_501_assignsubmission_file_/numpy_single_head.ipynb": "jane",
    "Marie Curie_502_assignsubmission_file/homework/a.py": "marie",
    "José Núñez_503_assignsubmission_file_numpy_single_head.py": "josé",
    "Jane Doe_501_assignsubmission_onlinetext_/onlinetext.html": "typed",
}
GRADESCOPE = {
    "assignment_7_export/submission_metadata.yml": (
        "submission_71:\n  :submitters:\n  - :name: Jane Doe\n    :sid: '4711'\n"
        "    :email: jane@uni.edu\n  :created_at: 2026-04-26 17:34:00.861687000 Z\n"
        "submission_72:\n  :submitters:\n  - :name: Marie Curie\n    :email: marie@uni.edu\n"
        "  - :name: Emmy Noether\n    :sid: 4712\n"
    ),
    "assignment_7_export/submission_71/numpy_single_head.py": "jane",
    "assignment_7_export/submission_72/numpy_single_head.py": "marie and emmy",
}
BRIGHTSPACE: dict[str, bytes | str] = {
    "index.html": "<table>",
    "111-67890 - Jane Doe - Nov 3, 2026 1105 AM/numpy_single_head.ipynb": "jane, first",
    "111-67890 - Jane Doe - Nov 3, 2026 1250 PM/again.ipynb": "jane, second",
    "111-67890 - Jane Doe - Nov 5, 2026 0905 AM/notes.txt": "jane's notes",
    "222-67890 - Jürgen-Ernst Müller - 3 März, 2026 1159/hw.zip": zipped({"a/x.py": "jürgen"}),
    "333-67890 - Jane Doe - Nov 3, 2026 1159 PM/x.py": "another Jane",
}
BLACKBOARD = {
    "Home_work 3_jdoe1_attempt_2026-11-03-11-05-00.txt": "Name: Jane Doe (jdoe1)",
    "Home_work 3_jdoe1_attempt_2026-11-03-11-05-00_numpy_single_head.ipynb": "jane, first",
    "Home_work 3_jdoe1_attempt_2026-11-05-11-05-00.txt": "Name: Jane Doe (jdoe1)",
    "Home_work 3_jdoe1_attempt_2026-11-05-11-05-00_again.ipynb": "jane, second",
    "Home_work 3_mcurie_attempt_2026-11-04-11-05-00_x.py": "marie",
}
GITHUB = {
    "attention-ada/.github/workflows/x.yml": "hidden",
    "attention-ada/numpy_single_head/numpy_single_head.ipynb": "ada",
    "attention-ada/setup.py": "setup",
    "attention-bob-lee/numpy_single_head.py": "bob",
}


def collect(zip_file: Path, folder: Path, *words: object) -> Run:
    return attn("platform", "collect", zip_file, "--to", folder, "--exercise", NAME, *words)


def collected(folder: Path, files: Mapping[str, bytes | str], roster: str = "") -> Run:
    """Collect a download of these files into `hw`, by this list of the class if there is one."""
    listed = folder / "roster.csv"
    listed.write_text(roster, "utf-8")
    words = ("--roster", listed) if roster else ()
    return collect(download(folder / "c.zip", files), folder / "hw", *words)


def new_course(folder: Path) -> Course:
    assert attn("course", "new", folder, "--exercise", NAME).code == 0
    return read_course(folder)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def not_taken(folder: Path) -> dict[str, str]:
    return {row["file"]: row["reason"] for row in table(folder / "not-taken.csv")}


def test_a_canvas_download_becomes_a_folder_for_each_student(tmp_path: Path) -> None:
    run = collected(tmp_path, CANVAS)
    assert run.code == 0 and "recognised: Canvas" in run.out, run.out + run.err
    assert tree(tmp_path / "hw") == {
        "doejane/numpy_single_head.ipynb": "jane, second",
        "curiemarie/numpy_single_head.py": "marie",
        "noetheremmy/notes.pdf": "emmy",
    }
    assert "marked late by the platform: curiemarie" in run.out
    (lost,) = not_taken(tmp_path / "hw").values()
    assert lost == "doejane_111_9005_numpy_single_head-1.ipynb was handed in later"


def test_a_moodle_download_is_read_with_folders_and_without(tmp_path: Path) -> None:
    run = collected(tmp_path, MOODLE)
    assert run.code == 0 and "recognised: Moodle" in run.out, run.out + run.err
    assert tree(tmp_path / "hw") == {
        "jane_doe/numpy_single_head.ipynb": "jane",
        "marie_curie/a.py": "marie",
        "jose_nunez/numpy_single_head.py": "josé",
    }
    assert "typed into the platform" in str(not_taken(tmp_path / "hw"))


def test_a_group_in_gradescope_has_handed_in_for_each_of_its_members(tmp_path: Path) -> None:
    roster = (
        "First Name,Last Name,SID,Email\nJane,Doe,4711,jane@uni.edu\n"
        "Marie,Curie,99,marie@uni.edu\nEmmy,Noether,4712,e@uni.edu\n"
    )
    run = collected(tmp_path, GRADESCOPE, roster)
    assert run.code == 0 and "recognised: Gradescope" in run.out, run.out + run.err
    assert tree(tmp_path / "hw") == {
        "4711/numpy_single_head.py": "jane",
        "99/numpy_single_head.py": "marie and emmy",
        "4712/numpy_single_head.py": "marie and emmy",
    }
    rows = {row["student_id"]: row for row in table(tmp_path / "hw" / "collected.csv")}
    assert rows["4711"]["handed_in"] == "2026-04-26 17:34:00 UTC"


def test_of_several_attempts_in_brightspace_the_last_with_work_in_it_counts(tmp_path: Path) -> None:
    zip_file = download(tmp_path / "b.zip", BRIGHTSPACE)
    run = collect(zip_file, tmp_path / "hw")
    assert run.code == 0 and "recognised: Brightspace" in run.out, run.out + run.err
    assert tree(tmp_path / "hw") == {
        "jane_doe_111/again.ipynb": "jane, second",
        "jane_doe_111/notes.txt": "jane's notes",
        "jane_doe_333/x.py": "another Jane",
        "jurgen_ernst_muller/x.py": "jürgen",
    }
    reasons = not_taken(tmp_path / "hw")
    assert reasons["index.html"] == "it says who handed in what"
    assert list(reasons.values()).count("a later attempt counts") == 1 and len(reasons) == 2
    listed = tmp_path / "hw" / "collected.csv"  # it is a roster for the next download
    assert collect(zip_file, tmp_path / "again", "--roster", listed).code == 0
    assert tree(tmp_path / "again") == tree(tmp_path / "hw")


def test_a_blackboard_download_has_a_login_and_an_attempt_in_every_name(tmp_path: Path) -> None:
    roster = "student_id,username\nj1,JDoe1\nm1,mcurie\n"
    run = collected(tmp_path, BLACKBOARD, roster)
    assert run.code == 0 and "recognised: Blackboard" in run.out, run.out + run.err
    assert tree(tmp_path / "hw") == {"j1/again.ipynb": "jane, second", "m1/x.py": "marie"}


@pytest.mark.parametrize(
    ("platform", "names"),
    [
        ("Brightspace", ["1234-678 - Jane Doe - 3. 11. 2026/x.py", "1235-678 - M C - 4. 11./x.py"]),
        ("Blackboard", ["HW_jdoe1_attempt_2026_x.py", "HW_mcurie_attempt_2026_x.py"]),
        ("Sakai", ["HW/Doe, Jane(jd)/Submission attachment(s)/x.py", "HW/grades.csv"]),
        ("Sakai", ["HW/Doe, J(jd)/timestamp.txt", "HW/Doe, J(jd)/Submission attachment(s)/x.py"]),
        ("Microsoft Teams", ["Submitted files/Jane Doe/HW/Version 2/x.py"]),
        ("Schoology", ["Doe, Jane - 12/Revision 1 - On time/x.py"]),
        ("ILIAS", ["Doe_Jane_jd_123/x.py", "Curie_Marie_mc_124/x.py"]),
        ("Google Classroom", ["Jane Doe - x.py", "Anna-Marie Curie - y.ipynb"]),
    ],
)
def test_what_looks_like_another_platform_is_refused_aloud(
    tmp_path: Path, platform: str, names: list[str]
) -> None:
    """Its names would become students, and nobody would be found in the list of the class."""
    zip_file = download(tmp_path / "x.zip", dict.fromkeys(names, "jane"))
    run = collect(zip_file, tmp_path / "hw")
    assert run.code == 2 and f"looks like a download of {platform}" in run.err, run.out
    assert "add --platform plain" in run.err and not (tmp_path / "hw").exists()
    assert collect(zip_file, tmp_path / "hw", "--platform", "plain").code in (0, 1)


def test_repositories_of_github_classroom_are_known_by_what_they_share(tmp_path: Path) -> None:
    run = collected(tmp_path, GITHUB)
    assert run.code == 0 and "recognised: GitHub Classroom" in run.out, run.out
    assert tree(tmp_path / "hw") == {
        "ada/numpy_single_head.ipynb": "ada",
        "ada/setup.py": "setup",
        "bob-lee/numpy_single_head.py": "bob",
    }


def test_folders_files_and_zips_named_after_students_need_no_platform(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "hw1/ada/numpy_single_head.py": "ada",
        "hw1/bob.zip": zipped({"work/numpy_single_head.py": "bob", "__MACOSX/._x": "x"}),
        "hw1/carl.py": "carl",
    }
    run = collected(tmp_path, files)
    assert run.code == 0 and "no platform" in run.out, run.out + run.err
    assert tree(tmp_path / "hw") == {
        "ada/numpy_single_head.py": "ada",
        "bob/numpy_single_head.py": "bob",
        "carl/carl.py": "carl",
    }


def test_who_is_not_in_the_roster_or_not_alone_there_is_told_and_not_guessed(
    tmp_path: Path,
) -> None:
    roster = (
        "\ufeffStudent;ID;SIS Login ID;Section\n"
        "Doe, Jane;111;jdoe;A\nDoe, Jane;112;jdoe2;A\nCurie, Marie;;mcurie;A\n"
        "Curie, Marie;;mcurie2;A\n"
    )
    run = collected(tmp_path, CANVAS, roster)
    assert run.code == 1
    assert set(tree(tmp_path / "hw")) == {"jdoe/numpy_single_head.ipynb"}
    assert "curiemarie: several students have this name: mcurie, mcurie2" in run.out
    assert "noetheremmy: not in the list of the class" in run.out
    assert "curiemarie: several" in str(not_taken(tmp_path / "hw"))


@pytest.mark.parametrize(
    ("roster", "ids"),
    [
        ('"student_id", "name"\n"m1", "Jane Doe"\n"m2", "Marie Curie"\n"m3", "José Núñez"', "m"),
        (
            "\ufeffVorname;Nachname;Matrikelnummer;E-Mail\nJane;Doe;7001;j@x.de\nMarie;Curie;7002;m@x\n"
            "José;Núñez;7003;n@x.de",
            "700",
        ),
        (
            "Name;Vorname;Studiengang;Matrikel\nDoe;Jane;Physik;7001\nCurie;Marie;Physik;7002\n"
            "Núñez;José;Physik;7003",
            "700",
        ),
        ("Numéro,Étudiant,Groupe\n7001,Jane Doe,A\n7002,Marie Curie,A\n7003,José Núñez,B", "700"),
        (
            "OrgDefinedId,Username,Last Name,First Name\n#7001,#jd,Doe,Jane\n"
            "#7002,#mc,Curie,Marie\n#7003,#jn,Núñez,José",
            "",
        ),
    ],
)
def test_a_list_is_read_in_other_languages_and_with_blanks_after_commas(
    tmp_path: Path, roster: str, ids: str
) -> None:
    run = collected(tmp_path, MOODLE, roster)
    assert run.code == 0, run.out + run.err
    wanted = [f"{ids}{number}" for number in (1, 2, 3)] if ids else ["jd", "jn", "mc"]
    assert sorted(name.split("/")[0] for name in tree(tmp_path / "hw")) == wanted


def test_where_nobody_is_found_in_the_list_its_headings_are_named(tmp_path: Path) -> None:
    run = collected(tmp_path, MOODLE, "Login,Kennung\njd,x9\nmc,x8\n")
    assert run.code == 1 and "They are: Login, Kennung. Names are read below `name`" in run.out


def test_a_later_download_needs_a_word_before_it_replaces_what_is_there(tmp_path: Path) -> None:
    first = download(tmp_path / "1.zip", {"ada/x.py": "one", "bob/x.py": "bob"})
    second = download(tmp_path / "2.zip", {"ada/x.py": "two", "bob/x.py": "bob"})
    assert collect(first, tmp_path / "hw").code == 0
    kept = collect(second, tmp_path / "hw")
    assert kept.code == 1 and "nothing says that this one is later (ada)" in kept.out
    assert "1 student: there already, and the same" in kept.out
    assert tree(tmp_path / "hw")["ada/x.py"] == "one"
    assert collect(second, tmp_path / "hw", "--replace").code == 0
    assert tree(tmp_path / "hw") == {"ada/x.py": "two", "bob/x.py": "bob"}


def test_the_list_of_who_is_who_keeps_those_of_an_earlier_download(tmp_path: Path) -> None:
    late = {"turingalan_LATE_444_9009_numpy_single_head.py": "alan"}
    for name, files in {"1.zip": CANVAS, "2.zip": late}.items():
        assert collect(download(tmp_path / name, files), tmp_path / "hw").code == 0
    rows = table(tmp_path / "hw" / "collected.csv")
    assert [row["canvas_id"] for row in rows] == ["111", "222", "333", "444"]


def test_no_name_makes_the_folder_look_like_a_course(tmp_path: Path) -> None:
    files = {"attn.toml.py": "x = 1", "nbgrader_config.py/x.py": "x = 1", "collected.csv.py": "x"}
    assert collected(tmp_path, files).code == 0
    assert {path.name for path in (tmp_path / "hw").iterdir() if path.is_dir()} == {
        *("attn_toml", "nbgrader_config_py", "collected_csv")
    }


def test_in_a_course_the_moment_decides_which_hand_in_is_later(tmp_path: Path) -> None:
    course = new_course(tmp_path / "course")
    zip_file = download(tmp_path / "g.zip", GRADESCOPE)
    words = ("platform", "collect", zip_file, "--course", course.directory)
    run = attn(*words)
    assert run.code == 0, run.out + run.err
    jane = course.submitted(NAME, "jane_doe")
    assert (jane / "timestamp.txt").read_text() == "2026-04-26 17:34:00.861687 UTC\n"
    (jane / "numpy_single_head.py").write_text("earlier")
    (jane / "timestamp.txt").write_text("2026-04-25 10:00:00 UTC")
    assert "1 student: in place of an earlier one (jane_doe)" in attn(*words).out
    assert (jane / "numpy_single_head.py").read_text() == "jane"
    (jane / "numpy_single_head.py").write_text("later")
    (jane / "timestamp.txt").write_text("2026-04-27 10:00:00 UTC")
    run = attn(*words)
    assert run.code == 1 and "a later hand-in is there (jane_doe)" in run.out
    assert (jane / "numpy_single_head.py").read_text() == "later"


# --- what nobody would wish to get --------------------------------------------------------------


def test_names_that_lead_out_links_and_hidden_files_are_listed_not_written(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("eve/link.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = tmp_path / "hostile.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("ada/x.py", "ada")
        for name in ("../../out.py", "/abs.py", "ada/../../out.py", "..\\out.py", "C:\\x\\y.py"):
            made.writestr(name, "out")
        made.writestr(link, "/etc/passwd")
        made.writestr("ada/.ipynb_checkpoints/x-checkpoint.ipynb", "old")
        made.writestr("__MACOSX/ada/._x.py", "mac")
    run = collect(path, tmp_path / "deep" / "hw")
    assert run.code == 1 and "eve: nothing that was handed in could be unpacked" in run.out
    assert tree(tmp_path / "deep") == {"hw/ada/x.py": "ada"}
    assert not list(tmp_path.glob("*.py"))
    reasons = not_taken(tmp_path / "deep" / "hw")
    assert len(reasons) == 8
    assert reasons["eve/link.py"].startswith("it is a link")
    out = [name for name, reason in reasons.items() if "leads out" in reason]
    assert len(out) == 5 and "../../out.py" in out and "../out.py" in out


def test_a_bomb_costs_its_owner_a_file_and_nobody_else_anything(tmp_path: Path) -> None:
    bomb = zipped({"x.py": bytes(32 * archive.MB)})
    deep = zipped({"x.py": "deep"})
    for _ in range(archive.DEEPEST + 1):
        deep = zipped({"more.zip": deep})
    files: dict[str, bytes | str] = {
        "ada/x.py": "ada",
        "eve/bomb.zip": bomb,
        "fay/deep.zip": deep,
        "gus/broken.zip": b"PK no zip",
    }
    run = collected(tmp_path, files)
    assert run.code == 1 and tree(tmp_path / "hw") == {"ada/x.py": "ada"}
    assert "as a zip bomb is (eve/bomb.zip/x.py)" in run.out
    assert "a zip inside more than 3 others" in run.out
    assert "it is called a zip, but cannot be read as one (gus/broken.zip)" in run.out


def test_one_student_cannot_use_up_what_is_there_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_FILES_EACH", 2)
    files: dict[str, bytes | str] = {f"eve/{number}.py": "x" for number in range(4)}
    path = download(tmp_path / "c.zip", {**files, "ada/x.py": "ada"})
    run = collect(path, tmp_path / "hw")
    assert run.code == 1
    assert "not taken whole: eve: more than 2 files of one student" in run.out
    assert set(tree(tmp_path / "hw")) == {"eve/0.py", "eve/1.py", "ada/x.py"}
    assert not_taken(tmp_path / "hw") == {"eve/2.py": "more than 2 files of one student"}


@pytest.mark.parametrize("name", ["n{}", ".hidden{}", "folder{}/", "same"])
def test_what_is_not_taken_is_counted_too_and_told_once(tmp_path: Path, name: str) -> None:
    """Ten small zips that name 80,000 things, of which each would cost a line and memory."""
    with zipfile.ZipFile(content := BytesIO(), "w") as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one name several times
        for number in range(8_000):
            made.writestr(name.format(number), b"")
    stuffed = zipped({f"z{number}.zip": content.getvalue() for number in range(10)})
    files: dict[str, bytes | str] = {"eve.zip": stuffed, "ada.py": "ada"}
    run = collected(tmp_path, files)
    assert run.code == 1 and tree(tmp_path / "hw")["ada/ada.py"] == "ada"
    assert "not taken whole: eve: more than" in run.out
    assert len(not_taken(tmp_path / "hw")) <= archive.MOST_NAMES_EACH
    assert sum(row.startswith("more than") for row in not_taken(tmp_path / "hw").values()) == 1


def test_tables_of_contents_are_measured_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "LONGEST_DIRECTORIES_EACH", 300)
    several = zipped({f"{number}.zip": zipped({"x.py": "eve"}) for number in range(9)})
    files: dict[str, bytes | str] = {"eve.zip": several, "ada.zip": zipped({"x.py": "ada"})}
    run = collect(path := download(tmp_path / "c.zip", files), tmp_path / "hw")
    assert run.code == 1 and "eve: zips with far too many files of one student" in run.out
    assert tree(tmp_path / "hw") == {"ada/x.py": "ada"}
    monkeypatch.setattr(archive, "LONGEST_DIRECTORY", 50)
    run = collect(path, tmp_path / "hw2")
    assert run.code == 2 and "holds far too many files for one class" in run.err


def test_nothing_of_students_lies_outside_of_where_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed command left there is gone after the next one; another that runs keeps its."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    ended = subprocess.Popen(["true"])
    ended.wait()
    killed = tmp_path / "hw" / f".attn-collect-{ended.pid}-x"
    running = tmp_path / "hw" / f".attn-collect-{os.getpid()}-x"
    for folder in (killed, running):
        folder.mkdir(parents=True)
        (folder / "0").write_text("a student's")
    run = collected(tmp_path, {"ada/x.py": "ada"})
    assert run.code == 0, run.out + run.err
    assert set(tree(tmp_path / "hw")) == {"ada/x.py", f"{running.name}/0"}


def test_names_from_macos_and_msdos_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = download(tmp_path / "names.zip", {"ada/dos_e.py": "1", "bob/mac_EE.py": "2"})
    content = path.read_bytes().replace(b"mac_EE.py", "mac_é.py".encode())  # and no UTF-8 flag
    path.write_bytes(content.replace(b"dos_e.py", "dos_é.py".encode("cp437")))
    assert collect(path, tmp_path / "hw").code == 0
    assert tree(tmp_path / "hw") == {"ada/dos_é.py": "1", "bob/mac_é.py": "2"}


def test_a_file_name_does_not_make_somebody_another_student(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "doejane_111_9001_x.py": "jane",
        "evileve_222_9009_doejane_111_9999_x.py": "eve",
        "evileve_222_9010_zip.zip": zipped({"doejane_111_9999_x.py": "eve, too"}),
    }
    assert collected(tmp_path, files).code == 0
    assert tree(tmp_path / "hw") == {
        "doejane/x.py": "jane",
        "evileve/doejane_111_9999_x.py": "eve",
        "evileve/zip.zip/doejane_111_9999_x.py": "eve, too",
    }


def test_a_file_name_does_not_make_the_download_another_platforms(tmp_path: Path) -> None:
    eve = {f"evileve_222_900{n}_x_assignsubmission_file_{n}.py": "eve" for n in range(4)}
    run = collected(tmp_path, CANVAS | eve)
    assert run.code == 0 and "recognised: Canvas" in run.out, run.out
    assert tree(tmp_path / "hw")["doejane/numpy_single_head.ipynb"] == "jane, second"
    mallory = {f"M_9_assignsubmission_file_1_2_{n}.py": "mallory" for n in range(4)}
    run = collect(download(tmp_path / "m.zip", MOODLE | mallory), tmp_path / "hw2")
    assert run.code == 0 and "recognised: Moodle" in run.out, run.out
    assert tree(tmp_path / "hw2")["jane_doe/numpy_single_head.ipynb"] == "jane"


def test_files_that_get_one_name_are_each_given_another_at_the_first_or_second_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A student may hand in thousands of them, in which only what nobody sees differs."""
    tried: list[str] = []

    class Tried(PurePosixPath):
        def with_name(self, name: str) -> Tried:
            tried.append(name)
            return super().with_name(name)

    monkeypatch.setattr(collected_download, "PurePosixPath", Tried)
    unseen = (
        "".join("\u200b\u200c"[number >> bit & 1] for bit in range(9)) for number in range(500)
    )
    given = [
        Delivered(archive.UnpackedFile((f"{name}x.py",), Path(), 0), (f"{name}x.py",))
        for name in unseen
    ]
    laid, _ = laid_out(given, NAME)
    assert len({path for path, _ in laid}) == 500
    assert len(tried) <= 2 * 500


@pytest.mark.parametrize("field", [12, 16])  # how long the table of contents is, and where it lies
def test_a_zip_that_points_before_its_beginning_costs_only_its_owner(
    tmp_path: Path, field: int
) -> None:
    inner = bytearray(zipped({"x.py": "eve"}))
    at = inner.rfind(b"PK\x05\x06") + field
    inner[at : at + 4] = (100_000).to_bytes(4, "little")
    files: dict[str, bytes | str] = {
        "doejane_1_2_x.py": "jane",
        "evileve_2_3_x.zip": bytes(inner),
    }
    run = collected(tmp_path, files)
    assert run.code == 1 and tree(tmp_path / "hw") == {"doejane/x.py": "jane"}, run.err
    assert "not taken: evileve: nothing that was handed in" in run.out


def test_a_number_in_a_file_name_means_a_later_hand_in_only_in_canvas(tmp_path: Path) -> None:
    folder = "Jane Doe_501_assignsubmission_file"
    files = {f"{folder}/{NAME}.py": "jane", f"{folder}/{NAME}-1.py": "an old copy"}
    run = collected(tmp_path, files)
    assert run.code == 0, run.out + run.err
    assert tree(tmp_path / "hw") == {
        f"jane_doe/{NAME}.py": "jane",
        f"jane_doe/{NAME}-1.py": "an old copy",
    }


def test_a_name_does_not_make_somebody_the_student_who_has_another_number(tmp_path: Path) -> None:
    roster = "student_id,name,canvas_id\njd1,Jane Doe,111\nmc2,Marie Curie,\n"
    files = {"doejane_555_9001_x.py": "another Jane", "curiemarie_222_9002_x.py": "marie"}
    run = collected(tmp_path, files, roster)
    assert run.code == 1 and tree(tmp_path / "hw") == {"mc2/x.py": "marie"}
    assert "not taken: doejane: not in the list of the class" in run.out


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ("s1,Jane Doe,11,S1\ns1,Jane Doe,11,S2\n", 0),  # in two sections
        ('s1,Jane Doe,,S1\ns1,"Doe, Jane",,S2\n', 0),
        ("s1,Jane Doe,11,S1\ns1,Jane Doe,12,S1\n", 2),
        ("s1,Jane Doe,,S1\ns1,Marie Curie,,S1\n", 2),
    ],
)
def test_a_list_in_which_an_id_belongs_to_two_is_refused(
    tmp_path: Path, rows: str, code: int
) -> None:
    roster = f"student_id,name,canvas_id,section\n{rows}"
    files = {"doejane_11_9001_x.py": "jane"}
    run = collected(tmp_path, files, roster)
    assert run.code == code and ("the id s1 belongs to two" in run.err) == bool(code)


def test_work_whose_name_does_not_say_whose_it_is_ends_with_1(tmp_path: Path) -> None:
    path = download(tmp_path / "m.zip", MOODLE | {"README.txt": "words"})
    assert collect(path, tmp_path / "hw").code == 0
    path = download(tmp_path / "n.zip", MOODLE | {"numpy_single_head.ipynb": "whose?"})
    run = collect(path, tmp_path / "hw2")
    assert run.code == 1 and "1 file not taken: its name does not say" in run.out


def test_a_student_does_not_say_when_the_hand_in_came(tmp_path: Path) -> None:
    course = new_course(tmp_path / "course")
    words = "2001-01-01 00:00:00 UTC"
    files = {"doejane_1_2_x.py": "jane", "doejane_1_3_timestamp.txt": words}
    run = attn(
        "platform", "collect", download(tmp_path / "c.zip", files), "--course", course.directory
    )
    assert run.code == 0, run.out + run.err
    assert tree(course.submitted(NAME, "doejane")) == {"x.py": "jane", "timestamp~2.txt": words}
    files = {"assignment_7_export/submission_71/timestamp.txt/a.txt": "a", **GRADESCOPE}
    run = attn(
        "platform", "collect", download(tmp_path / "g.zip", files), "--course", course.directory
    )
    assert run.code == 0, run.out + run.err
    found = tree(course.submitted(NAME, "jane_doe"))
    assert found.pop("timestamp.txt").startswith("2026-04-26 17:34:00.861687")
    assert found == {"numpy_single_head.py": "jane", "timestamp~2.txt/a.txt": "a"}


def test_in_a_shared_course_the_others_can_use_what_was_collected(tmp_path: Path) -> None:
    course = new_course(tmp_path / "course")
    course.directory.chmod(0o2770)
    path = download(tmp_path / "c.zip", {"doejane_1_2_x.py": "jane"})
    own = os.umask(0o077)
    try:
        run = attn("platform", "collect", path, "--course", course.directory)
    finally:
        os.umask(own)
    assert run.code == 0, run.out + run.err
    folder = course.submitted(NAME, "doejane")
    for made in (folder / "x.py", folder, folder.parent, course.hand_ins):
        assert oct(made.stat().st_mode & 0o670) == oct(0o660 if made.suffix else 0o670), made
    assert course.directory.joinpath(f"collected-{NAME}.csv").stat().st_mode & 0o777 == 0o660


def test_a_file_and_a_folder_of_one_name_both_get_a_place(tmp_path: Path) -> None:
    inner = zipped({"x.py": "jane", "a": "file", "A/b.txt": "b", "a/c.txt": "c", "A~2": "2"})
    run = collected(tmp_path, {"doejane_1_2_x.zip": inner})
    assert run.code == 0, run.out + run.err
    assert sorted(tree(tmp_path / "hw").values()) == ["2", "b", "c", "file", "jane"]
    assert tree(tmp_path / "hw")["doejane/A~2/b.txt"] == "b"


def test_two_who_would_be_one_student_are_told_and_not_mixed(tmp_path: Path) -> None:
    files = {"Ada/x.py": "one", "ada/x.py": "two", "bob/x.py": "bob"}
    run = collected(tmp_path, files)
    assert run.code == 1 and tree(tmp_path / "hw") == {"bob/x.py": "bob"}
    assert run.out.count("several in the download would be") == 2


def test_an_encrypted_file_is_told(tmp_path: Path) -> None:
    path = download(tmp_path / "e.zip", {"ada/x.py": "ada", "eve/x.py": "eve"})
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x01\x02")
    content[at + 8] |= 1
    path.write_bytes(bytes(content))
    run = collect(path, tmp_path / "hw")
    assert run.code == 1 and "it is encrypted (eve/x.py)" in run.out


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04" + bytes(30)])
def test_what_is_no_zip_is_refused_with_a_cure(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    run = collect(path, tmp_path / "hw")
    assert run.code == 2 and "cure:  download it again" in run.err
    assert not (tmp_path / "hw").exists()


def test_everybody_is_delivered_as_soon_as_their_work_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a run that is ended leaves what is whole, and the next one goes on."""
    files: dict[str, bytes | str] = {
        "ada/a.py": "ada",
        "bob/hw.zip": zipped({"b.py": "bob", "notes.txt": "notes"}),
        "ada/b.py": "more of ada's",
        "eve/e.py": "eve",
    }
    zip_file, folder = download(tmp_path / "c.zip", files), tmp_path / "hw"
    whole = {"ada/a.py": "ada", "ada/b.py": "more of ada's", "bob/b.py": "bob"}
    copy, waiting = archive._Unpacking.copy, []

    def ended_at_eve(self: archive._Unpacking, *given: object) -> int:
        waiting.append(len(list(self.folder.iterdir())))
        if self.result.owner == "eve":
            raise KeyboardInterrupt
        return copy(self, *given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(archive._Unpacking, "copy", ended_at_eve)
        assert collect(zip_file, folder).code != 0
    assert tree(folder) == {**whole, "bob/notes.txt": "notes"}
    assert waiting == [0, 1, 0, 1, 2, 0], "what is delivered takes no room any more"
    run = collect(zip_file, folder)
    assert run.code == 0, run.out + run.err
    assert "1 student: new" in run.out and "2 students: there already" in run.out
    assert tree(folder)["eve/e.py"] == "eve"


def test_who_may_be_one_student_is_told_apart_when_all_is_unpacked(tmp_path: Path) -> None:
    """Of Ada, only the second folder holds anything that can be taken."""
    roster = "student_id,name\ns1,Ada\ns2,Bob\n"
    files: dict[str, bytes | str] = {
        "Ada_1_assignsubmission_file_/x.zip": b"none",
        "Bob_2_assignsubmission_file_/b.py": "bob",
        "Ada_3_assignsubmission_file_/a.py": "ada",
    }
    run = collected(tmp_path, files, roster)
    assert tree(tmp_path / "hw") == {"s1/a.py": "ada", "s2/b.py": "bob"}, run.out
    assert "not taken: Ada: nothing that was handed in could be unpacked" in run.out


def test_a_zip_belongs_to_whom_its_content_belongs_to(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"ada.py.zip": zipped({"a.py": "ada"}), "bob.py": "bob"}
    assert collected(tmp_path, files).code == 0
    assert tree(tmp_path / "hw") == {"ada_py/a.py": "ada", "bob/bob.py": "bob"}


def test_what_is_too_long_for_a_disk_costs_its_owner_alone(tmp_path: Path) -> None:
    """Letters of three bytes, zips whose paths are short each, and an id that is no folder's."""
    letter = "名"
    wide, inner = "/".join([letter * 60] * 28), "/".join(["x" * 90] * 20)
    roster = f"student_id,name\na,ada\ne,eve\n{letter * 80},zoe\n"
    files: dict[str, bytes | str] = {
        "eve/e.py": "eve",
        f"eve/{wide}/n.txt": "wide",
        f"eve/{inner}/n.zip": zipped({f"{inner}/n.zip": zipped({f"{inner}/n.txt": "inner"})}),
        "zoe/z.py": "zoe",
        "ada/a.py": "ada",
    }
    run = collected(tmp_path, files, roster)
    assert tree(tmp_path / "hw") == {"a/a.py": "ada", "e/e.py": "eve"}, run.out + run.err
    assert "not taken: zoe: the id" in run.out and "cannot be the name of a folder" in run.out
    assert list(not_taken(tmp_path / "hw").values()).count("its path is too long") == 2
