"""The code in one file: its cells in order, and what there is to say about them."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from autograder.submission.cells import (
    Asked,
    DefinitionNode,
    asked_in,
    cells_in,
    lines_of,
    notebook_facts,
    parsed,
    pieces,
    source_as_it_is,
)
from autograder.submission.file_text import (
    LARGEST_SOURCE,
    Text,
    Unreadable,
    is_notebook,
    is_plain,
    is_submission,
    plain_text,
    read_text,
    remarks_on_characters,
)
from autograder.submission.missing_step import not_run, without_copied_stubs
from autograder.submission.newer_python import Version, needed_python, version_in
from autograder.values.exercise import Exercise
from autograder.values.sanitize import file_name

# Cells without what only IPython understands: `%magic`, `!command`, `name?`, pasted prompts.
#
# IPython's own transformer is not used. It tokenizes the whole text again for every magic, up to
# five hundred times; a hundred magics in 120 kB took minutes. That is too much for text that may
# be hostile. It writes calls of `get_ipython()`, which does not exist while grading. And neither
# a student's small installation nor a plain grader needs IPython. The tests compare this module
# with it. Every line keeps its number.

RUN_THEIR_BODY = ("%%capture", "%%prun", "%%time")
_CELL_MAGIC = re.compile(r"(%%\w+)")
_HELP = re.compile(r"\s*(?:\?{1,2}.*|%{0,2}[\w.*]+(?:\[\d+\])?\s*\?{1,2}\s*)$")
_NAMES = re.compile(r"[\w.,()\[\]*'\" \t]+")
_TIMED = re.compile(r"(\s*)%time\s+(?=\S)")
_LINE = re.compile(r"\s*[!%]")
# What a session shows before the lines of a statement, where it is copied from.
_PROMPTS = (
    (re.compile(r"\s*>>>(?: |$)"), re.compile(r"\s*(?:>>>|\.\.\.)(?: |$)")),
    (re.compile(r"\s*In \[\d+\]: ?"), re.compile(r"\s*(?:In \[\d+\]:|\.{3,}:) ?")),
)
_TOKEN = re.compile(r"'''|\"\"\"|['\"]|[()\[\]{}]|#.*")


class Plain(NamedTuple):
    """A cell as plain Python. `magic` is the cell magic that keeps it from being run."""

    text: str
    magic: str = ""


def without_magics(cell: str) -> Plain:
    """Return a cell that is not plain Python, without IPython's own lines."""
    lines = cell.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return Plain(cell)
    # Indentation that all of them have is no part of them.
    lines = dedent("\n".join(_without_prompts(lines, lines[first]))).split("\n")
    magic = _CELL_MAGIC.match(lines[first])
    if magic:
        if magic[1] not in RUN_THEIR_BODY:
            return Plain("", magic[1])
        lines[first] = ""
    return Plain("\n".join(_plain_lines(lines)))


def _without_prompts(lines: list[str], first: str) -> list[str]:
    """Return lines without the prompts of the session that they were copied from, if any."""
    for begins, prompt in _PROMPTS:
        if begins.match(first):
            return [prompt.sub("", line, count=1) for line in lines]
    return lines


def _plain_lines(lines: list[str]) -> Iterator[str]:
    state = _State()
    command = False  # inside a command that goes on after a backslash
    for line in lines:
        if command:
            command = line.endswith("\\")
            yield ""
        elif state.between:
            plain = _plain(line)
            command = plain is not line and line.endswith("\\")
            yield plain
            state.read(plain)
        else:
            yield line
            state.read(line)


def _plain(line: str) -> str:
    """Return a line that begins a statement as Python; IPython's own lines are replaced."""
    names, equals, value = line.partition("=")
    if value.lstrip().startswith(("!", "%")) and _NAMES.fullmatch(names):
        return f"{names}{equals} {'[]' if value.lstrip().startswith('!') else 'None'}"
    timed = _TIMED.match(line)
    if timed:
        return timed[1] + line[timed.end() :]
    if _LINE.match(line) or _HELP.match(line):
        return line[: len(line) - len(line.lstrip())] + "pass"
    return line


