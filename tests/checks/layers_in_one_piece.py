"""Layers that somebody wrote in one piece, without the step functions: right ones and wrong ones.

Each is the source of a whole hand-in. A wrong one comes with the steps that may be named for it.
"""

from __future__ import annotations

from dataclasses import dataclass

NUMPY, SINGLE, MULTI, VIT = (
    "numpy_single_head",
    "torch_single_head",
    "torch_multi_head",
    "vit_multi_head",
)

_HEADS: dict[str, str] = {
    NUMPY: """\
import numpy as np


class SingleHeadAttention:
    def __init__(self, embedding_dimension, rng):
        def drawn():
            return rng.normal(0, 0.02, (embedding_dimension, embedding_dimension))

        self.query_weights, self.key_weights = drawn(), drawn()
        self.value_weights, self.output_weights = drawn(), drawn()

    def forward(self, x, causal=False):
""",
    SINGLE: """\
import math, torch
import torch.nn.functional as F
from torch import nn


class SingleHeadAttention(nn.Module):
    def __init__(self, hidden_size, bias=True):
        super().__init__()
        self.Wqkv = nn.Linear(hidden_size, hidden_size // 4 * 3, bias=bias)
        self.Wo = nn.Linear(hidden_size // 4, hidden_size, bias=bias)

    def forward(self, x):
""",
    MULTI: """\
import math, torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_size, num_heads, bias=True):
        super().__init__()
        assert hidden_size % num_heads == 0
        self.heads = num_heads
        self.Wqkv = nn.Linear(hidden_size, hidden_size * 3, bias=bias)
        self.Wo = nn.Linear(hidden_size, hidden_size, bias=bias)

    def forward(self, x):
""",
    VIT: """\
import math, torch
import torch.nn.functional as F
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        assert hidden_dim % num_heads == 0
        self.num_heads, self.head_dim = num_heads, hidden_dim // num_heads
        self.q_linear = nn.Linear(hidden_dim, hidden_dim)
        self.k_linear = nn.Linear(hidden_dim, hidden_dim)
        self.v_linear = nn.Linear(hidden_dim, hidden_dim)
        self.out_linear = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x):
""",
}


