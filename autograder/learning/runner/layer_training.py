"""Trains a model through the learner's layer; runs in the child."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from autograder.judging.inprocess import layer_error_words
from autograder.model.symbols import not_there

SECONDS = 60.0  # of processor time: a training stops by itself before
Limit = Callable[[float], AbstractContextManager[None]]


def train(
    names: Mapping[str, Any], facts: Mapping[str, Any], send: Callable[..., None], limit: Limit
) -> None:
    """Send how a training goes and its result; or why there is none.

    facts: task, layer, arguments and causal as in the exercise; most_steps, None for the task's
    own; first_seconds, within which a first call of the layer has to return.
    """
    # Here, because this module is imported where there is no PyTorch, too.
    from autograder.training_tasks.training import call_once, trained
    from autograder.training_tasks.training_task import task_named
    from autograder.training_tasks.training_words import Moment, moment_facts, result_facts

    layer, task, causal = facts["layer"], task_named(facts["task"]), facts["causal"]
    if layer not in names:
        send(event="untrained", why=not_there(layer))
        return

    def make(width: int) -> Any:
        return names[layer](width, *facts["arguments"])

    try:
        with limit(facts["first_seconds"]):
            call_once(task, make, causal=causal)
        with limit(SECONDS):
            for each in trained(task, make, causal=causal, steps=facts["most_steps"]):
                if isinstance(each, Moment):
                    send(event="training", moment=moment_facts(each))
                else:
                    send(event="trained", result=result_facts(each))
    except Exception as error:
        send(event="untrained", why=layer_error_words(error))
