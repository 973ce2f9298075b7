"""How much of what is drawn at random the long tests take: some, or all with ATTN_DRAWS=all."""

import os

_TAKEN = os.environ.get("ATTN_DRAWS") or "some"
assert _TAKEN in ("some", "all"), f"ATTN_DRAWS is {_TAKEN}; cure: say `some` or `all`"


def draws(some: int, everything: int) -> int:
    """Return `some`, or `everything` where all are asked for."""
    return everything if _TAKEN == "all" else some