@dataclass(frozen=True)
class OnePiece:
    """A hand-in that is one class; `steps` are where a wrong one is wrong, in any reading."""

    name: str
    exercise: str
    forward: str
    steps: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The code that is handed in."""
        lines = self.forward.strip("\n").splitlines()
        return _HEADS[self.exercise] + "".join(f"        {line}\n" for line in lines)


_SINGLE_QKV = "q, k, v = self.Wqkv(x).chunk(3, dim=-1)\n"
_MULTI_QKV = """
B, S, C = x.shape
q, k, v = self.Wqkv(x).view(B, S, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
"""
_VIT_QKV = """
B, N, D = x.shape
cut = lambda t: t.view(B, N, self.num_heads, self.head_dim).transpose(1, 2)
q, k, v = cut(self.q_linear(x)), cut(self.k_linear(x)), cut(self.v_linear(x))
"""
_VIT_END = "return self.out_linear((a @ v).transpose(1, 2).reshape(B, N, D))\n"

# The right layer of each exercise that the wrong ones are made of.
_PLAIN = {
    NUMPY: """
q, k, v = x @ self.query_weights, x @ self.key_weights, x @ self.value_weights
s = q @ k.transpose(0, 2, 1) / np.sqrt(x.shape[-1])
if causal:
    s = np.where(np.tril(np.ones(s.shape[-2:])) == 1, s, -np.inf)
e = np.exp(s - s.max(-1, keepdims=True))
a = e / e.sum(-1, keepdims=True)
return a @ v @ self.output_weights
""",
    SINGLE: _SINGLE_QKV
    + """
a = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
return self.Wo(a @ v)
""",
    MULTI: _MULTI_QKV
    + """
a = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
return self.Wo((a @ v).transpose(1, 2).reshape(B, S, C))
""",
    VIT: _VIT_QKV + "a = (q @ k.mT / self.head_dim**0.5).softmax(-1)\n" + _VIT_END,
}

RIGHT = (
    *(OnePiece("matrix products", exercise, forward) for exercise, forward in _PLAIN.items()),
    OnePiece(
        "einsum, and keys as rows",
        NUMPY,
        """
q = np.einsum("bsd,de->bse", x, self.query_weights) / x.shape[-1] ** 0.5
k, v = x @ self.key_weights, x @ self.value_weights
s = np.einsum("bqd,bkd->bkq", q, k)
if causal:
    s = s + np.triu(np.full(s.shape[-2:], -1e9), 1).T
e = np.exp(s - s.max(axis=1, keepdims=True))
a = e / e.sum(axis=1, keepdims=True)
return np.einsum("bkq,bkd->bqd", a, v) @ self.output_weights
""",
    ),
    OnePiece(
        "a loop over the batch and the rows",
        NUMPY,
        """
out = np.zeros_like(x)
for b in range(len(x)):
    q, k, v = x[b] @ self.query_weights, x[b] @ self.key_weights, x[b] @ self.value_weights
    for i in range(len(q)):
        seen = i + 1 if causal else len(q)
        row = k[:seen] @ q[i] / np.sqrt(len(q[i]))
        e = np.exp(row - row.max())
        out[b, i] = (e / e.sum()) @ v[:seen]
return out @ self.output_weights
""",
    ),
    OnePiece(
        "the library's attention in one head",
        SINGLE,
        _SINGLE_QKV + "return self.Wo(F.scaled_dot_product_attention(q, k, v))\n",
    ),
    OnePiece(
        "a batched product with the scale inside",
        SINGLE,
        _SINGLE_QKV
        + """
s = torch.baddbmm(torch.zeros((), dtype=q.dtype), q, k.mT, beta=0, alpha=q.shape[-1] ** -0.5)
return self.Wo(torch.bmm(torch.softmax(s, dim=2), v))
""",
    ),
    OnePiece(
        "a loop over the heads",
        MULTI,
        """
q, k, v = self.Wqkv(x).chunk(3, dim=-1)
out = []
for q, k, v in zip(*(t.chunk(self.heads, dim=-1) for t in (q, k, v))):
    weights = (q @ k.transpose(1, 2) / math.sqrt(q.size(-1))).softmax(-1)
    out.append(weights @ v)
return self.Wo(torch.cat(out, dim=-1))
""",
    ),
    OnePiece(
        "the library's attention in many heads",
        MULTI,
        _MULTI_QKV
        + """
y = F.scaled_dot_product_attention(q, k, v)
return self.Wo(y.transpose(1, 2).flatten(2))
""",
    ),
    OnePiece(
        "heads beside the batch in one axis",
        MULTI,
        _MULTI_QKV
        + """
q, k, v = (t.reshape(B * self.heads, S, -1) for t in (q, k, v))
a = torch.bmm(q * q.shape[-1] ** -0.5, k.transpose(1, 2)).softmax(-1)
y = torch.bmm(a, v).view(B, self.heads, S, -1)
return self.Wo(y.permute(0, 2, 1, 3).reshape(B, S, C))
""",
    ),
    OnePiece(
        "einsum in many heads",
        VIT,
        """
B, N, D = x.shape
shape = (B, N, self.num_heads, self.head_dim)
q, k, v = (layer(x).view(shape) for layer in (self.q_linear, self.k_linear, self.v_linear))
s = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.head_dim**0.5
return self.out_linear(torch.einsum("bhqk,bkhd->bqhd", s.softmax(-1), v).reshape(B, N, D))
""",
    ),
    OnePiece(
        "the library's function for the whole layer",
        VIT,
        """
weights = torch.cat([each.weight for each in (self.q_linear, self.k_linear, self.v_linear)])
biases = torch.cat([each.bias for each in (self.q_linear, self.k_linear, self.v_linear)])
t = x.transpose(0, 1)
y, _ = F.multi_head_attention_forward(
    t, t, t, x.shape[-1], self.num_heads, weights, biases, None, None, False, 0.0,
    self.out_linear.weight, self.out_linear.bias, need_weights=False,
)
return y.transpose(0, 1)
""",
    ),
    OnePiece(
        "a softmax by hand",
        VIT,
        _VIT_QKV
        + """
s = (q @ k.transpose(-2, -1)).div(math.sqrt(self.head_dim))
e = (s - s.amax(-1, keepdim=True)).exp()
a = e / e.sum(-1, keepdim=True)
"""
        + _VIT_END,
    ),
)


def _wrong(name: str, exercise: str, old: str, new: str, *steps: str) -> OnePiece:
    """The plain layer with one text replaced by another."""
    right = _PLAIN[exercise]
    assert old in right, name
    return OnePiece(name, exercise, right.replace(old, new), steps)


_WEIGHTS, _GATHERED = "compute_attention_weights", "apply_attention"
_MASKING = ("create_causal_mask", "apply_mask")
_SCORES_OR_PROJECTION = ("compute_attention_scores", "project_qkv")
_MADE_MASK = "np.where(np.tril(np.ones(s.shape[-2:])) == 1, s, -np.inf)"
_MADE_HEADS = "self.Wqkv(x).view(B, S, 3, self.heads, -1).permute(2, 0, 3, 1, 4)"
WRONG = (
    _wrong("not scaled", NUMPY, " / np.sqrt(x.shape[-1])", "", "scale_scores"),
    _wrong("softmax over the queries", NUMPY, "(-1, keep", "(1, keep", "softmax", _WEIGHTS),
    _wrong("no output projection", NUMPY, " @ self.output_weights", "", "project_output"),
    _wrong("keys times queries", NUMPY, "q @ k.", "k @ q.", *_SCORES_OR_PROJECTION),
    _wrong(
        "the mask leaves out the token itself",
        NUMPY,
        _MADE_MASK,
        "np.where(np.tril(np.ones(s.shape[-2:]), -1) == 1, s, -1e9)",
        *_MASKING,
    ),
    _wrong(
        "forbidden scores are zero",
        NUMPY,
        _MADE_MASK,
        "s * np.tril(np.ones(s.shape[-2:]))",
        *_MASKING,
    ),
    _wrong("divided by three", NUMPY, "np.sqrt(x.shape[-1])", "3.0", "scale_scores"),
    _wrong(
        "a softmax of squares",
        NUMPY,
        "np.exp(s - s.max(-1, keepdims=True))",
        "np.where(np.isfinite(s), s**2, 0.0)",
        "softmax",
        _WEIGHTS,
    ),
    _wrong("not scaled in PyTorch", SINGLE, " / q.shape[-1] ** 0.5", "", "scale_scores"),
    _wrong("divided by the whole hidden size", SINGLE, "q.shape", "x.shape", "scale_scores"),
    _wrong("keys and values change places", SINGLE, "q, k, v", "q, v, k", "project_qkv"),
    _wrong("softmax over the batch", SINGLE, "softmax(-1)", "softmax(0)", _WEIGHTS),
    _wrong("weights are squared", SINGLE, "return", "a = a**2\nreturn", _WEIGHTS, _GATHERED),
    _wrong("heads merged without moving them", MULTI, ".transpose(1, 2)", "", "merge_heads"),
    _wrong(
        "heads split without moving them",
        MULTI,
        _MADE_HEADS,
        "(t.reshape(B, self.heads, S, -1) for t in self.Wqkv(x).chunk(3, dim=-1))",
        "split_heads",
    ),
    _wrong(
        "scaled by the hidden size", MULTI, "q.shape[-1] ** 0.5", "math.sqrt(C)", "scale_scores"
    ),
    _wrong("no softmax", MULTI, ".softmax(-1)", "", _WEIGHTS),
    _wrong(
        "one is added to the scores of the first head",
        MULTI,
        ".softmax(-1)",
        "\na = (a * torch.linspace(1, 2, self.heads)[:, None, None]).softmax(-1)",
        *("scale_scores", _WEIGHTS, "compute_attention_scores"),
    ),
    _wrong("keys are queries", VIT, "@ k.mT", "@ q.mT", "compute_scaled_scores", "project_qkv"),
    _wrong("the output layer is left out", VIT, "self.out_linear", "", "project_output"),
    _wrong("softmax over the heads", VIT, "softmax(-1)", "softmax(1)", _WEIGHTS),
    _wrong("the values are turned around", VIT, "return", "v = v.flip(2)\nreturn", _GATHERED),
    _wrong("a view of what lies scattered", VIT, "reshape(B", "view(B", "merge_heads"),
    _wrong(
        "a dropout that stays on",
        VIT,
        "return",
        "a = F.dropout(a, 0.5, True)\nreturn",
        *(_WEIGHTS, _GATHERED),
    ),
)
