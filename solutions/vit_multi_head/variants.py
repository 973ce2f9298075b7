"""Correct answers, written independently of solution.py: the checks must accept every one.

Each class is one variant, and what it holds is named after a step. Every step stands alone,
since an earlier step may be missing from a submission too.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.checks import shared_beside

shared = shared_beside(__file__, "_attention/variants.py")


class _Layers(nn.Module):
    """The layers and sizes of a MultiHeadSelfAttention, for a variant that only writes forward."""

    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        if hidden_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {hidden_dim}")
        self.num_heads, self.head_dim = num_heads, hidden_dim // num_heads
        self.q_linear = nn.Linear(hidden_dim, hidden_dim)
        self.k_linear = nn.Linear(hidden_dim, hidden_dim)
        self.v_linear = nn.Linear(hidden_dim, hidden_dim)
        self.out_linear = nn.Linear(hidden_dim, hidden_dim)


class FunctionsOfTorch(shared.FunctionsOfTorch):
    """The functions of torch and torch.nn.functional where the reference has methods."""

    def create_projections(hidden_dim):
        q_linear = nn.Linear(in_features=hidden_dim, out_features=hidden_dim)
        k_linear = nn.Linear(in_features=hidden_dim, out_features=hidden_dim)
        v_linear = nn.Linear(in_features=hidden_dim, out_features=hidden_dim)
        out_linear = nn.Linear(in_features=hidden_dim, out_features=hidden_dim)
        return q_linear, k_linear, v_linear, out_linear

    def project_qkv(x, q_linear, k_linear, v_linear):
        queries = F.linear(x, q_linear.weight, q_linear.bias)
        keys = F.linear(x, k_linear.weight, k_linear.bias)
        values = F.linear(x, v_linear.weight, v_linear.bias)
        return queries, keys, values

    def split_heads(projected, num_heads):
        B, N, D = projected.shape
        per_token = torch.reshape(projected, (B, N, num_heads, D // num_heads))
        return torch.transpose(per_token, 1, 2)

    def compute_scaled_scores(queries, keys):
        scores = torch.matmul(queries, torch.transpose(keys, 2, 3))
        return torch.div(scores, torch.sqrt(torch.tensor(queries.shape[3])))


class Methods(shared.Methods):
    """The methods of tensors, the layers called by their forward, and the sizes by name."""

    def project_qkv(x, q_linear, k_linear, v_linear):
        return q_linear.forward(x), k_linear.forward(x), v_linear.forward(x)

    def split_heads(projected, num_heads):
        return projected.unflatten(-1, (num_heads, -1)).swapaxes(1, 2)

    def compute_scaled_scores(queries, keys):
        return queries.matmul(keys.permute(0, 1, 3, 2)).mul(keys.size(-1) ** -0.5)


class Einsum(shared.Einsum):
    """Every sum over an axis as an einsum, every axis by its letter."""

    def project_qkv(x, q_linear, k_linear, v_linear):
        queries = torch.einsum("bnd,ed->bne", x, q_linear.weight) + q_linear.bias
        keys = torch.einsum("bnd,ed->bne", x, k_linear.weight) + k_linear.bias
        values = torch.einsum("bnd,ed->bne", x, v_linear.weight) + v_linear.bias
        return queries, keys, values

    def split_heads(projected, num_heads):
        per_token = projected.reshape(*projected.shape[:2], num_heads, -1)
        return torch.einsum("bnhd->bhnd", per_token)

    def compute_scaled_scores(queries, keys):
        scaled_queries = queries / queries.shape[-1] ** 0.5
        return torch.einsum("...id,...jd->...ij", scaled_queries, keys)

    class MultiHeadSelfAttention(_Layers):
        def forward(self, x):
            shape = (*x.shape[:2], self.num_heads, self.head_dim)
            q, k, v = (
                layer(x).reshape(shape) for layer in (self.q_linear, self.k_linear, self.v_linear)
            )
            scores = torch.einsum("bihd,bjhd->bhij", q, k) * self.head_dim**-0.5
            gathered = torch.einsum("bhij,bjhd->bihd", torch.softmax(scores, dim=-1), v)
            return self.out_linear(gathered.flatten(2))


class HeadsInTheBatch(shared.BatchedProducts):
    """The heads folded into the batch axis, and bmm for the products."""

    def split_heads(projected, num_heads):
        B, N, D = projected.shape
        tokens = projected.view(B * N, num_heads, D // num_heads)
        return tokens.view(B, N, num_heads, -1).transpose(1, 2)

    def compute_scaled_scores(queries, keys):
        B, heads, N, head_dim = queries.shape
        queries = queries.reshape(B * heads, N, head_dim)
        keys = keys.reshape(B * heads, N, head_dim)
        return torch.bmm(queries, keys.transpose(1, 2)).view(B, heads, N, N) / head_dim**0.5

    class MultiHeadSelfAttention(_Layers):
        def folded(self, projected):
            B, N, _ = projected.shape
            heads = projected.view(B, N, self.num_heads, self.head_dim).transpose(1, 2)
            return heads.reshape(B * self.num_heads, N, self.head_dim)

        def forward(self, x):
            B, N, D = x.shape
            q = self.folded(self.q_linear(x))
            k = self.folded(self.k_linear(x))
            v = self.folded(self.v_linear(x))
            zeros = torch.zeros(B * self.num_heads, N, N, dtype=x.dtype, device=x.device)
            scores = torch.baddbmm(zeros, q, k.mT, beta=0, alpha=self.head_dim**-0.5)
            gathered = torch.bmm(scores.softmax(-1), v).view(B, self.num_heads, N, -1)
            return self.out_linear(gathered.transpose(1, 2).reshape(B, N, D))


class PlainLoops(shared.PlainLoops):
    """Loops over images, heads and tokens, one matrix at a time."""

    def project_qkv(x, q_linear, k_linear, v_linear):
        results = []
        for layer in (q_linear, k_linear, v_linear):
            results.append(torch.stack([layer(tokens) for tokens in x]))
        return tuple(results)

    def split_heads(projected, num_heads):
        B, N, D = projected.shape
        head_dim = D // num_heads
        result = torch.empty(B, num_heads, N, head_dim, dtype=projected.dtype)
        for number in range(D):
            result[:, number // head_dim, :, number % head_dim] = projected[:, :, number]
        return result

    def compute_scaled_scores(queries, keys):
        B, heads, N, head_dim = queries.shape
        scores = torch.empty(B, heads, N, N, dtype=queries.dtype)
        for b in range(B):
            for head in range(heads):
                scores[b, head] = queries[b, head].mm(keys[b, head].T)
        return scores / math.sqrt(head_dim)


class Contiguous(shared.Contiguous):
    """Every part copied into memory of its own before it is used, so that a view will do."""

    def project_qkv(x, q_linear, k_linear, v_linear):
        B, N, D = x.size()
        tokens = x.contiguous().view(B * N, D)
        queries, keys, values = q_linear(tokens), k_linear(tokens), v_linear(tokens)
        return queries.view(B, N, D), keys.view(B, N, D), values.view(B, N, D)

    def split_heads(projected, num_heads):
        B, N, D = projected.size()
        per_token = projected.contiguous().view(B, N, num_heads, D // num_heads)
        return per_token.permute(0, 2, 1, 3).contiguous()

    def compute_scaled_scores(queries, keys):
        scores = queries.contiguous() @ keys.transpose(-1, -2).contiguous()
        return (scores / math.sqrt(keys.size(-1))).contiguous()


class NonContiguous(shared.NonContiguous):
    """Transposed views, returned as they are."""

    def project_qkv(x, q_linear, k_linear, v_linear):
        columns = x.mT
        return tuple(
            (layer.weight @ columns + layer.bias[:, None]).mT
            for layer in (q_linear, k_linear, v_linear)
        )

    def split_heads(projected, num_heads):
        return projected.mT.unflatten(1, (num_heads, -1)).mT

    def compute_scaled_scores(queries, keys):
        return (keys @ queries.mT / math.sqrt(queries.shape[-1])).mT


class ListsReturned:
    """Lists where tuples are annotated, and the layers initialized in the student's own way."""

    def create_projections(hidden_dim):
        layers = [nn.Linear(hidden_dim, hidden_dim, bias=True) for _ in range(4)]
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        return layers

    def project_qkv(x, q_linear, k_linear, v_linear):
        return [layer(x) for layer in (q_linear, k_linear, v_linear)]


