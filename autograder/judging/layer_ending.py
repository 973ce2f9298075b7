"""What a layer does after its last call of a step: what it returns in place of the result."""

from __future__ import annotations

import numpy as np

from autograder.judging.call_deviation import alike
from autograder.judging.deviation_words import DeviationWords, Told
from autograder.judging.expectation import Agrees
from autograder.judging.layer_calls import LayerCall
from autograder.model.verdict import Finding
from autograder.protocol.wire import Value

_ORDINALS = ("first", "second", "third", "fourth")


def ending_words(words: DeviationWords, finding: Finding, returned: Value) -> Told | None:
    """Return what happens after right calls, or None if not even that is known."""
    last = next((call for call in reversed(words.own) if alike(returned, call.result)), None)
    if last and words.uncalled:
        fact = f"Your layer returns what `{last.step}` gives in line {last.line}."
        return f"{fact} It does not call `{words.uncalled[-1]}`.", "What is left to do?"
    final = words.own[-1]
    expectation = words.example.expectation
    ends_so = isinstance(expectation, Agrees) and alike(final.result, expectation.expected)
    if words.matched.missing or last or not ends_so:
        return None
    right = f"All calls are right up to `{final.step}` in line {final.line}"
    if not isinstance(returned, np.ndarray):
        return f"{right}. {finding.fact}", _part(final, returned) or finding.look
    doubled = isinstance(final.result, np.ndarray) and alike(returned, 2 * final.result)
    added = "" if doubled else words.difference(returned, final.result)
    if not finding.vague and not finding.misconception and not added:
        return f"{right}. {finding.fact}", finding.look
    fact = f"{right}, but what your layer returns is not what that call gives."
    if added:
        fact = f"{fact} It is that plus {added}."
    return fact, "What does your layer do with that result?"


def _part(final: LayerCall, returned: Value) -> str:
    """Say which part of a tuple is the result."""
    parts = returned if isinstance(returned, tuple) else ()
    places = (place for place, part in enumerate(parts) if alike(part, final.result))
    place = next(places, None)
    if place is None:
        return ""
    if len(parts) == 1:
        return f"In it is what `{final.step}` gives. What puts that into a list or tuple?"
    which = f"The {_ORDINALS[place]}" if place < len(_ORDINALS) else f"Number {place + 1}"
    return f"{which} of them is what `{final.step}` gives. What are the others for?"
