"""Correct answers, written independently of solution.py: the checks must accept every one.

Each class is one variant, and what it holds is named after a step. Every step stands alone,
since an earlier step may be missing from a submission too. Only a causal layer may build on the
layer above it in the same variant.
"""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.checks import shared_beside

shared = shared_beside(__file__, "_attention/variants.py")


class _Layers(nn.Module):
    """The two layers of a MultiHeadAttention, for a variant that only writes forward."""

    def __init__(self, hidden_size, num_heads, bias=True):
        super().__init__()
        if hidden_size % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {hidden_size}")
        self.num_heads, self.head_dim = num_heads, hidden_size // num_heads
        self.Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias=bias)
        self.Wo = nn.Linear(hidden_size, hidden_size, bias=bias)


class FunctionsOfTorch(shared.FunctionsOfTorch):
    """The functions of torch and torch.nn.functional where the reference has operators."""

    def create_projections(hidden_size, bias=True):
        return nn.Linear(hidden_size, 3 * hidden_size, bias), nn.Linear(
            hidden_size, hidden_size, bias
        )

    def split_heads(projected, num_heads):
        B, S, width = projected.shape
        hidden_size = width // 3
        head_dim = hidden_size // num_heads
        queries, keys, values = torch.split(projected, hidden_size, dim=2)
        queries = torch.transpose(torch.reshape(queries, (B, S, num_heads, head_dim)), 1, 2)
        keys = torch.transpose(torch.reshape(keys, (B, S, num_heads, head_dim)), 1, 2)
        values = torch.transpose(torch.reshape(values, (B, S, num_heads, head_dim)), 1, 2)
        return queries, keys, values


class Methods(shared.Methods):
    """The methods of tensors, and the sizes by name."""

    def create_projections(hidden_size, bias=True):
        Wqkv = nn.Linear(in_features=hidden_size, out_features=hidden_size * 3, bias=bias)
        Wo = nn.Linear(in_features=hidden_size, out_features=hidden_size, bias=bias)
        return Wqkv, Wo

    def split_heads(projected, num_heads):
        parts = projected.unflatten(-1, (3, num_heads, -1)).swapaxes(1, 3)
        return parts.select(2, 0), parts.select(2, 1), parts.select(2, 2)


class Einsum(shared.Einsum):
    """Every sum over an axis as an einsum, every axis by its letter."""

    def split_heads(projected, num_heads):
        parts = projected.reshape(projected.shape[0], projected.shape[1], 3, num_heads, -1)
        queries, keys, values = torch.einsum("bsnhd->nbhsd", parts)
        return queries, keys, values

    class MultiHeadAttention(_Layers):
        def forward(self, x):
            return self.attend(x, causal=False)

        def attend(self, x, causal):
            q, k, v = self.Wqkv(x).unflatten(2, (3, self.num_heads, self.head_dim)).unbind(2)
            scores = torch.einsum("bihd,bjhd->bhij", q, k) * self.head_dim**-0.5
            if causal:
                position = torch.arange(x.shape[1], device=x.device)
                scores = scores.masked_fill(position[None, :] > position[:, None], float("-inf"))
            gathered = torch.einsum("bhij,bjhd->bihd", torch.softmax(scores, dim=-1), v)
            return self.Wo(gathered.flatten(2))

    class CausalMultiHeadAttention(MultiHeadAttention):
        def forward(self, x, causal=False):
            return self.attend(x, causal)


