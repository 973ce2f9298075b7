"""Correct answers, written independently of solution.py: the checks have to accept every one.

Each class is one variant, and what it holds is named after a step. Every step stands alone,
since in a submission, too, an earlier step may be missing; only a causal layer may build on
the layer above it in the same variant.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class FunctionsOfTorch:
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

    def compute_attention_scores(queries, keys):
        return torch.matmul(queries, torch.transpose(keys, 2, 3))

    def scale_scores(attention_scores, head_dim):
        return torch.div(attention_scores, torch.sqrt(torch.tensor(head_dim)))

    def compute_attention_weights(scaled_scores):
        return F.softmax(scaled_scores, dim=3)

    def apply_attention(attention_weights, values):
        return torch.matmul(attention_weights, values)

    def merge_heads(attention_output):
        return torch.flatten(torch.permute(attention_output, (0, 2, 1, 3)), start_dim=2)

    def project_output(merged, Wo):
        return F.linear(merged, Wo.weight, Wo.bias)


class Methods:
    """The methods of tensors, and the sizes by name."""

    def create_projections(hidden_size, bias=True):
        Wqkv = nn.Linear(in_features=hidden_size, out_features=hidden_size * 3, bias=bias)
        Wo = nn.Linear(in_features=hidden_size, out_features=hidden_size, bias=bias)
        return Wqkv, Wo

    def split_heads(projected, num_heads):
        parts = projected.unflatten(-1, (3, num_heads, -1)).swapaxes(1, 3)
        return parts.select(2, 0), parts.select(2, 1), parts.select(2, 2)

    def compute_attention_scores(queries, keys):
        return queries.matmul(keys.permute(0, 1, 3, 2))

    def scale_scores(attention_scores, head_dim):
        return attention_scores.mul(head_dim**-0.5)

    def compute_attention_weights(scaled_scores):
        return scaled_scores.log_softmax(dim=-1).exp()

    def apply_attention(attention_weights, values):
        return attention_weights.matmul(values)

    def merge_heads(attention_output):
        return attention_output.movedim(1, 2).flatten(2)

    def project_output(merged, Wo):
        return merged.matmul(Wo.weight.t()).add(Wo.bias)


class Einsum:
    """Every sum over an axis as an einsum, every axis by its letter."""

    def split_heads(projected, num_heads):
        parts = projected.reshape(projected.shape[0], projected.shape[1], 3, num_heads, -1)
        queries, keys, values = torch.einsum("bsnhd->nbhsd", parts)
        return queries, keys, values

    def compute_attention_scores(queries, keys):
        return torch.einsum("...id,...jd->...ij", queries, keys)

    def compute_attention_weights(scaled_scores):
        exponentials = torch.exp(scaled_scores)
        return torch.einsum("bhij,bhi->bhij", exponentials, 1 / exponentials.sum(dim=-1))

    def apply_attention(attention_weights, values):
        return torch.einsum("bhij,bhjd->bhid", attention_weights, values)

    def merge_heads(attention_output):
        B, heads, S, head_dim = attention_output.shape
        return torch.einsum("bhsd->bshd", attention_output).reshape(B, S, heads * head_dim)

    def project_output(merged, Wo):
        return torch.einsum("...d,cd->...c", merged, Wo.weight) + Wo.bias

    class MultiHeadAttention(nn.Module):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__()
            if hidden_size % num_heads != 0:
                raise ValueError("the heads have to divide the hidden size")
            self.num_heads = num_heads
            self.head_dim = hidden_size // num_heads
            self.Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias=bias)
            self.Wo = nn.Linear(hidden_size, hidden_size, bias=bias)

        def forward(self, x):
            q, k, v = self.Wqkv(x).unflatten(2, (3, self.num_heads, self.head_dim)).unbind(2)
            scores = torch.einsum("bihd,bjhd->bhij", q, k) * self.head_dim**-0.5
            gathered = torch.einsum("bhij,bjhd->bihd", torch.softmax(scores, dim=-1), v)
            return self.Wo(gathered.flatten(2))

    class CausalMultiHeadAttention(MultiHeadAttention):
        def forward(self, x, causal=False):
            q, k, v = self.Wqkv(x).unflatten(2, (3, self.num_heads, self.head_dim)).unbind(2)
            scores = torch.einsum("bihd,bjhd->bhij", q, k) * self.head_dim**-0.5
            if causal:
                position = torch.arange(x.shape[1], device=x.device)
                scores = scores.masked_fill(position[None, :] > position[:, None], float("-inf"))
            gathered = torch.einsum("bhij,bjhd->bihd", torch.softmax(scores, dim=-1), v)
            return self.Wo(gathered.flatten(2))


class HeadsInTheBatch:
    """The heads folded into the batch axis, and bmm for the products."""

    def compute_attention_scores(queries, keys):
        B, heads, S, head_dim = queries.shape
        queries = queries.reshape(B * heads, S, head_dim)
        keys = keys.reshape(B * heads, S, head_dim)
        return torch.bmm(queries, keys.transpose(1, 2)).view(B, heads, S, S)

    def scale_scores(attention_scores, head_dim):
        return attention_scores * torch.rsqrt(torch.tensor(float(head_dim)))

    def compute_attention_weights(scaled_scores):
        return nn.Softmax(dim=-1)(scaled_scores)

    def apply_attention(attention_weights, values):
        gathered = attention_weights.flatten(0, 1).bmm(values.flatten(0, 1))
        return gathered.unflatten(0, values.shape[:2])

    class MultiHeadAttention(nn.Module):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__()
            assert hidden_size % num_heads == 0
            self.num_heads = num_heads
            self.Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias=bias)
            self.Wo = nn.Linear(hidden_size, hidden_size, bias=bias)

        def forward(self, x):
            B, S, C = x.shape
            fused = self.Wqkv(x).view(B, S, 3 * self.num_heads, C // self.num_heads)
            q, k, v = fused.transpose(1, 2).chunk(3, dim=1)
            q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
            zeros = torch.zeros(B * self.num_heads, S, S, dtype=x.dtype, device=x.device)
            scores = torch.baddbmm(zeros, q, k.mT, beta=0, alpha=k.shape[-1] ** -0.5)
            gathered = torch.bmm(scores.softmax(-1), v).view(B, self.num_heads, S, -1)
            return self.Wo(gathered.transpose(1, 2).reshape(B, S, C))


class PlainLoops:
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

    def compute_attention_scores(queries, keys):
        B, heads, S, _ = queries.shape
        scores = torch.empty(B, heads, S, S, dtype=queries.dtype)
        for b in range(B):
            for head in range(heads):
                scores[b, head] = queries[b, head].mm(keys[b, head].T)
        return scores

    def scale_scores(attention_scores, head_dim):
        scaled = torch.zeros_like(attention_scores)
        for b, sequence in enumerate(attention_scores):
            for head, scores in enumerate(sequence):
                scaled[b, head] = scores / math.sqrt(head_dim)
        return scaled

    def compute_attention_weights(scaled_scores):
        weights = torch.empty_like(scaled_scores)
        for b, sequence in enumerate(scaled_scores):
            for head, rows in enumerate(sequence):
                exponentials = torch.exp(rows - rows.max())
                weights[b, head] = exponentials / exponentials.sum(dim=1, keepdim=True)
        return weights

    def apply_attention(attention_weights, values):
        output = torch.zeros_like(values)
        for j in range(values.shape[2]):
            output += attention_weights[:, :, :, j].unsqueeze(-1) * values[:, :, j].unsqueeze(2)
        return output

    def merge_heads(attention_output):
        B, heads, S, head_dim = attention_output.shape
        merged = torch.zeros(B, S, heads * head_dim, dtype=attention_output.dtype)
        for head in range(heads):
            merged[:, :, head * head_dim : (head + 1) * head_dim] = attention_output[:, head]
        return merged

    def project_output(merged, Wo):
        return torch.stack([Wo(tokens) for tokens in merged])


class Contiguous:
    """Every part copied into memory of its own before it is used, so that a view will do."""

    def split_heads(projected, num_heads):
        B, S, width = projected.size()
        fused = projected.view(B, S, 3, num_heads, width // (3 * num_heads))
        fused = fused.permute(2, 0, 3, 1, 4).contiguous()
        return fused[0], fused[1], fused[2]

    def compute_attention_scores(queries, keys):
        return queries.contiguous() @ keys.transpose(-1, -2).contiguous()

    def apply_attention(attention_weights, values):
        return (attention_weights.contiguous() @ values.contiguous()).clone()

    def merge_heads(attention_output):
        B, heads, S, head_dim = attention_output.size()
        return attention_output.transpose(1, 2).contiguous().view(B, S, heads * head_dim)

    def project_output(merged, Wo):
        B, S, C = merged.shape
        return Wo(merged.contiguous().view(B * S, C)).view(B, S, -1)


class NonContiguous:
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

    def project_output(merged, Wo):
        return (Wo.weight @ merged.mT + Wo.bias[:, None]).mT


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


class DoublePrecision:
    """Everything computed and returned in float64."""

    def split_heads(projected, num_heads):
        B, S, _ = projected.shape
        return projected.double().view(B, S, 3, num_heads, -1).permute(2, 0, 3, 1, 4).unbind()

    def compute_attention_scores(queries, keys):
        return queries.double() @ keys.double().transpose(-2, -1)

    def scale_scores(attention_scores, head_dim):
        return attention_scores.to(torch.float64) / head_dim**0.5

    def compute_attention_weights(scaled_scores):
        return torch.softmax(scaled_scores, dim=-1, dtype=torch.float64)

    def apply_attention(attention_weights, values):
        return attention_weights.double() @ values.double()

    def merge_heads(attention_output):
        return attention_output.double().transpose(1, 2).flatten(-2)

    def project_output(merged, Wo):
        return F.linear(merged.double(), Wo.weight.double(), Wo.bias.double())


class SoftmaxByHand:
    """The softmax written out, shifted by the largest score; forbidden shares are set to 0."""

    def compute_attention_weights(scaled_scores):
        return torch.exp(scaled_scores - scaled_scores.logsumexp(dim=-1, keepdim=True))

    class MultiHeadAttention(nn.Module):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__()
            if hidden_size // num_heads * num_heads < hidden_size:
                raise AssertionError("every head needs an equal part of the hidden size")
            self.num_heads = num_heads
            self.Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias=bias)
            self.Wo = nn.Linear(hidden_size, hidden_size, bias=bias)

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
            shares = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
            if causal:
                shares = shares.tril()
            weights = shares / shares.sum(dim=-1, keepdim=True)
            return self.Wo(torch.swapaxes(weights @ V, 1, 2).reshape(B, S, C))


class AttentionOfTorch:
    """PyTorch's own attention between the two layers, its own mask included."""

    class MultiHeadAttention(nn.Module):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__()
            if hidden_size % num_heads:
                raise ValueError(f"{num_heads} heads do not divide {hidden_size}")
            self.num_heads = num_heads
            self.Wqkv = nn.Linear(hidden_size, hidden_size * 3, bias=bias)
            self.Wo = nn.Linear(hidden_size, hidden_size, bias=bias)

        def forward(self, x):
            q, k, v = (
                part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                for part in self.Wqkv(x).chunk(3, dim=-1)
            )
            return self.Wo(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    class CausalMultiHeadAttention(MultiHeadAttention):
        def forward(self, x, causal=False):
            q, k, v = (
                part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                for part in self.Wqkv(x).chunk(3, dim=-1)
            )
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return self.Wo(attended.transpose(1, 2).flatten(2))


class MultiHeadFunctionOfTorch:
    """The function behind nn.MultiheadAttention, given the parameters of the two layers."""

    class MultiHeadAttention(nn.Module):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__()
            assert hidden_size % num_heads == 0
            self.hidden_size, self.num_heads = hidden_size, num_heads
            self.Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias=bias)
            self.Wo = nn.Linear(hidden_size, hidden_size, bias=bias)

        def forward(self, x):
            return self.attend(x, None)

        def attend(self, x, attn_mask):
            tokens = x.transpose(0, 1)
            output, _ = F.multi_head_attention_forward(
                query=tokens,
                key=tokens,
                value=tokens,
                embed_dim_to_check=self.hidden_size,
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

    class MultiHeadAttention(nn.Module):
        def __init__(self, hidden_size, num_heads, bias=True):
            super().__init__()
            if hidden_size % num_heads != 0:
                raise ValueError("hidden_size must be divisible by num_heads")
            self.hidden_size = hidden_size
            self.num_heads = num_heads
            self.head_dim = hidden_size // num_heads
            self.scale = self.head_dim**-0.5
            self.softmax = nn.Softmax(dim=-1)
            self.Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias=bias)
            self.Wo = nn.Linear(hidden_size, hidden_size, bias=bias)

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
            mask = torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64)
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
