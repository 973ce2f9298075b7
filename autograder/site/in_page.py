"""Answers what a page asks: runs in the browser's Python, with the kit's own checks."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from autograder.authoring.rungs import FILE as RUNGS
from autograder.authoring.rungs import read_rungs
from autograder.errors import KitError
from autograder.judging.time_limit import GRACE, WALL, still_running
from autograder.learning.card import Card, shown_in_page
from autograder.learning.checking import LOADING, MARGIN, Checking
from autograder.learning.job import SameProcess
from autograder.learning.results import Checkup, StepRun, top_still_running
from autograder.learning.step_lesson import LineOrder
from autograder.learning.step_pictures import picture_of_run
from autograder.learning.workspace import home_words
from autograder.play.in_child import SPEAKING
from autograder.play.language_model import loss_words, read_costs, spoken_mistake_words
from autograder.play.performance import hear
from autograder.reports.finding import html, needed_steps
from autograder.submission.cells import find_definitions, parsed
from autograder.submission.code import Texts, code_in, without_magics
from autograder.submission.file_text import Unreadable, plain_text
from autograder.submission.missing_import import bound_names
from autograder.submission.newer_python import needs_version
from autograder.submission.reading import Submission
from autograder.values.exercise import SOLUTION, Step, generated, read_exercise
from autograder.values.sanitize import listed
from autograder.values.this_machine import handed_out
from autograder.values.verdict import Finding, Outcome

# An exercise's script, cut at its steps: what stands in an editor, and what between them.

CELL = "# %%"


@dataclass(frozen=True)
class ScriptPieces:
    """The code of each step by its name, what stands above each, and what below the last.

    Of a step that is there more than once, the last counts, as when Python runs the script.
    """

    code: dict[str, str]
    above: dict[str, str]
    below: str

    @classmethod
    def of(cls, script: str, steps: Iterable[str]) -> ScriptPieces:
        """Cut a script; a step that is not in it is in none of the pieces."""
        lines, names, end = script.split("\n"), {*steps}, 0
        code, above = dict[str, str](), dict[str, str]()
        for span in find_definitions(script):
            if span.name in names:
                code[span.name] = "\n".join(lines[span.first - 1 : span.last])
                above[span.name] = "\n".join(lines[end : span.first - 1])
                end = span.last
        return cls(code, above, "\n".join(lines[end:]))

    def has_headings(self, text: str) -> bool:
        """Whether a text has the headings of our steps, at which it can be cut."""
        return bool(self._starts(text.split("\n")))

    def own_code(self, text: str) -> dict[str, str]:
        """Return what a learner's file has for each editor; `self` is the script handed out.

        It is cut at our headings, whatever stands between them, so that a saved file comes back
        letter for letter; at its definitions where it has none of them.
        """
        lines = text.split("\n")
        starts = self._starts(lines)
        if not starts:
            return self._defined(ScriptPieces.of(text, self.above))
        defined = {each.name: each.first - 1 for each in find_definitions(text)}
        others = self.above.keys() - starts.keys()
        starts |= {name: defined[name] for name in others if name in defined}
        order = sorted(starts, key=starts.__getitem__)
        halves = [_halves(self.above[name]) for name in order]
        ends = [*(starts[name] for name in order[1:]), len(lines)]
        leads = [*(lead for lead, _ in halves), self.below.split("\n")]
        own = dict[str, str]()
        for name, end, (_, heading), lead in zip(order, ends, halves, leads[1:]):
            ours = [] if name in others else heading
            piece = lines[starts[name] + len(ours[:2]) : end]  # its title may be another
            own[name] = _without_end(piece[_same(piece, ours[2:]) :], lead)
        above = lines[: starts[order[0]]]
        kept = _same(above, leads[0])
        if added := _without_end(above[kept:], leads[0][kept:]).strip():
            own[order[0]] = f"{added}\n\n\n{own[order[0]]}"
        return own

    def _starts(self, lines: Sequence[str]) -> dict[str, int]:
        """Return the line from 0 of each step's heading, of those that a file has."""
        starts, last = dict[str, int](), 0
        titles = [_title(line) for line in lines]
        for name, above in self.above.items():
            lead, heading = _halves(above)
            whole = _find(lines, [*lead, *heading], last)
            title = [_title(line) for line in heading[:2]]
            found = whole + len(lead) if whole >= 0 else _find(titles, title, last)
            if title and found >= 0:
                starts[name] = found
                last = found + 1
        return starts

    def _defined(self, own: ScriptPieces) -> dict[str, str]:
        return {
            name: code
            if own.above[name].split() == self.above[name].split()
            else f"{own.above[name].strip()}\n\n\n{code}".lstrip()
            for name, code in own.code.items()
        }