class DoublePrecision(shared.DoublePrecision):
    """Everything computed in float64, and returned in the precision of the input."""

    def project_qkv(x, q_linear, k_linear, v_linear):
        return tuple(
            F.linear(x.double(), layer.weight.double(), layer.bias.double()).to(x.dtype)
            for layer in (q_linear, k_linear, v_linear)
        )

    def split_heads(projected, num_heads):
        B, N, D = projected.shape
        parts = projected.double().view(B, N, num_heads, D // num_heads)
        return parts.permute(0, 2, 1, 3).to(projected.dtype)

    def compute_scaled_scores(queries, keys):
        scores = queries.double() @ keys.double().transpose(-2, -1) / keys.shape[-1] ** 0.5
        return scores.type_as(queries)


class SoftmaxByHand(shared.SoftmaxByHand):
    """The softmax written out, shifted by the largest score or by the logarithm of the sum."""

    class MultiHeadSelfAttention(_Layers):
        def forward(self, x):
            B, N, D = x.shape
            Q = self.q_linear(x).reshape(B, N, self.num_heads, -1).permute(0, 2, 1, 3)
            K = self.k_linear(x).reshape(B, N, self.num_heads, -1).permute(0, 2, 3, 1)
            V = self.v_linear(x).reshape(B, N, self.num_heads, -1).permute(0, 2, 1, 3)
            scores = Q @ K / self.head_dim**0.5
            shares = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
            weights = shares / shares.sum(dim=-1, keepdim=True)
            return self.out_linear(torch.swapaxes(weights @ V, 1, 2).reshape(B, N, D))


class AttentionOfTorch:
    """PyTorch's own attention between the projections."""

    def apply_attention(attention_weights, values):
        # With the logarithm of the weights as scores, the softmax gives the weights back.
        zeros = torch.zeros_like(values)
        return F.scaled_dot_product_attention(
            zeros, zeros, values, attn_mask=attention_weights.log()
        )

    class MultiHeadSelfAttention(_Layers):
        def forward(self, x):
            q, k, v = (
                layer(x).unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)
                for layer in (self.q_linear, self.k_linear, self.v_linear)
            )
            attended = F.scaled_dot_product_attention(q, k, v)
            return self.out_linear(attended.transpose(1, 2).flatten(2))


