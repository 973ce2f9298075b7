"""The files of more than a thousand students are in folders of a thousand."""

from __future__ import annotations

from pathlib import Path

from autograder.values.files import files_in, folders_of, found_in, put_in_order


def test_only_a_class_of_more_than_a_thousand_has_folders() -> None:
    assert folders_of(0) == [] and set(folders_of(1_000)) == {""}
    found = folders_of(2_001)
    assert len(found) == 2_001 and found[999:1_001] == ["0001-1000", "1001-2000"]
    assert found[-1] == "2001-3000"
    assert folders_of(100_000)[-1] == "099001-100000"


def test_files_move_with_the_class_and_none_is_left_double(tmp_path: Path) -> None:
    for name in ("ada.json", "ben.json", "gone.json", "index.json", "note.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "0001-1000").mkdir()
    (tmp_path / "0001-1000" / "ben.json").write_text("older")
    grown = {"ada": "0001-1000", "ben": "1001-2000"}
    put_in_order(tmp_path, ".json", grown, but_not=lambda file: file.stem == "index")
    assert below(tmp_path) == {
        *("0001-1000/ada.json", "1001-2000/ben.json", "index.json", "note.txt"),
    }
    shrunk = {"ada": "", "ben": ""}
    put_in_order(tmp_path, ".json", shrunk, but_not=lambda file: file.stem == "index")
    assert below(tmp_path) == {"ada.json", "ben.json", "index.json", "note.txt"}
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_file_is_found_in_either_layout_and_never_behind_a_link(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "verdicts", tmp_path / "elsewhere"
    for each in (folder / "0001-1000", elsewhere):
        each.mkdir(parents=True)
        (each / "ada.json").write_text("{}")
    (folder / "1001-2000").symlink_to(elsewhere)
    (folder / "ben.json").write_text("{}")
    assert found_in(folder, "ada.json") == folder / "0001-1000" / "ada.json"
    assert found_in(folder, "ben.json") == folder / "ben.json"
    assert found_in(folder, "carl.json") == folder / "carl.json"
    assert [path.name for path in files_in(folder, ".json")] == ["ben.json", "ada.json"]
    assert list(files_in(tmp_path / "missing", ".json")) == []


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