def _halves(above: str) -> tuple[list[str], list[str]]:
    """Return the lines above a step's heading, and those from the heading on."""
    lines = above.split("\n")
    at = max((number for number, line in enumerate(lines) if line == CELL), default=len(lines))
    return lines[:at], lines[at:]


def _title(line: str) -> str:
    """Return a line without what stands far to the right in it: where the step has its place."""
    return line.split("  ")[0].rstrip()


def _find(lines: Sequence[str], wanted: Sequence[str], start: int) -> int:
    """Return where these lines stand in a row, from `start` on, or -1."""
    places = range(start, len(lines) - len(wanted) + 1)
    return next((at for at in places if lines[at : at + len(wanted)] == wanted), -1)


def _without_end(lines: Sequence[str], ours: Sequence[str]) -> str:
    return "\n".join(lines[: len(lines) - _same(lines[::-1], ours[::-1])])


def _same(lines: Sequence[str], ours: Sequence[str]) -> int:
    """Return how many lines at the beginning are ours."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(lines, ours)))


SLOW = (
    "A check took {:.1f} s here, with all that it waits for. Where code is graded, it is stopped "
    "after {:g} s of processor time, so yours may be too slow there. What takes so long?"
)
UNREADABLE = (
    "Python cannot read its line {} ({}), and it has none of the lines # %% between steps. So "
    "nothing was put in place."
)
NOT_UTF_8 = "Some of its letters cannot be read: save it as UTF-8, and load it again."
LETTERS = " Some of its letters could not be read (it is no UTF-8); \ufffd stands for each."
TellPiece = Callable[[str], None]  # is given what is there already, as JSON
Cells = Sequence[tuple[str, str]]  # the text of each, with what it is called in tracebacks


ENDS_A_FILE = (Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.OUTPUT_LIMIT)
NOT_REACHED = (
    "So this step does not count yet: in a file, Python would never come to what stands below."
)
NOT_ONE_FILE = "This step does not count yet: as one file, Python cannot read your code ({})."
AS_A_FILE = "Not yet. Each step passes here, but once all of it is one file, these do not:"
OLDEST = (3, 11)  # that the kit runs in
_LANGUAGE = re.compile(
    r"\w*Array|\w*Error|ArrayBuffer|BigInt|Boolean|DataView|Date|FinalizationRegistry|Function|"
    r"Infinity|Iterator|JSON|Map|Math|NaN|Number|Object|Promise|Proxy|Reflect|RegExp|Set|String|Symbol|"
    r"Text(De|En)coder|Weak(Map|Ref|Set)|WebAssembly|console|crypto|globalThis|is(Finite|NaN)|"
    r"parse(Float|Int)|performance|undefined"
)
_BROWSER = ("_pyodide", "_pyodide_core", "js", "pyodide", "pyodide_js")


class _NoBrowser:
    """Finds no module that leads to the browser: a learner's file gets none of its rights."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise ModuleNotFoundError for such a module, as where there is no browser."""
        if name.partition(".")[0] in _BROWSER:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def give_up() -> None:
    """Take the browser away from Python for good: nothing is left but the language itself.

    Whoever gets hold of a global scope all the same finds nothing in it that reaches the network,
    what the site keeps, or another script.
    """
    script = importlib.import_module("js")
    functions = script.eval("[() => 0, async () => 0, function* () {}, async function* () {}]")
    kind = script.eval("(function () {})")  # what is asked for its kind, and makes nothing
    kind.prototype = script.Function.prototype
    script.globalThis.Function = kind
    place, same = script.globalThis, getattr(script.Object, "is")
    while not same(place, script.Object.prototype):
        for name in script.Reflect.ownKeys(place):
            if not _LANGUAGE.fullmatch(script.String(name)):
                script.Reflect.deleteProperty(place, name)
        place = script.Object.getPrototypeOf(place)
    for each in functions:  # these make code of a text
        script.Reflect.deleteProperty(script.Object.getPrototypeOf(each), "constructor")
    sys.meta_path.insert(0, _NoBrowser)
    for name in [each for each in sys.modules if each.partition(".")[0] in _BROWSER]:
        del sys.modules[name]


