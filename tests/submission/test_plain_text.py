"""What a text is rid of before it is read, and when a look at it says that there is nothing."""

from __future__ import annotations

import pytest

from autograder.submission.file_text import is_plain, plain_text, remarks_on_characters

PLAIN = ("", "x = 1\n", "a\tb\n\n", "naïve ∑ 学生 🎓\n", "\u2028 \x0c \x85")
ODD = {
    "a line of Windows": ("x = 1\r\n", "x = 1\n"),
    "a line of old": ("x = 1\ry", "x = 1\ny"),
    "a null byte": ("x\0y", "xy"),
    "half a character": ("x\ud800y", "x\ufffdy"),
    "two halves": ("\ud83c\udf93", "\ufffd\ufffd"),
    "a byte order mark": ("\ufeffx = 1", "x = 1"),
    "DOS's end mark": ("x = 1\n\x1a", "x = 1\n"),
}


@pytest.mark.parametrize("text", PLAIN, ids=repr)
def test_a_plain_text_stays_as_it_is_and_has_no_remark(text: str) -> None:
    assert is_plain(text)
    assert plain_text(text) == text
    assert remarks_on_characters(text, "x.py") == ()


@pytest.mark.parametrize("odd", ODD)
def test_what_is_replaced_in_a_text_keeps_it_from_being_plain(odd: str) -> None:
    text, plain = ODD[odd]
    assert not is_plain(text)
    assert not is_plain(f"before it {text}")  # as in the cells of a notebook, looked at together
    assert plain_text(text) == plain and is_plain(plain)
