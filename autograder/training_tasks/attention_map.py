"""Which attention weights a layer uses, seen from outside while it computes.

A layer gives token vectors and no weights. But whichever way it is written, PyTorch multiplies the
values by the weights in the end, in one product of matrices. Its first factor has a row and a
column for each token, and is recorded here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """The weights of one head for one input: weights (S, S), of a block and a head."""

    weights: np.ndarray
    block: int
    head: int
    heads: int


class _Products(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records the first factor of each product of matrices that is square with `tokens` rows."""

    def __init__(self, tokens: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tokens = tokens
        self.found: list[Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten.bmm.default:
            rows, columns = args[0].shape[-2:]
            if rows == columns == self.tokens:
                self.found.append(args[0].detach().clone())
        return func(*args, **(kwargs or {}))


def attention_maps(
    compute: Callable[[], Any], layers: list[nn.Module], tokens: int, count: int
) -> list[AttentionMap]:
    """Return the maps of the first of `count` inputs, that `compute` sends through `layers`.

    A layer that multiplies no values by weights of (S, S) has none, nor has one that takes its
    inputs one by one.
    """
    found: list[AttentionMap] = []
    products = _Products(tokens)
    with (
        torch.no_grad(),
        sdpa_kernel([SDPBackend.MATH]),
        products,
        _noted(layers, products, found, count),
    ):
        compute()
    return found


@contextmanager
def _noted(
    layers: list[nn.Module], products: _Products, found: list[AttentionMap], count: int
) -> Iterator[None]:
    """After each layer, turn the products that it made into maps."""

    def note(block: int) -> Callable[..., None]:
        def after(*_: Any) -> None:
            heads = [each for product in products.found for each in _heads(product, count)]
            products.found.clear()
            found.extend(
                AttentionMap(each.numpy().astype(float), block, head, len(heads))
                for head, each in enumerate(heads)
            )

        return after

    handles = [layer.register_forward_hook(note(block)) for block, layer in enumerate(layers)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _heads(product: Tensor, count: int) -> list[Tensor]:
    """Return the (S, S) of each head for the first input, of a product (count * heads, S, S)."""
    whole = product.ndim == 3 and product.shape[0] % count == 0
    return list(product[: product.shape[0] // count]) if whole else []


def sharpest(maps: list[AttentionMap], rows: slice) -> AttentionMap | None:
    """Return the map whose `rows` put the largest shares on single tokens; None without maps."""
    return max(maps, key=lambda each: float(each.weights[rows].max(axis=-1).mean()), default=None)