class HeadsInTheBatch(shared.BatchedProducts):
    """The heads folded into the batch axis, and bmm for the products."""

    class MultiHeadAttention(_Layers):
        def forward(self, x):
            B, S, C = x.shape
            fused = self.Wqkv(x).view(B, S, 3 * self.num_heads, C // self.num_heads)
            q, k, v = fused.transpose(1, 2).chunk(3, dim=1)
            q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
            zeros = torch.zeros(B * self.num_heads, S, S, dtype=x.dtype, device=x.device)
            scores = torch.baddbmm(zeros, q, k.mT, beta=0, alpha=k.shape[-1] ** -0.5)
            gathered = torch.bmm(scores.softmax(-1), v).view(B, self.num_heads, S, -1)
            return self.Wo(gathered.transpose(1, 2).reshape(B, S, C))


class PlainLoops(shared.PlainLoops):
    """Loops over sequences, heads and tokens, one matrix at a time."""

    def split_heads(projected, num_heads):
        B, S, width = projected.shape
        head_dim = width // 3 // num_heads
        results = []
        for part in range(3):
            result = torch.empty(B, num_heads, S, head_dim, dtype=projected.dtype)
            for head in range(num_heads):
                for number in range(head_dim):
                    column = (part * num_heads + head) * head_dim + number
                    result[:, head, :, number] = projected[:, :, column]
            results.append(result)
        return results[0], results[1], results[2]


class Contiguous(shared.Contiguous):
    """Every part copied into memory of its own before it is used, so that a view will do."""

    def split_heads(projected, num_heads):
        B, S, width = projected.size()
        fused = projected.view(B, S, 3, num_heads, width // (3 * num_heads))
        fused = fused.permute(2, 0, 3, 1, 4).contiguous()
        return fused[0], fused[1], fused[2]


class NonContiguous(shared.NonContiguous):
    """Slices and transposed views, returned as they are."""

    def split_heads(projected, num_heads):
        hidden_size = projected.shape[-1] // 3
        queries = projected[..., :hidden_size]
        keys = projected[..., hidden_size:-hidden_size]
        values = projected[..., -hidden_size:]
        return tuple(
            part.unflatten(2, (num_heads, hidden_size // num_heads)).transpose(2, 1)
            for part in (queries, keys, values)
        )


class ListsReturned:
    """Lists where tuples are annotated, and the layers initialized in the student's own way."""

    def create_projections(hidden_size, bias=True):
        layers = [nn.Linear(hidden_size, times * hidden_size, bias) for times in (3, 1)]
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        return layers

    def split_heads(projected, num_heads):
        fused = projected.unflatten(-1, (3 * num_heads, -1)).transpose(1, 2)
        return list(fused.split(num_heads, dim=1))


class Stacked:
    """What unpacks like a tuple: a list of modules, and one tensor with queries, keys, values."""

    def create_projections(hidden_size, bias=True):
        return nn.ModuleList(
            [nn.Linear(hidden_size, times * hidden_size, bias) for times in (3, 1)]
        )

    def split_heads(projected, num_heads):
        return projected.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)


class Lazy:
    """Layers that take their inputs from the first call, and a generator of tensors."""

    def create_projections(hidden_size, bias=True):
        return nn.LazyLinear(3 * hidden_size, bias), nn.LazyLinear(hidden_size, bias)

    def split_heads(projected, num_heads):
        parts = projected.chunk(3, dim=-1)
        return (part.unflatten(-1, (num_heads, -1)).transpose(1, 2) for part in parts)

    class MultiHeadAttention(nn.Module):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__()
            assert hidden_size % num_heads == 0
            self.heads = num_heads
            self.Wqkv = nn.LazyLinear(3 * hidden_size, bias)
            self.Wo = nn.LazyLinear(hidden_size, bias)

        def forward(self, x):
            q, k, v = self.Wqkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            weights = torch.softmax(q @ k.mT * k.shape[-1] ** -0.5, dim=-1)
            return self.Wo((weights @ v).transpose(1, 2).flatten(2))


class DoublePrecision(shared.DoublePrecision):
    """Everything computed in float64, and returned in the precision of the input."""

    def split_heads(projected, num_heads):
        B, S, _ = projected.shape
        parts = projected.double().view(B, S, 3, num_heads, -1).to(projected.dtype)
        return parts.permute(2, 0, 3, 1, 4).unbind()


class SoftmaxByHand(shared.SoftmaxByHand):
    """The softmax written out, shifted by the largest score that a token may see.

    The mask is added, as in PyTorch's own documentation.
    """

    class MultiHeadAttention(_Layers):
        def forward(self, x):
            B, S, C = x.shape
            Q, K, V = self.Wqkv(x).reshape(B, S, 3, self.num_heads, -1).transpose(1, 3).unbind(2)
            scores = Q @ K.transpose(2, 3) / K.shape[3] ** 0.5
            scores = scores - torch.max(scores, dim=-1, keepdim=True).values
            weights = torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True)
            return self.Wo(torch.swapaxes(weights @ V, 1, 2).reshape(B, S, C))

    class CausalMultiHeadAttention(MultiHeadAttention):
        def forward(self, x, causal=False):
            B, S, C = x.shape
            Q, K, V = self.Wqkv(x).reshape(B, S, 3, self.num_heads, -1).transpose(1, 3).unbind(2)
            scores = Q @ K.transpose(2, 3) / K.shape[3] ** 0.5
            if causal:
                scores = scores + torch.triu(torch.full((S, S), -torch.inf), 1)
            shares = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
            weights = shares / shares.sum(dim=-1, keepdim=True)
            return self.Wo(torch.swapaxes(weights @ V, 1, 2).reshape(B, S, C))


class AttentionOfTorch:
    """PyTorch's own attention between the two layers, its own mask included."""

    class MultiHeadAttention(_Layers):
        def forward(self, x):
            return self.attend(x, causal=False)

        def attend(self, x, causal):
            q, k, v = (
                part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                for part in self.Wqkv(x).chunk(3, dim=-1)
            )
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return self.Wo(attended.transpose(1, 2).flatten(2))

    class CausalMultiHeadAttention(MultiHeadAttention):
        def forward(self, x, causal=False):
            return self.attend(x, causal)


class MultiHeadFunctionOfTorch:
    """The function behind nn.MultiheadAttention, given the parameters of the two layers."""

    class MultiHeadAttention(_Layers):
        def forward(self, x):
            return self.attend(x, None)

        def attend(self, x, attn_mask):
            tokens = x.transpose(0, 1)
            output, _ = F.multi_head_attention_forward(
                query=tokens,
                key=tokens,
                value=tokens,
                embed_dim_to_check=x.shape[-1],
                num_heads=self.num_heads,
                in_proj_weight=self.Wqkv.weight,
                in_proj_bias=self.Wqkv.bias,
                bias_k=None,
                bias_v=None,
                add_zero_attn=False,
                dropout_p=0.0,
                out_proj_weight=self.Wo.weight,
                out_proj_bias=self.Wo.bias,
                need_weights=False,
                attn_mask=attn_mask,
            )
            return output.transpose(0, 1)

    class CausalMultiHeadAttention(MultiHeadAttention):
        def forward(self, x, causal=False):
            S = x.shape[1]
            future = ~torch.ones(S, S, dtype=torch.bool).tril() if causal else None
            return self.attend(x, future)


class SoftmaxAsModule:
    """A softmax kept as a module, the queries scaled instead of the scores, a mask kept ready."""

    class MultiHeadAttention(_Layers):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__(hidden_size, num_heads, bias)
            self.hidden_size = hidden_size
            self.scale = self.head_dim**-0.5
            self.softmax = nn.Softmax(dim=-1)

        def forward(self, x):
            batch, length, _ = x.shape
            qkv = self.Wqkv(x).reshape(batch, length, 3, self.num_heads, self.head_dim)
            qkv = qkv.permute(0, 3, 1, 2, 4)
            q, k, v = qkv[:, :, :, 0], qkv[:, :, :, 1], qkv[:, :, :, 2]
            attention = self.softmax((q * self.scale) @ k.transpose(-1, -2))
            return self.Wo((attention @ v).permute(0, 2, 1, 3).reshape(batch, length, -1))

    class CausalMultiHeadAttention(MultiHeadAttention):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__(hidden_size, num_heads, bias)
            mask = torch.tril(torch.ones(1024, 1024)).view(1, 1, 1024, 1024)
            self.register_buffer("mask", mask, persistent=False)

        def forward(self, x, causal=False):
            batch, length, _ = x.shape
            qkv = self.Wqkv(x).reshape(batch, length, 3, self.num_heads, self.head_dim)
            q, k, v = (part.transpose(1, 2) for part in qkv.unbind(dim=2))
            scores = (q * self.scale) @ k.transpose(-1, -2)
            if causal:
                scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, -1e9)
            attended = self.softmax(scores) @ v
            return self.Wo(attended.permute(0, 2, 1, 3).reshape(batch, length, -1))


class CompactClass:
    """The whole layer in a few lines, and the causal one in one class of its own."""

    class MultiHeadAttention(nn.Module):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__()
            assert not hidden_size % num_heads
            self.h = num_heads
            self.Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias)
            self.Wo = nn.Linear(hidden_size, hidden_size, bias)

        def forward(self, x):
            q, k, v = self.Wqkv(x).unflatten(-1, (3, self.h, -1)).transpose(1, 3).unbind(2)
            a = (q @ k.mT / k.size(-1) ** 0.5).softmax(-1)
            return self.Wo((a @ v).transpose(1, 2).flatten(2))

    class CausalMultiHeadAttention(nn.Module):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__()
            assert not hidden_size % num_heads
            self.h = num_heads
            self.Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias)
            self.Wo = nn.Linear(hidden_size, hidden_size, bias)

        def forward(self, x, causal=False):
            q, k, v = self.Wqkv(x).unflatten(-1, (3, self.h, -1)).transpose(1, 3).unbind(2)
            a = q @ k.mT / k.size(-1) ** 0.5
            a = torch.where(torch.ones_like(a).tril() > 0, a, -torch.inf) if causal else a
            return self.Wo((a.softmax(-1) @ v).transpose(1, 2).flatten(2))
