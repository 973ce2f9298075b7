"""The examination in words, for a terminal with or without color, and as JSON.

A reader wants two answers (can I work here, can I grade here) and a remedy for
each thing that is missing. These come last, where the reader ends.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autograder.doctor.examination import Examination
from autograder.doctor.installation import LEARNING, PLACE, Part
from autograder.model.protection import Protection
from autograder.model.symbols import ABSENT, RIGHT, WRONG

_LEVELS = {
    Protection.FULL: "namespaces, Landlock, filter and limits",
    Protection.LANDLOCK: "Landlock, filter and limits, no namespaces",
    Protection.NAMESPACES: "namespaces, filter and limits, no Landlock",
    Protection.PROCESS: "a separate process, and nothing to rely on",
}


def tell(found: Examination) -> Group:
    """Return the examination for a console: tables, then the answers and the remedies."""
    parts: list[RenderableType] = []
    if found.layers:
        title = f"Layers of the sandbox on {found.system}, as {found.user}"
        rows = [(_sign(layer.held), layer.name, layer.fact) for layer in found.layers]
        parts += [_table(title, ("layer", "what it is, or why not"), rows), Text()]
        parts += [_trials(found), Text()]
    rows = [(_sign_of(part), part.name, f"{part.fact} ({part.purpose})") for part in found.parts]
    parts += [_table("Installed", ("part", "which, and what for"), rows), Text()]
    return Group(*parts, *_answers(found))


def as_json(found: Examination) -> str:
    """Return the examination as JSON text; `grading` is what the exit code says."""
    refused = found.shortfall
    facts = asdict(found) | {
        "shortfall": {"fact": refused.fact, "place": refused.place, "cure": refused.cure}
        if refused
        else None,
        "learning": found.learning,
        "grading": found.grading,
    }
    return json.dumps(facts, indent=2, ensure_ascii=False)


def _table(title: str, columns: tuple[str, str], rows: list[tuple[Text, str, str]]) -> Table:
    table = _empty(title, *columns)
    for sign, name, fact in rows:
        table.add_row(sign, Text(name), Text(fact))
    return table


def _trials(found: Examination) -> Table:
    title = "What a worker must be denied, while the control next to it succeeds"
    table = _empty(title, "a worker tries to", "ends in", "control")
    for demand in found.demands:
        table.add_row(_sign(demand.met), Text(demand.name, style="bold"), "", "")
        for trial in demand.trials:
            row = (f"  {trial.tried}", trial.ended, trial.control)
            table.add_row(Text() if demand.met else _sign(not trial.gap), *map(Text, row))
        if not demand.trials:
            table.add_row("", Text("  nothing could be tried"), "", "")
    return table


def _empty(title: str, *columns: str) -> Table:
    table = Table(
        title=Text(title, style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("", width=1)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _sign(held: bool) -> Text:
    return Text(RIGHT, style="green") if held else Text(WRONG, style="red")


def _sign_of(part: Part) -> Text:
    """Return the sign of a part; a missing part that only some people need is not an error."""
    return _sign(part.found) if part.found or part.need in (LEARNING, PLACE) else Text(ABSENT)


def _answers(found: Examination) -> list[Text]:
    lines = []
    if found.level:
        lines.append(Text(f"level: {found.level} ({_LEVELS[found.level]})", style="bold"))
    lines.append(_answer("work on the exercises here", found.learning))
    lines.append(_answer("grade untrusted code here", found.grading))
    if found.shortfall:
        lines += [Text(f"  why:  {found.shortfall.fact}"), Text(f"  cure: {found.shortfall.cure}")]
    missing = _remedies(found)
    if missing and found.learning and found.grading:
        lines.append(Text("The missing parts are not needed for that:"))
    return [*lines, *(Text(line, style="yellow") for line in missing)]


def _answer(words: str, possible: bool) -> Text:
    return Text(f"{words}: {'yes' if possible else 'no'}", style="green" if possible else "red")


def _remedies(found: Examination) -> list[str]:
    """Say once how to get each missing layer or part, which may not be needed."""
    missing = [(layer.remedy, layer.name) for layer in found.layers]
    missing += [(part.remedy, f"{part.name} ({part.purpose})") for part in found.parts]
    names: dict[str, list[str]] = {}
    for remedy, name in missing:
        if remedy:
            names.setdefault(remedy, []).append(name)
    return [f"missing: {', '.join(those)}\n  cure: {remedy}" for remedy, those in names.items()]
