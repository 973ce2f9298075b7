"""The documents say what is so: commands, paths, links, rooms and numbers, held against the code.

Read are README.md, CONTRIBUTING.md and everything in docs/. Each question is a function from text
to sentences about what is wrong, and each is also asked of a text in which something is wrong.
What the documents show of a terminal is run by test_transcripts.py and test_demo.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from nbgrader.apps.autogradeapp import AutogradeApp
from nbgrader.apps.nbgraderapp import NbGraderApp

from autograder.values.symbols import KEY
from support.attack_corpus import GROUPS, read_corpus, through_stock_nbgrader
from support.import_layers import LAYERS, PACKAGE, Room, rooms

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ARCHITECTURE, GLOSSARY = DOCS / "architecture.md", DOCS / "glossary.md"
SECURITY, DECISIONS = DOCS / "security.md", DOCS / "decisions"
AUTHORS, PICTURES = DOCS / "authors.md", DOCS / "pictures"
DOCUMENTS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# A command ends where two spaces or a comment begin: what follows says what it does.
COMMAND = re.compile(r"^\s*(?:\$ )?(?:cd \S+ && )?((?:attn|nbgrader|make) .*?)(?:\s{2,}|\s+#|$)")
ROOM_ROW = re.compile(r"^\| (\d+) \| `(\w+)` \| .+ \| (.+) \|$", re.MULTILINE)
TERM = re.compile(r"^\| \*\*(.+?)\*\* \|", re.MULTILINE)
IMAGE = re.compile(r"!\[(.*?)\]\(([^)\s]+)\)")
SIZE_ROW = re.compile(r"^\| `(\w+)` \| about ([\d,]+) \| about ([\d,]+) \|$", re.MULTILINE)
WORD = re.compile(r"[^\s|]*[A-Za-z0-9][^\s|]*")
A_MINUTE = 240  # words that a person reads
# What a reader has to fill in, as STUDENT or GROUP.
PLACEHOLDER = re.compile(r"[A-Z]{2,}")


def fences(text: str) -> Iterator[str]:
    """The fenced blocks of a text, without their fences."""
    yield from (block.partition("\n")[2].rpartition("\n")[0] for block in FENCE.findall(text))


def spans(text: str) -> Iterator[str]:
    """What stands between backticks in the running text."""
    yield from SPAN.findall(FENCE.sub("", text))


def commands_in(text: str) -> tuple[str, ...]:
    """Every command that a text names: lines of fenced blocks, and spans."""
    lines = [line for block in fences(text) for line in block.splitlines()]
    found = (COMMAND.match(line) for line in (*lines, *spans(text)))
    return tuple(dict.fromkeys(match[1].strip() for match in found if match))


@cache
def told_by_attn(*words: str) -> str:
    """What `attn WORDS --help` prints; "" when there is no such command."""
    run = subprocess.run(
        [sys.executable, "-m", "autograder.cli", *words, "--help"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    return run.stdout if run.returncode == 0 else ""


# A group of commands has one list of them, and `attn` has one for each kind of reader.
LISTS = ("Commands", "For learners", "For instructors", "For authors")


def subcommands(*path: str) -> set[str]:
    """What may follow `attn` and these words."""
    told = told_by_attn(*path)
    return {name for heading in LISTS for name in listed(told, heading)}


def listed(told: str, heading: str) -> set[str]:
    """The first words of the lines below a heading of a help text, and what follows a comma."""
    block = told.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
    names = re.findall(r"^  (\S+?)(?:, (\S+))?(?: |$)", block, re.MULTILINE)
    return {name for pair in names for name in pair if name}


def wrong_command(command: str) -> str:
    """Say what the real command line does not know of a command; "" when it knows all."""
    program, *words = command.split()
    if program == "nbgrader":
        return "" if words[0] in NbGraderApp.subcommands else f"nbgrader has no {words[0]}"
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        return "" if words[0] in targets else f"the Makefile has no {words[0]}"
    return wrong_attn(words)


def wrong_attn(words: list[str]) -> str:
    """As `wrong_command`, for what stands after `attn`."""
    if words[0].startswith("-"):
        return "" if words[0] in listed(told_by_attn(), "Options") else f"no option {words[0]}"
    path: list[str] = []
    while words and words[0] in subcommands(*path):
        path.append(words.pop(0))
    if not path or (words and subcommands(*path)):
        return f"there is no attn {' '.join([*path, *words[:1]])}"
    known = listed(told_by_attn(*path), "Options")
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
    unknown = [option for option in options if option not in known]
    return f"attn {' '.join(path)} has no {unknown[0]}" if unknown else ""


@cache
def options_there() -> frozenset[str]:
    """The options of every command, and the flags of `nbgrader autograde`."""
    every, paths = set[str](), [tuple[str, ...]()]
    while paths:
        path = paths.pop()
        every |= listed(told_by_attn(*path), "Options")
        paths += [(*path, name) for name in subcommands(*path)]
    return frozenset(every | {f"--{flag}" for flag in AutogradeApp.flags})


def unknown_options(text: str) -> list[str]:
    """Options that a text names alone, as in `--again`, and that no command has."""
    named = (span.split()[0].partition("=")[0] for span in spans(text) if span.startswith("--"))
    return [f"no command has {option}" for option in named if option not in options_there()]


def named_paths(text: str) -> tuple[str, ...]:
    """Spans that name something of this repository: a path that begins with a folder at the top."""
    tops = {path.name for path in ROOT.iterdir() if path.is_dir()}
    found = (span for span in spans(text) if re.fullmatch(r"[\w.*/-]+", span) and "/" in span)
    return tuple(
        span for span in found if span.split("/")[0] in tops and not PLACEHOLDER.search(span)
    )


def missing_paths(text: str) -> list[str]:
    return [f"{path} is not there" for path in named_paths(text) if not (ROOT / path).exists()]


def missing_modules(text: str) -> list[str]:
    """Files of Python named without the folder, or with a part of it, that would not be found."""
    names = (span for span in spans(text) if re.fullmatch(r"[\w/]+\.py", span))
    return [
        f"{name}: write it from autograder/ on"
        for name in names
        if not (ROOT / name).is_file() and name not in OF_AN_EXERCISE
    ]


# The files of an exercise go by their names, as every exercise has them; so do Jupyter's own.
OF_AN_EXERCISE = {
    *("solution.py", "graders.py", "misconceptions.py", "variants.py", "walkthrough.py"),
    *("nbgrader_config.py", "jupyter_server_config.py", "jupyterhub_config.py"),
}


def headings(text: str) -> list[str]:
    return HEADING.findall(FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings(text))
    return {heading.strip().replace(" ", "-") for heading in plain}


def dead_links(text: str, folder: Path) -> list[str]:
    sentences = []
    for target in LINK.findall(FENCE.sub("", text)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        file = folder / name
        if not file.exists():
            sentences.append(f"{target} leads nowhere")
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            sentences.append(f"{target}: there is no such heading")
    return sentences


def rooms_told(text: str) -> tuple[Room, ...]:
    rows = ROOM_ROW.findall(text)
    return tuple(Room(int(floor), name, frozenset(SPAN.findall(to))) for floor, name, to in rows)


def row_of(room: Room) -> str:
    """What the table should say of a room."""
    imports = ", ".join(f"`{name}`" for name in sorted(room.imports)) or "nothing"
    return f"| {room.floor} | `{room.name}` | ... | {imports} |"


def wrong_numbers(text: str) -> list[str]:
    """The numbers of attacks that a text tells and that are others."""
    corpus = read_corpus()
    counts = {group: sum(attack.group == group for attack in corpus) for group in GROUPS}
    right = (
        f"holds {len(corpus)} attacks in four groups: {counts['verdict']} fake the verdict, "
        f"{counts['steal']} steal, {counts['deny']} deny service, {counts['nondeterminism']} are "
        "not deterministic",
        f"{len(through_stock_nbgrader())} also through `nbgrader autograde`",
    )
    flat = " ".join(text.split())
    return [f"it should say: {sentence}" for sentence in right if sentence not in flat]


def old_sizes(text: str) -> list[str]:
    """Exercises whose numbers of lines, told in hundreds, are others or are not told."""
    told = {name: (whole, lesson) for name, whole, lesson in SIZE_ROW.findall(text)}
    sentences = []
    for folder in sorted(path.parent for path in (ROOT / "solutions").glob("*/exercise.toml")):
        files = [*folder.glob("*.py"), folder / "exercise.toml"]
        whole = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
        lesson = len((folder / "solution.py").read_text(encoding="utf-8").splitlines())
        right = tuple(f"{round(count, -2):,}" for count in (whole, lesson))
        if told.get(folder.name) != right:
            row = f"| `{folder.name}` | about {right[0]} | about {right[1]} |"
            sentences.append(f"it should say: {row}")
    return sentences


def pictures_in(text: str, folder: Path) -> dict[Path, str]:
    """The pictures that a document shows, and what it says of each to those who cannot see it."""
    return {(folder / target).resolve(): words for words, target in IMAGE.findall(text)}


def document(path: Path) -> str:
    return str(path.relative_to(ROOT))


every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=document)


@every_document
def test_every_command_is_known_to_the_real_command_line(path: Path) -> None:
    commands = commands_in(path.read_text(encoding="utf-8"))
    wrong = {command: wrong_command(command) for command in commands}
    assert {command: why for command, why in wrong.items() if why} == {}
    assert unknown_options(path.read_text(encoding="utf-8")) == []


def test_the_commands_of_learners_and_instructors_are_all_in_the_documents() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    told = {command.split()[1] for command in commands_in(text) if command.startswith("attn ")}
    assert subcommands() <= told


@every_document
def test_every_path_of_the_repository_that_is_named_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert missing_paths(text) == []
    assert missing_modules(text) == []


@every_document
def test_every_link_leads_somewhere(path: Path) -> None:
    assert dead_links(path.read_text(encoding="utf-8"), path.parent) == []


def test_the_rooms_of_the_architecture_are_the_layers_that_are_tested() -> None:
    told = rooms_told(ARCHITECTURE.read_text(encoding="utf-8"))
    floors = {room.floor for room in told}
    layers = tuple(tuple(r.name for r in told if r.floor == floor) for floor in sorted(floors))
    assert layers == LAYERS


def test_the_arrows_of_the_architecture_are_the_imports_of_the_code() -> None:
    told = rooms_told(ARCHITECTURE.read_text(encoding="utf-8"))
    assert [row_of(room) for room in told] == [row_of(room) for room in rooms(PACKAGE)]


def test_the_architecture_names_the_modules_of_every_room_on_the_way() -> None:
    named = named_paths(ARCHITECTURE.read_text(encoding="utf-8"))
    there = {path.split("/")[1] for path in named if path.startswith("autograder/")}
    for room in ("cli", "course", "grading", "submission", "checks", "sandbox", "worker"):
        assert room in there
    assert sum(path.endswith(".py") for path in named) > 40


def test_the_glossary_is_in_the_order_of_the_alphabet_and_names_nothing_twice() -> None:
    terms = TERM.findall(GLOSSARY.read_text(encoding="utf-8"))
    assert terms == sorted(set(terms)) and len(terms) < 40


def test_the_classes_that_the_glossary_names_exist() -> None:
    text = GLOSSARY.read_text(encoding="utf-8")
    named = {span for span in spans(text) if re.fullmatch(r"[A-Z]\w+", span)} - {"LikeThis"}
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    homes = set(re.findall(r"^(?:class )?(\w+)(?:\(.*\))?(?::| = )", code, re.MULTILINE))
    assert named - homes == set()


def test_every_decision_is_numbered_listed_and_has_its_three_parts() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    files = sorted(DECISIONS.glob("0*.md"))
    assert [int(file.name[:4]) for file in files] == list(range(1, len(files) + 1))
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert file.name in index
        assert headings(text)[0].startswith(f"{file.name[:4]}: ")
        assert headings(text)[1:] == ["Context", "Decision", "Consequences"]


def test_the_numbers_of_attacks_are_those_that_are_there() -> None:
    assert wrong_numbers(SECURITY.read_text(encoding="utf-8")) == []


def test_the_sizes_of_the_exercises_are_those_that_are_there() -> None:
    assert old_sizes(AUTHORS.read_text(encoding="utf-8")) == []


def test_the_signs_that_the_documents_explain_are_those_of_the_code() -> None:
    students = (DOCS / "students.md").read_text(encoding="utf-8")
    (paragraph,) = re.findall(
        r"^The signs are those of .*?\n\n", students, re.DOTALL | re.MULTILINE
    )
    assert {*SPAN.findall(paragraph)} <= KEY.keys()
    instructors = (DOCS / "instructors.md").read_text(encoding="utf-8")
    (legend,) = re.findall(r"^✓ right   .*$", instructors, re.MULTILINE)
    assert {tuple(each.split(" ", 1)) for each in legend.split("   ")} <= {*KEY.items()}


def test_every_picture_is_shown_described_and_small() -> None:
    shown: dict[Path, str] = {}
    for path in DOCUMENTS:
        shown |= pictures_in(path.read_text(encoding="utf-8"), path.parent)
    assert set(shown) == set(PICTURES.iterdir())
    for picture, words in shown.items():
        assert len(words.split()) >= 8, picture
        assert picture.stat().st_size < 250_000, picture


def words_of(path: Path) -> int:
    return len(WORD.findall(path.read_text(encoding="utf-8")))


def test_what_is_read_before_the_first_change_takes_twenty_minutes() -> None:
    first = (ARCHITECTURE, GLOSSARY, DECISIONS / "README.md", *DECISIONS.glob("000[1-5]-*.md"))
    assert len(first) == 8
    assert 15 * A_MINUTE < sum(map(words_of, first)) < 20 * A_MINUTE


def test_a_decision_takes_a_minute_and_a_half() -> None:
    long = {path.name: words_of(path) for path in DECISIONS.glob("0*.md")}
    assert {name: words for name, words in long.items() if words > 1.5 * A_MINUTE} == {}


# --- and each question finds what is wrong --------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("attn grad homework", "there is no attn grad"),
        ("attn course old my-course", "there is no attn course old"),
        ("attn grade homework --exercises x", "attn grade has no --exercises"),
        ("attn --verbose", "no option --verbose"),
        ("nbgrader generate_assignments x", "nbgrader has no generate_assignments"),
        ("make demos", "the Makefile has no demos"),
    ],
)
def test_a_command_that_is_not_there_is_told(command: str, why: str) -> None:
    assert wrong_command(command) == why


def test_an_option_that_no_command_has_is_told() -> None:
    text = "Say `--again`, `--save FILE`, `--allow-protection=process`, `--force` or `--gain`."
    assert unknown_options(text) == ["no command has --gain"]


def test_commands_are_found_in_blocks_and_in_the_running_text() -> None:
    text = (
        "Type `attn list`, not `attention`.\n\n```\n$ attn check softmax\nattn is short\n"
        "make demo     # makes .venv\n  attn watch  checks whenever you save\n```\n"
    )
    found = ("attn check softmax", "attn is short", "make demo", "attn watch", "attn list")
    assert commands_in(text) == found


def test_a_path_or_a_module_that_is_not_there_is_told() -> None:
    text = "See `tests/test_nothing.py`, `grading/batch.py`, `docs/` and `tests/attacks/GROUP/`."
    assert missing_paths(text) == ["tests/test_nothing.py is not there"]
    assert [sentence.partition(":")[0] for sentence in missing_modules(text)] == [
        "tests/test_nothing.py",
        "grading/batch.py",
    ]


def test_a_link_to_nothing_or_to_no_heading_is_told() -> None:
    text = "[a](nothing.md) [b](README.md#no-such) [c](README.md#learn) [d](https://x.org)"
    assert dead_links(text, ROOT) == [
        "nothing.md leads nowhere",
        "README.md#no-such: there is no such heading",
    ]


def test_a_room_on_another_floor_or_a_number_that_is_old_is_told() -> None:
    (room,) = rooms_told("| 2 | `errors` | told | `values`, `worker` |\n")
    assert room == Room(2, "errors", frozenset({"values", "worker"})) and room not in rooms(PACKAGE)
    assert len(wrong_numbers("`tests/attacks` holds 93 attacks in four groups")) == 2


def test_a_size_that_is_old_or_not_told_is_told() -> None:
    text = AUTHORS.read_text(encoding="utf-8")
    row = next(SIZE_ROW.finditer(text))[0]
    assert old_sizes(text.replace(row, "")) == old_sizes(text.replace(row, row.replace("0", "5")))
    assert old_sizes(text.replace(row, "")) == [f"it should say: {row}"]


def test_a_picture_is_found_with_its_words() -> None:
    assert pictures_in("![a card](pictures/a.png) [b](b.md)", DOCS) == {
        PICTURES / "a.png": "a card"
    }