class MultiHeadFunctionOfTorch:
    """The function behind nn.MultiheadAttention, given the parameters of the four layers."""

    class MultiHeadSelfAttention(_Layers):
        def forward(self, x):
            tokens = x.transpose(0, 1)
            biases = [self.q_linear.bias, self.k_linear.bias, self.v_linear.bias]
            output, _ = F.multi_head_attention_forward(
                query=tokens,
                key=tokens,
                value=tokens,
                embed_dim_to_check=x.shape[-1],
                num_heads=self.num_heads,
                in_proj_weight=None,
                in_proj_bias=torch.cat(biases),
                bias_k=None,
                bias_v=None,
                add_zero_attn=False,
                dropout_p=0.0,
                out_proj_weight=self.out_linear.weight,
                out_proj_bias=self.out_linear.bias,
                need_weights=False,
                use_separate_proj_weight=True,
                q_proj_weight=self.q_linear.weight,
                k_proj_weight=self.k_linear.weight,
                v_proj_weight=self.v_linear.weight,
            )
            return output.transpose(0, 1)


class SoftmaxAsModule:
    """A softmax kept as a module, and the queries scaled instead of the scores."""

    def compute_scaled_scores(queries, keys):
        return (queries * keys.shape[-1] ** -0.5) @ keys.transpose(-1, -2)

    class MultiHeadSelfAttention(_Layers):
        def __init__(self, hidden_dim, num_heads):
            super().__init__(hidden_dim, num_heads)
            self.hidden_dim = hidden_dim
            self.scale = self.head_dim**-0.5
            self.softmax = nn.Softmax(dim=-1)

        def forward(self, x):
            batch, tokens, _ = x.shape
            shape = (batch, tokens, self.num_heads, self.head_dim)
            q = self.q_linear(x).reshape(shape).permute(0, 2, 1, 3)
            k = self.k_linear(x).reshape(shape).permute(0, 2, 1, 3)
            v = self.v_linear(x).reshape(shape).permute(0, 2, 1, 3)
            attention = self.softmax((q * self.scale) @ k.transpose(-1, -2))
            attended = (attention @ v).permute(0, 2, 1, 3).contiguous()
            return self.out_linear(attended.view(batch, tokens, self.hidden_dim))


class CompactClass:
    """The whole layer in a few lines."""

    class MultiHeadSelfAttention(nn.Module):
        def __init__(self, hidden_dim, num_heads):
            super().__init__()
            assert not hidden_dim % num_heads
            self.num_heads, self.head_dim = num_heads, hidden_dim // num_heads
            for name in "q", "k", "v", "out":
                self.add_module(f"{name}_linear", nn.Linear(hidden_dim, hidden_dim))

        def forward(self, x):
            layers = self.q_linear, self.k_linear, self.v_linear
            q, k, v = (f(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2) for f in layers)
            a = (q @ k.mT / self.head_dim**0.5).softmax(-1)
            return self.out_linear((a @ v).transpose(1, 2).flatten(2))
