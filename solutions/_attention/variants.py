"""Correct steps that the exercises in PyTorch share, written independently of any solution.py.

Each class is a way to write them; a variant of an exercise takes it as a base, adds the steps
that are its own, and leaves those that the exercise does not have. Axes are counted from the
end where a step is the same for one head and for several; the heads are merged from
(B, heads, tokens, head_dim).
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class FunctionsOfTorch:
    """The functions of torch and torch.nn.functional where the reference has operators."""

    def compute_attention_scores(queries, keys):
        return torch.matmul(queries, torch.transpose(keys, -2, -1))

    def scale_scores(attention_scores, head_dim):
        return torch.div(attention_scores, torch.sqrt(torch.tensor(head_dim)))

    def compute_attention_weights(scaled_scores):
        return F.softmax(scaled_scores, dim=scaled_scores.ndim - 1)

    def apply_attention(attention_weights, values):
        return torch.matmul(attention_weights, values)

    def merge_heads(attention_output):
        return torch.flatten(torch.permute(attention_output, (0, 2, 1, 3)), start_dim=2)

    def project_output(gathered, layer):
        return F.linear(gathered, layer.weight, layer.bias)


class Methods:
    """The methods of tensors."""

    def compute_attention_scores(queries, keys):
        return queries.matmul(keys.movedim(-1, -2))

    def scale_scores(attention_scores, head_dim):
        return attention_scores.mul(head_dim**-0.5)

    def compute_attention_weights(scaled_scores):
        return scaled_scores.log_softmax(dim=-1).exp()

    def apply_attention(attention_weights, values):
        return attention_weights.matmul(values)

    def merge_heads(attention_output):
        return attention_output.movedim(1, 2).flatten(2)

    def project_output(gathered, layer):
        projected = gathered.matmul(layer.weight.t())
        return projected if layer.bias is None else projected.add(layer.bias)


class Einsum:
    """Every sum over an axis as an einsum, every axis by its letter."""

    def compute_attention_scores(queries, keys):
        return torch.einsum("...id,...jd->...ij", queries, keys)

    def compute_attention_weights(scaled_scores):
        exponentials = torch.exp(scaled_scores - scaled_scores.amax(dim=-1, keepdim=True))
        return torch.einsum("...ij,...i->...ij", exponentials, 1 / exponentials.sum(dim=-1))

    def apply_attention(attention_weights, values):
        return torch.einsum("...ij,...jd->...id", attention_weights, values)

    def merge_heads(attention_output):
        return torch.einsum("bhsd->bshd", attention_output).flatten(start_dim=2)

    def project_output(gathered, layer):
        projected = torch.einsum("...d,cd->...c", gathered, layer.weight)
        return projected if layer.bias is None else projected + layer.bias


class BatchedProducts:
    """bmm for the products, all heads folded into the batch axis."""

    def compute_attention_scores(queries, keys):
        scores = torch.bmm(queries.flatten(0, -3), keys.flatten(0, -3).mT)
        return scores.view(*queries.shape[:-1], -1)

    def scale_scores(attention_scores, head_dim):
        return attention_scores * torch.rsqrt(torch.tensor(float(head_dim)))

    def compute_attention_weights(scaled_scores):
        return nn.Softmax(dim=-1)(scaled_scores)

    def apply_attention(attention_weights, values):
        gathered = attention_weights.flatten(0, -3).bmm(values.flatten(0, -3))
        return gathered.view(values.shape)


class PlainLoops:
    """Loops over sequences, heads and tokens, one matrix at a time."""

    def compute_attention_scores(queries, keys):
        pairs = zip(queries.flatten(0, -3), keys.flatten(0, -3))
        return torch.stack([query.mm(key.t()) for query, key in pairs]).view(*keys.shape[:-1], -1)

    def scale_scores(attention_scores, head_dim):
        return torch.stack([scores / math.sqrt(head_dim) for scores in attention_scores])

    def compute_attention_weights(scaled_scores):
        rows = []
        for row in scaled_scores.flatten(0, -2):
            exponentials = torch.exp(row - row.max())
            rows.append(exponentials / exponentials.sum())
        return torch.stack(rows).view(scaled_scores.shape)

    def apply_attention(attention_weights, values):
        output = torch.zeros_like(values)
        for j in range(values.shape[-2]):
            output += attention_weights[..., j, None] * values[..., j, None, :]
        return output

    def merge_heads(attention_output):
        B, heads, S, head_dim = attention_output.shape
        merged = torch.zeros(B, S, heads * head_dim, dtype=attention_output.dtype)
        for head in range(heads):
            merged[:, :, head * head_dim : (head + 1) * head_dim] = attention_output[:, head]
        return merged

    def project_output(merged, layer):
        return torch.stack([layer(tokens) for tokens in merged])


class Contiguous:
    """Every part copied into memory of its own before it is used, so that a view will do."""

    def compute_attention_scores(queries, keys):
        return queries.contiguous() @ keys.transpose(-1, -2).contiguous()

    def apply_attention(attention_weights, values):
        return (attention_weights.contiguous() @ values.contiguous()).clone()

    def merge_heads(attention_output):
        B, heads, S, head_dim = attention_output.size()
        return attention_output.transpose(1, 2).contiguous().view(B, S, heads * head_dim)

    def project_output(gathered, layer):
        B, S, width = gathered.shape
        return layer(gathered.contiguous().view(B * S, width)).view(B, S, -1)


class NonContiguous:
    """Transposed views, returned as they are."""

    def compute_attention_scores(queries, keys):
        return (keys @ queries.mT).mT

    def scale_scores(attention_scores, head_dim):
        return (attention_scores.mT / math.sqrt(head_dim)).mT

    def compute_attention_weights(scaled_scores):
        return scaled_scores.mT.softmax(dim=-2).mT

    def apply_attention(attention_weights, values):
        return (values.mT @ attention_weights.mT).mT

    def merge_heads(attention_output):
        # The tokens go last, so that heads and head_dim lie next to each other.
        return attention_output.permute(0, 1, 3, 2).flatten(1, 2).mT

    def project_output(gathered, layer):
        bias = 0 if layer.bias is None else layer.bias[:, None]
        return (layer.weight @ gathered.mT + bias).mT


class DoublePrecision:
    """Everything computed in float64, and returned in the precision of the input."""

    def compute_attention_scores(queries, keys):
        return (queries.double() @ keys.double().transpose(-2, -1)).to(keys.dtype)

    def scale_scores(attention_scores, head_dim):
        scaled = attention_scores.to(torch.float64) / head_dim**0.5
        return scaled.type_as(attention_scores)

    def compute_attention_weights(scaled_scores):
        return torch.softmax(scaled_scores, dim=-1, dtype=torch.float64).to(scaled_scores)

    def apply_attention(attention_weights, values):
        return (attention_weights.double() @ values.double()).to(values.dtype)

    def merge_heads(attention_output):
        return attention_output.double().transpose(1, 2).flatten(-2).to(attention_output.dtype)

    def project_output(gathered, layer):
        bias = None if layer.bias is None else layer.bias.double()
        return F.linear(gathered.double(), layer.weight.double(), bias).to(gathered.dtype)


class SoftmaxByHand:
    """The softmax written out, shifted by the logarithm of the sum."""

    def compute_attention_weights(scaled_scores):
        return torch.exp(scaled_scores - scaled_scores.logsumexp(dim=-1, keepdim=True))
