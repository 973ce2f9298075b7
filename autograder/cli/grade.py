"""`attn grade`: grades a course or a folder of files, writes the results and shows them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.cli.found_class import opened_class
from autograder.cli.kit import lasting_output, out
from autograder.grading.class_task import GradingOptions, hidden_hand_ins, passed_over
from autograder.grading.grader_pool import GraderPool, give_head_start
from autograder.values.sanitize import terminal_line

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.cli.report import GradedClass
    from autograder.grading.grader_pool import Pool
_HIDDEN = "not graded, since the name begins with a dot: {names}. Rename it, then grade again."
_NOTES = (
    "not graded, since a list or a note may have such a name: {names}. If a student handed it in, "
    "save it as .py, then grade again."
)


@lasting_output()
def grade_path(
    path: Path,
    *,
    exercise: str | None,
    solutions: Path | None,
    output: Path | None,
    options: GradingOptions,
    console: Console | None = None,
) -> GradedClass:
    """Grade the class at `path`, write and print the results; raise `KitError` on bad input.

    If another run is grading the same class, wait for it. If printing fails, everything is still
    graded and written, and then the error is raised. `console` is the terminal unless it is named.
    """

    def say(words: str, style: str = "") -> None:
        from rich.text import Text

        (console or out()).print(Text(words, style=style))

    with opened_class(path, exercise, solutions, output, say) as found:
        handed_in = found.task.hand_ins[0].root or found.task.graded
        for words, names in (
            (_HIDDEN, hidden_hand_ins(handed_in)),
            (_NOTES, passed_over(handed_in)),
        ):
            if names:
                say(words.format(names=terminal_line(", ".join(names), 300)), "bold red")
        with GraderPool(options.processes) as pool:
            give_head_start(found.task, pool, options)
            # Only now: grader processes start meanwhile.
            records = found.opened_records()
            from autograder.cli.report import make_ready, write_results
            from autograder.grading.class_run import grade_task

            make_ready()
            shown = console or out()
            with (
                _judges(options, pool, say) as judges,
                grade_task(found.task, pool, options, shown, judges=judges) as judged,
            ):
                gradebook = records.enter(judged, pool)
                return write_results(found.task, records, pool, judged, gradebook, shown)


def _judges(
    options: GradingOptions, pool: GraderPool, say: Callable[[str, str], None]
) -> AbstractContextManager[Pool | None]:
    """Return who judges in place of this machine's own processes, if anybody."""
    if options.cluster is None:
        return nullcontext()
    from autograder.cluster.cluster_pool import cluster_pool  # only a cluster needs Dask

    return cluster_pool(options.cluster, pool.processes, lambda words: say(words, "yellow"))
