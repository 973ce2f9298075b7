"""Groups and names in a folder of hand-ins, without a course."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from autograder.errors import KitError
from autograder.grading.class_task import HandIn, flat_roster, read_groups, shared_hand_ins


def folder(root: Path, groups: str, *files: str) -> Path:
    (root / "groups.csv").write_text(groups)
    for file in files:
        (root / file).write_text("x = 1")
    return root


def test_each_member_gets_the_hand_in_of_the_group(tmp_path: Path) -> None:
    homework = folder(tmp_path, "name,group,id\nA,1,ada\nB,1,ben\nC,2,cleo\n", "ben.py", "dan.py")
    hand_ins, groups = shared_hand_ins(flat_roster(homework), read_groups(homework))
    assert {each.student: each.paths[0].name for each in hand_ins} == {
        "ada": "ben.py",
        "ben": "ben.py",
        "dan": "dan.py",
    }
    assert [(each.group, each.student, each.others) for each in groups] == [("1", "ben", ())]


def test_of_two_hand_ins_of_a_group_the_last_one_counts(tmp_path: Path) -> None:
    own = [HandIn(name, (tmp_path / name,)) for name in ("ada", "ben", "cleo")]
    times = {"ada": None, "ben": datetime(2026, 3, 2), "cleo": datetime(2026, 3, 1)}
    groups = {"1": ("cleo", "ben", "ada")}
    hand_ins, (shared,) = shared_hand_ins(own, groups, lambda each: times[each.student])
    assert {each.paths[0].name for each in hand_ins} == {"ben"}
    assert (shared.student, shared.others) == ("ben", ("ada", "cleo"))


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ("ada,1\n", "has no columns `student_id` and `group`"),
        ("", "has no columns `student_id` and `group`"),
        ("student_id,group\nada,1\nada,2\n", "lists ada in two groups"),
    ],
)
def test_a_list_of_groups_that_says_nothing_clear_is_refused(
    tmp_path: Path, listed: str, told: str
) -> None:
    with pytest.raises(KitError, match=told):
        read_groups(folder(tmp_path, listed))


def test_a_line_without_a_group_is_passed_over(tmp_path: Path) -> None:
    assert read_groups(folder(tmp_path, "student_id,group\nada\nben,\ncleo,1\n")) == {
        "1": ("cleo",)
    }