class Page:
    """The checks of one exercise, whose code is a cell for each editor."""

    def __init__(self, folder: str) -> None:
        self._exercise = read_exercise(Path(folder))
        self._jobs = SameProcess(self._exercise, self._heard)
        self._tell: TellPiece = lambda piece: None
        self._names: tuple[str, ...] = ()
        self._speaks = False  # whether a model speaks once all is loaded
        self._asked_at = self._longest = 0.0  # of the checks of one answer, in seconds
        # The first use of everything takes longer, and nobody has to wait for it here.
        self._checkup([], self._exercise.steps[:1])

    def answer(self, question: str, tell: TellPiece) -> str:
        """Answer a question, both as JSON; `tell` is given pieces of the answer as they come.

        It is to check a step of these cells, to try an order of lines, to end the exercise with
        its cells, or to cut a file.
        """
        asked, self._tell = json.loads(question), tell
        if "file" in asked:
            return json.dumps(self.loaded(asked["file"]))
        if "order" in asked:
            return json.dumps({"html": self.ordered(asked["step"], asked["order"])})
        if "met" in asked:
            return json.dumps({"html": self.finale(asked["cells"], asked["last"], asked["met"])})
        return json.dumps(self.check(asked["cells"], asked["step"]))

    def ordered(self, step: str, order: Iterable[int]) -> str:
        """Return the answer to the lines of a step in this order, given by their numbers from 0."""
        folder = self._exercise.folder
        rungs = read_rungs(generated(folder, RUNGS))[step]
        solution = (folder / SOLUTION).read_text(encoding="utf-8")
        chosen = tuple(rungs.lines[number] for number in order)
        lines = LineOrder(
            self._exercise, rungs, chosen, ScriptPieces.of(solution, [step]).above[step]
        )
        checkup = lines.checked(self._jobs)
        said = [*lines.words(checkup), *(trouble.message for trouble in checkup.troubles)]
        if lines.is_right(checkup):
            said.append("Now write it in the editor, without looking here.")
        told = _paragraphs(said)
        (run,) = checkup.steps
        return told if run.verdict.passes or checkup.troubles else told + _card(run, ()).html()

    def finale(self, cells: Cells, last: Sequence[str], met: Iterable[str]) -> str:
        """Let the model speak, and return what it says about loss and mistakes.

        last: the cells at the end of the notebook. met: the names of mistakes that checks found.
        """
        folder, speaker = self._exercise.folder, self._exercise.speaker
        try:
            if lacking := self._lacking(cells):
                return _paragraphs(lacking)
            checking = self._checking(cells, (), last)
            with shown_in_page(lambda page: self._tell(json.dumps({"html": page}))):
                loss = hear(checking, speaker, self._jobs, lambda text: None)
        except KitError as error:
            return f"<p>{html(error.fact)}</p>"
        paragraphs = [(loss_words(loss),), *spoken_mistake_words(read_costs(folder), met)]
        return "".join(f"<p>{'<br>'.join(map(html, lines))}</p>" for lines in paragraphs)

    def _lacking(self, cells: Cells) -> Sequence[str]:
        """Return what does not pass once these cells are one file, and why; nothing if all does.

        Only in a file does code in one editor keep Python from what stands in the next.
        """
        steps = needed_steps(self._exercise)
        checkup = self._checking([("your file", _as_file(cells))], steps).run(self._jobs)
        failing = [run.verdict for run in checkup.steps if not run.verdict.passes]
        if not failing:
            return ()
        said = [f"{AS_A_FILE} {listed([each.name for each in failing], 3)}."]
        findings = [*checkup.troubles, *(each.finding for each in failing if each.finding)]
        return [*said, *(each.message for each in findings[:1])]

    def _heard(self, message: Mapping[str, Any]) -> None:
        """Tell the page what is said, and how long it may hear nothing: it ends Python then."""
        limits = self._exercise.limits
        match message:
            case {"event": "spoke", "text": text}:
                self._tell(json.dumps({"text": text}))
            case {"event": "loading", "cell": cell}:
                seconds = WALL * LOADING * limits.seconds_per_submission
                place = f"In {self._names[cell]}: " if self._names else ""
                self._limit(seconds, top_still_running(seconds), place)
            case {"event": "loaded"} if self._speaks:
                seconds = WALL * SPEAKING
                self._limit(seconds, still_running(self._exercise.speaker, seconds))
            case {"event": "asking", "step": step}:
                self._asked_at = time.monotonic()
                seconds = WALL * limits.seconds_per_call
                self._limit(seconds, still_running(step, seconds))
            case {"event": "checked"}:
                self._longest = max(self._longest, time.monotonic() - self._asked_at)

    def _limit(self, seconds: float, finding: Finding, place: str = "") -> None:
        words = place + finding.message.replace("your file", "your code").replace("`", "")
        limit = {"seconds": seconds + GRACE + MARGIN, "words": words}
        self._tell(json.dumps({"limit": limit}))

    def loaded(self, text: str) -> dict[str, str]:
        """Return the code for each editor that a file has, and a question before it goes there."""
        names = [step.name for step in self._exercise.steps]
        whole, ours = plain_text(text), ScriptPieces.of(handed_out(self._exercise), names)
        if not ours.has_headings(whole) and (error := _unreadable(whole)):
            why = NOT_UTF_8 if "\ufffd" in text else UNREADABLE.format(error.lineno, error.msg)
            return {"unanswered": why}
        code = ours.own_code(whole)
        script = "\n".join(code.values())
        defined = {each.name for each in find_definitions(script)} | bound_names(script)
        missing = [name for name in names if name not in defined]
        asked = f"Put {len(code)} of {len(names)} steps in the place of your code here?"
        lacks = f" The file does not define {', '.join(missing)}." if missing else ""
        letters = LETTERS if "\ufffd" in text else ""
        return {**code, "question": asked + lacks + letters}

    def check(self, cells: Cells, name: str) -> dict[str, Any]:
        """Check one step; `document` is what `attn check --json` prints."""
        try:
            checkup = self._checkup(cells, (self._exercise.step(name),))
        except KitError as error:
            return {"passes": False, "html": f"<p>{html(str(error))}</p>", "printed": ""}
        (run,) = checkup.steps
        told = run.verdict.finding.fact if run.verdict.finding else ""
        others = [each.message for each in checkup.troubles if each.fact != told]
        most = self._exercise.limits.seconds_per_call
        passes, uncounted = run.verdict.is_done, ""
        if passes and self._longest > most:
            others.append(SLOW.format(self._longest, most))
        if passes and (uncounted := self._not_counted(cells, name, checkup)):
            others.append(uncounted)
        return {
            "passes": passes and not uncounted,
            "uncounted": bool(uncounted),
            "mistake": run.verdict.finding.misconception if run.verdict.finding else None,
            "document": checkup.document(),
            "html": _card(run, checkup.remarks).html() + _paragraphs(others),
            "printed": "".join((checkup.printed, *(check.printed for check in run.checks))),
        }

    def _not_counted(self, cells: Cells, step: str, checkup: Checkup) -> str:
        """Return why a step that passes here would not pass in a file, "" if it would."""
        above = takewhile(lambda each: each != f"your {step}", self._names)
        places = tuple(f"In {each}: " for each in above)
        ended = (each.fact for each in checkup.troubles if each.outcome in ENDS_A_FILE)
        if any(fact.startswith(places) for fact in ended):
            return NOT_REACHED
        script = _as_file(cells)
        error = _not_compiled(script) if parsed(script) else None  # if not, it is cut in pieces
        return NOT_ONE_FILE.format(error.msg) if error else ""

    def _checkup(self, cells: Cells, steps: Sequence[Step]) -> Checkup:
        return self._checking(cells, steps).run(self._jobs)

    def _checking(self, cells: Cells, steps: Sequence[Step], last: Sequence[str] = ()) -> Checking:
        """Have cells checked, read as a file is that holds them; the `last` run as they are."""
        file = self._exercise.folder / f"{self._exercise.name}.py"
        texts = Texts(tuple(plain_text(text) for _, text in cells), parts=True)
        try:
            code = code_in(texts, file, self._exercise)
        except Unreadable as reason:
            cure = "take away what is not an answer"
            raise KitError(home_words(str(reason)), place="your code", cure=cure) from None
        remarks = (*map(home_words, code.remarks), *_newer(code.cells))
        facts = ("you", self._exercise.name, (*code.cells, *last), file)
        submission = Submission(*facts, remarks=remarks)
        names = (cells[number][0] for number in code.origins)
        self._names, self._longest = (*names, *("the last cells" for _ in last)), 0.0
        self._speaks = bool(last)
        return Checking(self._exercise, submission, steps, names=self._names)


