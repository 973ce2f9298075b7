"""The group of all commands, and what they share: readable signs, output that can fail."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

import click

from autograder.errors import KitError
from autograder.values.exercise import at_its_origin, near_name
from autograder.values.sanitize import clean, terminal_line
from autograder.values.this_machine import fault_of

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.authoring.release import Source

# Readable substitutes for the signs that a terminal's encoding lacks.
#
# Not every terminal knows UTF-8: a Windows console may know cp1252, a server only ASCII. A sign
# that it cannot show is replaced by one that it can. What has no substitute is written as its
# escape.

HANDLER = "readable-substitutes"
# One character wide where a table has to stay in line.
SUBSTITUTES = {
    "✓": "v",
    "✗": "x",
    "·": ".",
    "∞": "~",
    "☠": "#",
    "⊘": "/",
    "…": "...",
    "→": ">",
    "↓": "v",
    "━": "=",
    "─": "-",
    "│": "|",
    "•": "*",
    "×": "x",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "≈": "~",
    "−": "-",
    "–": "-",
    "—": "-",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "√": "sqrt",
    "²": "^2",
    "⁶": "^6",
    "ᵀ": "^T",
    "ℕ": "N",
    "\u00a0": " ",
}
BRAILLE = ("\u2800", "\u28ff")  # rich's spinners


def substitute(sign: str) -> str:
    """Return what stands for a sign: its substitute, or else its escape, such as `\\u2713`."""
    if BRAILLE[0] <= sign <= BRAILLE[1]:
        return "*"
    return SUBSTITUTES.get(sign) or sign.encode("ascii", "backslashreplace").decode("ascii")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(substitute, error.object[error.start : error.end])), error.end


codecs.register_error(HANDLER, _replaced)

FOLDER = click.Path(path_type=Path)
SOLUTIONS = click.option(
    "--solutions", type=FOLDER, help="Where the solutions are [default: beside the kit]."
)
ASSIGNMENTS = click.option(
    "--assignments", type=FOLDER, help="What students get [default: beside the solutions]."
)
LONGEST = 10_000  # characters in one part of an error
WIDEST = 600  # of a line that is printed
Added = TypeVar("Added", bound=Callable[..., Any])
# What people type who look for a command that has another name.
OTHER_WORDS = {
    **dict.fromkeys(("test", "tests", "run"), "attn check"),
    **dict.fromkeys(("next", "status", "continue"), "attn, which says what comes next"),
    **dict.fromkeys(("progress", "steps", "ls"), "attn list"),
    **dict.fromkeys(("init", "new"), "attn start"),
    **dict.fromkeys(("answer", "answers"), "attn hint --solution"),
    **dict.fromkeys(("lesson", "text", "guide"), "attn read"),
    "help": "attn --help",
}


@cache
def out() -> Console:
    """The terminal; only who writes to it imports Rich, for which grader processes do not wait."""
    return _console()


@cache
def errors() -> Console:
    """Where errors are told."""
    return _console(stderr=True)


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    if console.is_dumb_terminal:  # rich takes one, as the shell in Emacs, for 80 columns wide
        console.width, console.height = shutil.get_terminal_size()
    return console


def say(words: str, style: str = "") -> None:
    """Print a line, in which a student's words are safe; it stays as far in as it is."""
    from rich.text import Text

    indent = len(words) - len(words.lstrip())
    out().print(Text(" " * indent + terminal_line(words, WIDEST), style), soft_wrap=True)


def each_of(*added: Callable[[Added], Added]) -> Callable[[Added], Added]:
    """Add several arguments and options to a command, in this order."""
    return lambda command: reduce(lambda made, add: add(made), reversed(added), command)


def example(command: str) -> str:
    """Return the last lines of a command's help: one example, which is not wrapped."""
    return f"\b\nExample:\n  {command}"