class _State:
    """Where the end of a line of Python lies: in a string, in brackets, or in neither."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._joined = False

    @property
    def between(self) -> bool:
        """Whether the next line begins a statement."""
        return not (self._depth or self._quote or self._joined)

    def read(self, line: str) -> None:
        """Go on to the end of `line`."""
        self._joined = line.endswith("\\")
        place = 0
        while place < len(line):
            if self._quote:
                place = self._string(line, place)
                continue
            token = _TOKEN.search(line, place)
            if not token:
                return
            place = token.end()
            if token[0][0] in "'\"":
                self._quote = token[0]
            elif token[0][0] == "#":
                self._joined = False
                return
            else:
                self._depth = max(0, self._depth + (1 if token[0] in "([{" else -1))
        if len(self._quote) == 1 and not self._joined:
            self._quote = ""  # such a string ends with its line, closed or not

    def _string(self, line: str, place: int) -> int:
        """Return the place up to which the string goes; a backslash escapes the next character."""
        while place < len(line):
            if line[place] == "\\":
                place += 2
            elif line.startswith(self._quote, place):
                place += len(self._quote)
                self._quote = ""
                return place
            else:
                place += 1
        return place


# The name that a chain of calls and attributes begins with: `np` in `np.random.rand(3).sum()`.


class CallRoots:
    """The roots of the chains in one syntax tree, each looked up once, however deep they nest."""

    def __init__(self) -> None:
        # By identity, so the tree has to stay alive while this is used.
        self._known: dict[int, str] = {}

    def of(self, node: ast.expr) -> str:
        """Return the name that `node` begins with, "" when there is none."""
        passed = []
        while isinstance(node, ast.Call | ast.Attribute) and id(node) not in self._known:
            passed.append(id(node))
            node = node.func if isinstance(node, ast.Call) else node.value
        root = node.id if isinstance(node, ast.Name) else self._known.get(id(node), "")
        self._known.update(dict.fromkeys(passed, root))
        return root


# Cells without what serves only the learner's own run.
#
# A check is for the learner: while grading, it has nothing to say, and the kit is not there. The
# syntax tree says where such a call stands, so that the code next to it is kept. Only that
# expression is replaced, by True, the value of a check that passes. Every line keeps its number.

KIT = "autograder"
_KIT_NAMES = frozenset({"check", "open_exercise", "get_ipython", "display"})
_SCOPES = DefinitionNode | ast.Lambda
_RUN_CELL_MAGIC = "run_cell_magic"
_MAIN_NAME = "__name__"
_IMPORTED = "imported from the kit"  # which is no name
_SHORT = 2_048  # characters of all these names
_MOST_NAMES = 50  # that each cell is searched for, one after the other


@dataclass(frozen=True)
class Edit:
    """A stretch of a text, by lines (from 1) and columns in UTF-8, and what to put there."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


def without_kit_calls(cells: Sequence[str], *, notebook: bool) -> tuple[str, ...]:
    """Return cells without imports and calls of the kit and of IPython at their top level.

    In a `notebook`, what stands under `if __name__ == "__main__":` is run, as Jupyter runs it.
    """
    names = _names(cells)
    if len(names) > _MOST_NAMES or sum(map(len, names)) > _SHORT:  # nobody needs that many
        return tuple(_without_calls(cell, names, notebook) for cell in cells)
    # Python reads some letters of other scripts as Latin ones.
    words = (*names, KIT, _MAIN_NAME)
    return tuple(
        _without_calls(cell, names, notebook)
        if not cell.isascii() or any([word in cell for word in words])
        else cell  # nearly always, a look says that there is nothing to replace
        for cell in cells
    )


def _names(cells: Sequence[str]) -> frozenset[str]:
    """Return the names that mean the kit or IPython: not those that the student defines."""
    kit, own = set(_KIT_NAMES), set[str]()
    for cell in cells:
        for name, root in _bindings(cell):
            (kit if root == _IMPORTED or root in kit else own).add(name)
    return frozenset(kit - own)


