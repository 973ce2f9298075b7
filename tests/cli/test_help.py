"""What a person sees first: `attn` alone, `attn --help`, and the help of each command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from autograder.cli.command_line import attn as whole
from support.learner_workspace import NAME, start
from support.typed_commands import ATTN, typed


def commands(group: click.Group, *before: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group, with the words that call it."""
    for name, command in group.commands.items():
        yield (*before, name), command
        if isinstance(command, click.Group):
            yield from commands(command, *before, name)


EVERY = dict(commands(whole))


def test_attn_alone_greets_and_names_the_next_command(tmp_path: Path) -> None:
    run = typed(folder=tmp_path)
    assert (run.code, run.err) == (0, "") and run.out.startswith("Welcome to attention-kit.")
    assert "attn start my-attention" in run.out and "attn course demo" in run.out
    assert "attn --help" in run.out and list(tmp_path.iterdir()) == []


def test_in_a_workspace_attn_alone_says_where_one_is_and_how_to_go_on(tmp_path: Path) -> None:
    workspace = start(tmp_path / "work", NAME)
    state = workspace / ".attn" / "progress.json"
    facts = json.loads(state.read_text(encoding="utf-8"))
    steps = ("softmax", "initialize_weights")
    facts["exercises"] = {NAME: {step: {"passed": True} for step in steps}}
    state.write_text(json.dumps(facts), encoding="utf-8")
    run = typed(folder=workspace / NAME)
    assert (run.code, run.err) == (0, "")
    assert "Single-head attention in NumPy: 2 of 11 steps passed when last checked." in run.words
    assert "You are at step 3, project_qkv" in run.words
    assert f"attn watch {NAME}" in run.out and "attn start" not in run.out


def test_the_help_lists_the_commands_by_reader_with_whole_sentences() -> None:
    out = CliRunner().invoke(whole, ["--help"], terminal_width=80).output
    _, learners, instructors, authors = (
        part.split() for part in out.replace("\nFor ", "\n@").split("\n@")
    )
    assert (learners[0], instructors[0], authors[0]) == ("learners:", "instructors:", "authors:")
    assert "watch" in learners and "grade" in instructors and "verify" in authors
    assert "..." not in " ".join(learners + instructors + authors)
    assert max(map(len, out.splitlines())) <= 80
    assert len(whole.commands) <= 20, "a new one makes all the others harder to find"
    for name in whole.commands:
        assert out.count(f"\n  {name} ") == 1, name


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_the_help_of_a_command_ends_with_an_example_that_can_be_typed(
    words: tuple[str, ...],
) -> None:
    run = CliRunner().invoke(whole, [*words, "--help"])
    assert run.exit_code == 0
    *_, heading, last = run.output.rstrip().splitlines()
    assert heading.strip() == "Example:"
    program, *typed = shlex.split(last)
    assert program == Path(ATTN).name and tuple(typed[: len(words)]) == words
    command: click.Command = whole
    while isinstance(command, click.Group):
        command = command.commands[typed.pop(0)]
    with command.make_context(last, typed):  # raises when an option is not known or is missing
        pass
