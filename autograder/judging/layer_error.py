"""Why a learner's layer gives nothing to show, in one sentence; outside of any check."""

from __future__ import annotations

from autograder.model.symbols import UNWRITTEN


class Unusable(Exception):
    """A layer gave something that cannot be used; the text says what, in one sentence."""


def layer_error_words(error: BaseException) -> str:
    """Return why a layer gave nothing, from what it raised."""
    if isinstance(error, Unusable):
        return str(error)
    if isinstance(error, NotImplementedError):
        name, _, rest = str(error).partition(" ")
        what = f"`{name}`" if rest == UNWRITTEN else "a step"
        return f"{what} {UNWRITTEN}."
    if isinstance(error, NameError):
        return f"there is no `{error.name}`: run the cells above, starting with the first."
    said = f": {error}" if str(error) else ""
    return f"your layer stops with {type(error).__name__}{said}. The checks say more."
