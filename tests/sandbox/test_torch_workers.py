"""Workers that have loaded PyTorch, all of one zygote: it takes as long as ten others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from autograder.sandbox import Zygote
from autograder.values.exercise import Limits
from autograder.worker.wire import Linear
from sandbox.questions import value_of

LIMITS = Limits(seconds_per_call=10.0, memory_megabytes=1024)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote("torch", LIMITS) as zygote:
        yield zygote


@pytest.mark.slow
def test_a_worker_may_use_threads_in_array_code_without_hanging(zygote: Zygote) -> None:
    code = (
        "import torch\ndef f():\n    torch.set_num_threads(2)\n"
        "    x = torch.ones(600, 600, requires_grad=True)\n    (x @ x).sum().backward()\n"
        "    return float(x.grad.sum()), torch.get_num_threads()"
    )
    for _ in range(3):
        assert value_of(zygote, code) == (2 * 600.0**3, 2)


def test_a_worker_multiplies_in_half_precision_without_a_program_for_each_size(
    zygote: Zygote,
) -> None:
    code = (
        "import torch\ndef f(name):\n    half = getattr(torch, name)\n"
        "    x = torch.arange(12.0).reshape(3, 4)\n    y = x.T.contiguous()\n"
        "    equal = torch.equal((x.to(half) @ y.to(half)).float(), (x @ y).to(half).float())\n"
        "    return equal, torch.backends.mkldnn.enabled"
    )
    for name in ("bfloat16", "float16"):
        assert value_of(zygote, code, name) == (True, False)


def test_a_layer_that_is_handed_over_is_that_of_pytorch(zygote: Zygote) -> None:
    """Whatever the code has put in its place."""
    code = (
        "import torch\nclass Other(torch.nn.Linear):\n"
        "    def __init__(self, *sizes):\n        super().__init__(*sizes)\n        self.more = 1\n"
        "    def forward(self, x): return x[..., :3] * self.more\n"
        "torch.nn.Linear = Other\n"
        "def f(layer): return layer(torch.ones(2))"
    )
    layer = Linear(np.ones((3, 2), np.float32), np.zeros(3, np.float32))
    assert value_of(zygote, code, layer)[0] == 2.0