def _bindings(cell: str) -> list[tuple[str, str]]:
    """Return the names that a cell binds at its top level, and what is known of their values.

    That is `_IMPORTED` for what comes from the kit, the name that a call begins with, or "".
    """
    found: list[tuple[str, str]] = []
    tree, roots = parsed(cell), CallRoots()
    for node in _top_level(tree) if tree else ():
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.append((node.name, ""))
            case ast.Import(names=names):
                found += [(a.asname or KIT, _IMPORTED) for a in names if _is_kit(a.name)]
            case ast.ImportFrom(module=module, names=names) if _is_kit(module or ""):
                found += [(a.asname or a.name, _IMPORTED) for a in names]
            case ast.ImportFrom(names=names) if (node.module or "").split(".")[0] != "IPython":
                found += [(a.asname or a.name, "") for a in names]
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                # `probe = open_exercise(...)` is the kit's too, by another name.
                found.append((name, roots.of(call)))
    return found


def _without_calls(cell: str, names: frozenset[str], notebook: bool) -> str:
    tree = parsed(cell)
    return _edited(cell, _edits(tree, names, notebook)) if tree else cell


def _is_kit(module: str) -> bool:
    return module.split(".")[0] == KIT


def _top_level(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are run with the cell, but nothing inside functions and classes.

    Without recursion: a tree can be deeper than Python's own stack.
    """
    waiting = [tree]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            yield child
            if not isinstance(child, _SCOPES):
                waiting.append(child)


def _edits(tree: ast.Module, names: frozenset[str], notebook: bool) -> Iterator[Edit]:
    """Yield what to replace; nothing inside a replacement is replaced again."""
    waiting: list[ast.AST] = [tree]
    roots = CallRoots()
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            match child:
                case ast.Import(names=found) if any(_is_kit(name.name) for name in found):
                    kept = [name for name in found if not _is_kit(name.name)]
                    yield _edit(child, ast.unparse(ast.Import(kept)) if kept else "pass")
                case ast.ImportFrom(module=module) if _is_kit(module or ""):
                    yield _edit(child, "pass")
                case ast.Call() if roots.of(child) in names and not _runs_a_cell(child):
                    yield _edit(child, "True")
                case ast.If(test=test) if notebook and _is_main(test):
                    yield _edit(test, "True")
                    waiting.append(ast.Module([*child.body, *child.orelse], []))
                case _ if not isinstance(child, _SCOPES):
                    waiting.append(child)


def _runs_a_cell(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == _RUN_CELL_MAGIC


def _is_main(test: ast.expr) -> bool:
    match test:
        case ast.Compare(
            left=ast.Name(id=str(name)),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value="__main__")],
        ):
            return name == _MAIN_NAME
    return False


def _edit(node: ast.stmt | ast.expr, text: str) -> Edit:
    end_line = node.end_lineno or node.lineno
    if end_line > node.lineno:
        gap = "\n" * (end_line - node.lineno)
        text = f"(True{gap})" if isinstance(node, ast.expr) else f"{text}; (True{gap})"
    return Edit(node.lineno, node.col_offset, end_line, node.end_col_offset or 0, text)


def _edited(text: str, edits: Iterator[Edit]) -> str:
    data = text.encode()
    starts = [0, *(found.end() for found in re.finditer(b"\n", data))]
    kept: list[bytes] = []
    place = 0
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.column)):
        kept += [data[place : starts[edit.line - 1] + edit.column], edit.text.encode()]
        place = starts[edit.end_line - 1] + edit.end_column
    return b"".join([*kept, data[place:]]).decode()


# More is no longer quick to parse: a second at this size, half a minute at the largest source.
MOST_LINES, MOST_MARKS = 20_000, 100_000
_PACKED = (".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz")
_EXPORTED = (".html", ".htm", ".pdf")
_OPENED = re.compile(r"""open_exercise\(["'](\w{1,80})["']""")
_PROSE = {"markdown": "a Markdown cell", "raw": "a raw cell"}


@dataclass(frozen=True)
class Code:
    """What one file holds: the code to run, remarks, and the steps that are not run.

    `digest` is the SHA-256 of the file's bytes. `needs` is the Python that a definition in it
    needs, where that is newer than this one. `asked` is None for what is no notebook. `origins` are
    the numbers of the texts that the cells are from.
    """

    file: Path
    cells: tuple[str, ...]
    remarks: tuple[str, ...]
    not_run: tuple[tuple[str, str], ...]
    digest: str = ""
    needs: Version | None = None
    asked: Asked | None = None
    origins: tuple[int, ...] = ()


@dataclass(frozen=True)
class Texts:
    """The code cells of a file, and the prose between them, each with the kind of its cell.

    `python` is the version that a notebook says it was saved with. `parts` are texts that stand
    below each other in one script.
    """

    code: tuple[str, ...]
    prose: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
    digest: str = ""
    python: Version | None = None
    asked: Asked | None = None
    parts: bool = False


def read_code(file: Path, exercise: Exercise, root: Path | None = None) -> Code:
    """Return what a notebook or a `.py` holds; raise `Unreadable` or OSError.

    No link below `root` is followed, see `opened`.
    """
    if not is_submission(file) and file.is_file():
        raise Unreadable(
            not_the_file(file, exercise)
            or f"{file_name(file)} is neither a notebook nor a .py file: "
            f"hand in {exercise.name}.ipynb or {exercise.name}.py."
        )
    return code_in(_texts(read_text(file, root), file), file, exercise)


def code_in(texts: Texts, file: Path, exercise: Exercise) -> Code:
    """Return what is run of the texts of a file; raise `Unreadable` for too much."""
    _refuse_too_much(file_name(file), "\n".join(texts.code))
    plain = [_python(text, part=texts.parts) for text in texts.code]
    magics = zip(texts.code, plain)
    other = [(f"a cell that begins with `{magic}`", text) for text, (_, magic) in magics if magic]
    unread = [*texts.prose, *other]
    cut = pieces(text for text, _ in plain)
    kept = without_kit_calls([each for text in cut for each in text], notebook=is_notebook(file))
    code, remarks = without_copied_stubs(kept, exercise)
    origins = [number for number, text in enumerate(cut) for _ in text]
    run = [
        (number, cell)
        for number, cell in zip(origins, code)
        if cell.strip() not in ("", "True", "pass")
    ]
    cells = tuple(cell for _, cell in run)
    remarks = (*texts.remarks, *_of_another(texts.code, file, exercise), *remarks)
    needs = needed_python(cells, {step.name for step in exercise.steps}, texts.python)
    unrun = not_run(unread, exercise)
    origin = tuple(number for number, _ in run)
    return Code(file, cells, remarks, unrun, texts.digest, needs, texts.asked, origin)


def _of_another(code: Sequence[str], file: Path, exercise: Exercise) -> Iterator[str]:
    """Say so where a notebook opens another exercise and not this one."""
    opened = [name for text in code for name in _OPENED.findall(text)]
    if opened and exercise.name not in opened:
        yield (
            f"{file_name(file)} is the notebook of `{opened[0]}`: hand in that of "
            f"`{exercise.name}`, if you have done it."
        )


def not_the_file(file: Path, exercise: Exercise) -> str:
    """Say what a file is in place of a notebook or a `.py`, where its name tells; else ""."""
    name, kind = file_name(file), file.suffix.lower()
    if kind in _PACKED:
        return f"{name} is packed: unpack it, and hand in {exercise.name}.ipynb itself."
    if kind in _EXPORTED:
        return (
            f"{name} shows a notebook, but is none: download the notebook itself from JupyterLab, "
            f"and hand in {exercise.name}.ipynb."
        )
    return ""


def _texts(read: Text, file: Path) -> Texts:
    name = file_name(file)
    if not is_notebook(file):
        text = without_marimo(read.text)
        remark = f"{name} is a marimo notebook: what its cells hold was read as plain Python."
        remarks = read.remarks if text == read.text else (*read.remarks, remark)
        return Texts((text,), (), remarks, read.digest)
    facts = notebook_facts(read.text, name)
    cells = cells_in(facts, name)
    kinds, texts = [cell.get("cell_type") for cell in cells], list(map(source_as_it_is, cells))
    remarks = ()
    plain = texts
    if not is_plain("".join(texts)):
        plain = list(map(plain_text, texts))
        found = (each for text in texts for each in remarks_on_characters(text, name))
        remarks = tuple(dict.fromkeys(found))
    prose = ((_PROSE.get(str(kind)), text) for kind, text in zip(kinds, plain))
    return Texts(
        tuple(text for kind, text in zip(kinds, plain) if kind == "code"),
        tuple((place, text) for place, text in prose if place),
        (*read.remarks, *remarks),
        read.digest,
        version_in(facts),
        asked_in(facts, cells),
    )


def _refuse_too_much(name: str, code: str) -> None:
    """Raise `Unreadable` for what would take the grader long to parse: it is data, not code."""
    for count, most, what in (
        (-(-len(code) // 1024), LARGEST_SOURCE // 1024, "kB"),
        (code.count("\n"), MOST_LINES, "lines"),
        (_marks(code), MOST_MARKS, "brackets, commas and other signs"),
    ):
        if count > most:
            raise Unreadable(
                f"{name} holds more than {most} {what} of code: leave data out of it and hand "
                "it in again."
            )


def _marks(code: str) -> int:
    """Return how many signs there are; of a text in which there cannot be too many, its length."""
    return len(code) if len(code) <= MOST_MARKS else len(re.findall(r"[^\w\s]", code))


def _python(text: str, *, part: bool) -> Plain:
    """Return a cell as plain Python."""
    if parsed(text) is not None:
        return Plain(text)
    if part:
        return Plain("\n".join(_plain_lines(text.split("\n"))))
    return without_magics(text)


def without_marimo(text: str) -> str:
    """Return a file of the notebook program marimo as plain Python; any other text as it is.

    marimo keeps functions with a decorator, and cells as functions whose bodies are the code. The
    lines keep their numbers.
    """
    tree = parsed(text) if "marimo" in text else None
    apps = {name for node in tree.body for name in _apps(node)} if tree else set()
    if tree is None or not apps:
        return text
    lines = text.split("\n")
    for node in tree.body:
        match node:
            case ast.Import(names=[ast.alias(name="marimo")]):
                _blank(lines, *lines_of(node))
            case ast.Assign() if _apps(node):
                _blank(lines, *lines_of(node))
            case ast.With(items=[ast.withitem(context_expr=setup)]) if _part(setup, apps):
                _unwrap(lines, node.lineno, node.body)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                for each in node.decorator_list:
                    part = _part(each, apps)
                    if part == "cell":
                        _unwrap(lines, lines_of(node)[0], node.body)
                    elif part:
                        _blank(lines, each.lineno, each.end_lineno or each.lineno)
    return "\n".join(lines)


def _apps(node: ast.stmt) -> list[str]:
    """Return the names that a statement gives an app of marimo."""
    match node:
        case ast.Assign(
            targets=targets, value=ast.Call(func=ast.Attribute(value=ast.Name(), attr="App"))
        ):
            return [each.id for each in targets if isinstance(each, ast.Name)]
    return []


def _part(node: ast.expr, apps: Container[str]) -> str:
    """Return what of an app an expression names: "cell" of `app.cell` and `app.cell(...)`."""
    match node.func if isinstance(node, ast.Call) else node:
        case ast.Attribute(value=ast.Name(id=app), attr=part) if app in apps:
            return part
    return ""


def _unwrap(lines: list[str], start: int, body: Sequence[ast.stmt]) -> None:
    """Put the body of a statement that begins in line `start` at the margin, in its place."""
    first, last = lines_of(body[0])[0], lines_of(body[-1])[1]
    if first == start:  # all in one line
        return
    _blank(lines, start, first - 1)
    margin = " " * body[0].col_offset
    for number in range(first - 1, last):
        lines[number] = lines[number].removeprefix(margin)
    for node in body:
        if isinstance(node, ast.Return):
            _blank(lines, *lines_of(node))


def _blank(lines: list[str], first: int, last: int) -> None:
    lines[first - 1 : last] = [""] * (last - first + 1)