def _unreadable(text: str, version: tuple[int, int] | None = None) -> SyntaxError | None:
    """Return why Python, or an older one, cannot read a text; None where it can."""
    try:
        ast.parse(text if parsed(text) else without_magics(text).text, feature_version=version)
    except SyntaxError as error:
        return error
    return None


def _as_file(cells: Cells) -> str:
    """Return the text of the file that a page saves."""
    return "\n".join(text for _, text in cells)


def _not_compiled(text: str) -> SyntaxError | None:
    """Return why Python cannot compile a text; None where it can."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<text>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError):  # said where the code is loaded
        return None
    return None


def _newer(cells: Sequence[str]) -> Iterator[str]:
    """Give a line if the oldest Python that the kit runs in cannot read a cell."""
    for cell in cells:
        if needs_version(cell) or (parsed(cell) and _unreadable(cell, OLDEST)):
            names = [f"`{each.name}`" for each in find_definitions(cell)]
            where = f"What is written around {names[0]}" if names else "What stands above the steps"
            yield f"{where} needs a newer Python than 3.11, which a terminal may have."
            return


def _paragraphs(said: Iterable[str]) -> str:
    return "".join(f"<p>{html(words)}</p>" for words in said)


def _card(run: StepRun, remarks: Sequence[str]) -> Card:
    return Card.of(run.verdict, run.total, picture_of_run(run), remarks)