class Kit(click.Group):
    """A command group that lists its commands by reader.

    It prints a `KitError` or a fault of the machine as three short lines, and exits with 2.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._readers: dict[str, tuple[click.Command, ...]] = {}
        self._earlier: dict[str, str] = {}

    def add_for(self, reader: str, commands: Sequence[click.Command]) -> None:
        """Add the commands of one kind of reader, such as "learners"."""
        self._readers[reader] = tuple(commands)
        for each in commands:
            self.add_command(each)

    def add_earlier(self, names: Mapping[str, str]) -> None:
        """Let earlier names of commands work, with what is typed in their place now."""
        self._earlier |= names

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of each reader, with the whole first sentence of each."""
        widest = max(len(name) for name in self.commands)
        for reader, commands in self._readers.items():
            rows = [(str(each.name).ljust(widest), _sentence(each)) for each in commands]
            with formatter.section(f"For {reader}"):
                formatter.write_dl(rows)

    def main(self, *args: Any, **options: Any) -> Any:
        """Read the command line and run the command; whatever is printed can be shown."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors=HANDLER)
        return super().main(*args, **options)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a word that is none, say which one was probably meant."""
        word = args[0]
        if now := self._earlier.get(word):
            errors().print(f"`attn {word}` is now `attn {now}`", soft_wrap=True)
            return super().resolve_command(ctx, [*now.split(), *args[1:]])
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            names = {name: name for name in self.commands} | self._earlier
            near = near_name(word, names)
            meant = OTHER_WORDS.get(word.lower()) or (f"attn {names[near]}" if near else "")
            also = f" Did you mean: {meant}" if meant else " `attn --help` lists all commands."
            ctx.fail(f"No such command {word!r}.{also}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; see the class."""
        try:
            return super().invoke(ctx)
        except KitError as error:
            for each in error.each:
                _tell(each)
        except (OSError, ImportError, MemoryError) as error:
            fault = fault_of(error)
            if fault is None:
                raise
            _tell(fault)
        ctx.exit(2)


def _sentence(command: click.Command) -> str:
    return command.get_short_help_str(limit=LONGEST)


def _tell(error: KitError) -> None:
    from rich.markup import escape

    told = KitError(error.fact, place=at_its_origin(error.place), cure=error.cure)
    # The names of students' files may be in it.
    fact, *rest = (escape(clean(line, LONGEST)) for line in told.lines)
    errors().print(f"[bold red]error:[/] {fact}", soft_wrap=True)
    for line in rest:
        errors().print(line, soft_wrap=True)


def source_folders(solutions: Path | None, assignments: Path | None) -> Source:
    """Return the named folders, or else those beside the kit, whatever the current folder is.

    Folders that only happen to have these names in the current folder are not used. Raise
    `KitError` when there are none beside the kit.
    """
    from autograder.authoring.release import Source
    from autograder.grading.class_task import beside_the_kit

    found = solutions or beside_the_kit()
    return Source(found, assignments or found.parent / "assignments")


def exercise_folders(solutions: Path) -> tuple[Path, ...]:
    """Return the folders of all exercises below `solutions`; raise `KitError` if there is none."""
    from autograder.values.exercise import MANIFEST

    folders = tuple(sorted(path.parent for path in solutions.glob(f"*/{MANIFEST}")))
    if not folders:
        raise KitError(
            "there are no exercises here", place=str(solutions), cure="name the solutions/ folder"
        )
    return folders


# Output that can fail without stopping the command.
#
# A reader may go away (`attn grade … | head`), and a disk may be full. Neither is a reason to
# leave a class without its results.


class LastingStream(io.TextIOBase):
    """A stream that survives a broken output: everything written after that is dropped.

    `fault` is the error that broke it, or None.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self.fault: OSError | None = None

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream behind this one."""
        return self._stream.encoding or "utf-8"

    def isatty(self) -> bool:
        """Whether the stream behind this one is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The file descriptor of the stream behind this one; raises OSError when it has none."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, text: str) -> int:
        """Write `text`, or nothing after a fault; return its length in characters."""
        if self.fault is None:
            try:
                self._stream.write(text)
            except OSError as error:
                self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Flush the stream, unless there was a fault."""
        if self.fault is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.fault = error
        # Python would try to write the rest of the stream's buffer when it ends.
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextmanager
def lasting_output() -> Iterator[None]:
    """Keep the work in the body going even if printing fails.

    Raise `KitError` after all the work is done if not everything could be printed.
    """
    if sys.stdout is None:  # a program without a console
        yield
        return
    with LastingStream(sys.stdout) as stream, redirect_stdout(cast(TextIO, stream)):
        yield
    if stream.fault:
        raise KitError(
            f"not all of the output could be shown: {stream.fault.strerror}",
            place="standard output",
            cure="look at the results, which were written anyway, or run the same command again "
            "in a terminal",
        )
