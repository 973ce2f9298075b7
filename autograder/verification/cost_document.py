"""The table of all mistakes of an exercise and what they cost, in Markdown."""

from __future__ import annotations

from autograder.language_model.mistake_costs import HEARD, MeasuredCosts, MistakeCost

REPEAT = """\
To repeat it, train the other models on the same text, the plays known as tiny Shakespeare (1.1 MB,
in the public domain). Each takes about four minutes on one core:

```
make costs TEXT=shakespeare.txt
```
"""


def costs_document(title: str, costs: MeasuredCosts) -> str:
    """Return the table of all mistakes and their costs, in Markdown."""
    every = [each.heard_in == costs.trainings for each in costs.mistakes if each.loss is not None]
    none = sum(each.loss is None for each in costs.mistakes)
    silent = sum(each.heard_in == 0 for each in costs.mistakes)
    some = len(costs.mistakes) - none - silent - sum(every)
    lines = [
        f"# What each mistake costs: {title}",
        "",
        "`attn costs` writes this page. A small language model, trained with right attention,",
        "gets each known mistake in turn. The loss is in nats a character, on text that is new to",
        "it, as `attn play` measures it with the model in the kit. The spread goes from the lowest",
        f"to the highest of {costs.trainings} trainings, whose seeds differ. A mistake is heard in",
        "a training if its loss differs from the right one of that training by more than",
        f"{HEARD:g}.",
        "",
        f"- Right: {costs.right:.2f} ({costs.spread[0]:.2f} to {costs.spread[1]:.2f}).",
        f"- Of {len(costs.mistakes)} mistakes, {sum(every)} are heard in every training.",
        f"- {none} give NaN, or stop the model.",
        f"- {some} are heard in some trainings, and not in others.",
        f"- {silent} cannot be heard in any. Exact checks find them, too.",
        "",
        *REPEAT.splitlines(),
        "",
        "| step | mistake | loss | spread | what the model writes, or which check finds it |",
        "|---|---|---:|---|---|",
    ]
    ordered = sorted(costs.mistakes, key=lambda each: -(99.0 if each.loss is None else each.loss))
    return "\n".join([*lines, *(_row(each, costs.right) for each in ordered)]) + "\n"


def _row(cost: MistakeCost, right: float) -> str:
    if cost.loss is None or cost.spread is None:
        loss, spread, told = "none", "", cost.stops or "The loss is NaN."
    else:
        loss, spread = f"{cost.loss:.2f}", f"{cost.spread[0]:.2f} to {cost.spread[1]:.2f}"
        text = " ".join(cost.text.replace("`", "'").replace("|", " ").split())
        told = f"`{text}`" if cost.is_heard(right) else f"shown by: {cost.shown_by}"
    told = " ".join(told.replace("|", " ").split())
    return f"| `{cost.step}` | {cost.words} | {loss} | {spread} | {told} |"
