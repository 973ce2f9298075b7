"""PyTorch's gradients around a call: recorded, propagated back, and what a call leaves behind."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from autograder.protocol import wire
from autograder.protocol.arrays import read


def tracked(value: Any, leaves: list[Any]) -> Any:
    """Return an argument that passes gradients on; what receives them is added to `leaves`."""
    torch = sys.modules["torch"]
    if isinstance(value, torch.nn.Linear):
        leaves += value.parameters()
    elif isinstance(value, torch.Tensor) and value.is_floating_point():
        leaves.append(value.detach().requires_grad_())
        return leaves[-1].clone()  # which the code may change in place, as it may any tensor
    return value


def propagate(value: Any, gradient: Any) -> None:
    """Propagate gradients back from a result, or from each of several.

    Nothing is propagated from what has lost its connection to the inputs.
    """
    torch = sys.modules["torch"]
    several = isinstance(gradient, tuple)
    pairs = zip(value, gradient) if several else [(value, gradient)]
    connected = [pair for pair in pairs if getattr(pair[0], "requires_grad", False)]
    if connected:
        with torch.enable_grad():
            weighted_sum(connected).backward()


def weighted_sum(pairs: Iterable[tuple[Any, Any]]) -> Any:
    """Return a number whose gradient at each result is the one that it is paired with.

    To be handed gradients as they are, PyTorch would import SymPy.
    """
    return sum((result * arriving).sum() for result, arriving in pairs)


def recording(on: bool | None) -> contextlib.AbstractContextManager[Any]:
    """Record gradients with PyTorch, or none, whatever holds around it; None leaves it so."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None or on is None else torch.set_grad_enabled(on)


def listed_parameters(instance: Any, names: Iterable[str]) -> list[str]:
    """Say whether `parameters()`, which an optimizer asks, gives those of `names` and no more.

    Returns `HIDDEN` when one of them is left out, and `ADDED` when there are others to be trained.
    """
    torch = sys.modules.get("torch")
    if not (torch and names and issubclass(type(instance), torch.nn.Module)):
        return []
    asked, listed = [read(instance, name) for name in names], list(instance.parameters())
    hidden = {id(each) for each in asked} - {id(each) for each in listed}
    added = {id(each) for each in listed if each.requires_grad} - {id(each) for each in asked}
    return [wire.HIDDEN] * bool(hidden) + [wire.ADDED] * bool(added)


def recorded(arguments: Iterable[Any]) -> list[bool]:
    """Say which arguments are tensors that PyTorch itself was asked to record gradients for."""
    return [getattr(each, "requires_grad", False) is True and each.is_leaf for each in arguments]


def mode(instance: Any) -> bool | None:
    """Say whether a module is in training; None for what is no module."""
    torch = sys.modules.get("torch")
    if not (torch and issubclass(type(instance), torch.nn.Module)):
        return None
    return bool(instance.training)


class Settings:
    """What a student's code must leave as it is: settings of PyTorch, and chance.

    A number is drawn before and after a call from each generator that all code shares. Where the
    one after it is that of the call before, but the one before is not, the call has set a seed.
    """

    _last: ClassVar[dict[str, tuple[Any, Any, bool]]] = {}  # of the call before this one

    def __init__(self) -> None:
        self._before, self._drawn = self._now(), _drawn()

    def changed(self) -> list[str]:
        """Return the names of those that are not as they were."""
        return [*self._switched(), *self._seeded()]

    def _seeded(self) -> list[str]:
        found = []
        for name, after in _drawn().items():
            before = self._drawn.get(name)
            last, repeated, seeded = self._last.get(name, (None, None, False))
            seeded = after == repeated and (seeded or before != last)
            self._last[name] = before, after, seeded
            found += [name] * seeded
        return found

    def restore(self) -> None:
        """Set all settings as they were."""
        if self._switched():
            torch = sys.modules["torch"]
            torch.set_grad_enabled(self._before["set_grad_enabled"])
            torch.set_default_dtype(self._before["set_default_dtype"])

    def _switched(self) -> list[str]:
        now = self._now()
        return [name for name, setting in self._before.items() if now[name] != setting]

    def _now(self) -> dict[str, Any]:
        torch = sys.modules.get("torch")
        if torch is None:
            return {}
        return {
            "set_grad_enabled": torch.is_grad_enabled(),
            "set_default_dtype": torch.get_default_dtype(),
        }


# Kept here, so that they are the libraries' own whatever a student's code does to the names.
_python_number, _numpy_number = random.random, np.random.random_sample


def _drawn() -> dict[str, Any]:
    """Draw a number from each generator that all code shares."""
    drawn: dict[str, Any] = {wire.PYTHON_SEED: _python_number(), wire.NUMPY_SEED: _numpy_number()}
    if torch := sys.modules.get("torch"):
        number = torch.empty((), dtype=torch.int64, device="cpu").random_()
        drawn[wire.TORCH_SEED] = number.item()
    return drawn
