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
    """The two layers of a SingleHeadAttention, for a variant that only writes forward."""

    def __init__(self, hidden_size, bias=True):
        super().__init__()
        self.head_dim = hidden_size // 4
        self.Wqkv = nn.Linear(hidden_size, 3 * self.head_dim, bias=bias)
        self.Wo = nn.Linear(self.head_dim, hidden_size, bias=bias)


class FunctionsOfTorch(shared.FunctionsOfTorch):
    """The functions of torch and torch.nn.functional where the reference has operators."""

    def create_projections(hidden_size, bias=True):
        head_dim = int(hidden_size / 4)
        return nn.Linear(hidden_size, 3 * head_dim, bias), nn.Linear(head_dim, hidden_size, bias)

    def project_qkv(x, Wqkv):
        return torch.split(F.linear(x, Wqkv.weight, Wqkv.bias), Wqkv.out_features // 3, dim=2)


class Methods(shared.Methods):
    """The methods of tensors, and the sizes of the layers."""

    def create_projections(hidden_size, bias=True):
        head_dim, _ = divmod(hidden_size, 4)
        Wqkv = nn.Linear(in_features=hidden_size, out_features=3 * head_dim, bias=bias)
        Wo = nn.Linear(in_features=head_dim, out_features=hidden_size, bias=bias)
        return Wqkv, Wo

    def project_qkv(x, Wqkv):
        head_dim = Wqkv.out_features // 3
        fused = Wqkv.forward(x).unflatten(-1, (3, head_dim))
        return fused.select(2, 0), fused.select(2, 1), fused.select(2, 2)


class Einsum(shared.Einsum):
    """Every sum over an axis as an einsum, every axis by its letter."""

    def project_qkv(x, Wqkv):
        weight = Wqkv.weight.view(3, -1, x.shape[-1])
        bias = 0 if Wqkv.bias is None else Wqkv.bias.view(3, 1, 1, -1)
        return tuple(torch.einsum("bsc,nhc->nbsh", x, weight) + bias)

    class SingleHeadAttention(_Layers):
        def forward(self, x):
            q, k, v = torch.einsum("bsnh->nbsh", self.Wqkv(x).unflatten(2, (3, self.head_dim)))
            scores = torch.einsum("bih,bjh->bij", q, k) * self.head_dim**-0.5
            return self.Wo(torch.einsum("bij,bjh->bih", torch.softmax(scores, dim=-1), v))


class BatchedProducts(shared.BatchedProducts):
    """bmm for the products, and chunk for the parts."""

    def project_qkv(x, Wqkv):
        return Wqkv(x).chunk(3, dim=-1)

    class SingleHeadAttention(_Layers):
        def forward(self, x):
            q, k, v = self.Wqkv(x).chunk(3, dim=-1)
            zeros = torch.zeros(x.shape[0], x.shape[1], x.shape[1], dtype=x.dtype, device=x.device)
            scores = torch.baddbmm(zeros, q, k.mT, beta=0, alpha=k.shape[-1] ** -0.5)
            return self.Wo(torch.bmm(scores.softmax(-1), v))


class Contiguous(shared.Contiguous):
    """Every part copied into memory of its own before it is used."""

    def project_qkv(x, Wqkv):
        B, S, _ = x.size()
        fused = Wqkv(x).view(B, S, 3, -1).permute(2, 0, 1, 3).contiguous()
        return fused[0], fused[1], fused[2]


class NonContiguous(shared.NonContiguous):
    """Slices and transposed views, returned as they are."""

    def project_qkv(x, Wqkv):
        fused = Wqkv(x)
        head_dim = fused.shape[-1] // 3
        queries = fused[..., :head_dim]
        keys = fused[..., head_dim : 2 * head_dim]
        values = fused[..., 2 * head_dim :]
        return queries, keys, values


class SequenceBySequence(shared.PlainLoops):
    """A loop over the batch, and plain matrices inside it."""

    def project_qkv(x, Wqkv):
        queries, keys, values = [], [], []
        for tokens in x:
            query, key, value = Wqkv(tokens).tensor_split(3, dim=1)
            queries.append(query)
            keys.append(key)
            values.append(value)
        return torch.stack(queries), torch.stack(keys), torch.stack(values)

    class SingleHeadAttention(nn.Module):
        def __init__(self, hidden_size, bias=True):
            super().__init__()
            self.Wqkv = nn.Linear(hidden_size, hidden_size // 4 * 3, bias=bias)
            self.Wo = nn.Linear(hidden_size // 4, hidden_size, bias=bias)

        def forward(self, x):
            outputs = []
            for tokens in x:
                query, key, value = self.Wqkv(tokens).tensor_split(3, dim=-1)
                weights = torch.softmax(query @ key.T / math.sqrt(key.shape[-1]), dim=-1)
                outputs.append(self.Wo(weights @ value))
            return torch.stack(outputs)


class ListsReturned:
    """Lists where tuples are annotated, and the layers initialized in the student's own way."""

    def create_projections(hidden_size, bias=True):
        head_dim = math.floor(hidden_size / 4)
        sizes = (hidden_size, head_dim * 3), (head_dim, hidden_size)
        layers = [nn.Linear(inputs, outputs, bias) for inputs, outputs in sizes]
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        return layers

    def project_qkv(x, Wqkv):
        return [part.squeeze(2) for part in Wqkv(x).unflatten(-1, (3, -1)).split(1, dim=2)]


class DoublePrecision(shared.DoublePrecision):
    """Everything computed in float64, and returned in the precision of the input."""

    def project_qkv(x, Wqkv):
        projected = x.double() @ Wqkv.weight.double().T
        biased = projected if Wqkv.bias is None else projected + Wqkv.bias.double()
        return biased.to(x.dtype).chunk(3, dim=-1)


class SoftmaxInSinglePrecision:
    """The softmax in float32 whatever the layer's precision, then cast back, as large models do."""

    def compute_attention_weights(scaled_scores):
        return torch.softmax(scaled_scores.float(), dim=-1).type_as(scaled_scores)

    class SingleHeadAttention(_Layers):
        def forward(self, x):
            queries, keys, values = self.Wqkv(x).split(self.head_dim, dim=-1)
            scores = (queries @ keys.mT) / math.sqrt(self.head_dim)
            weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
            return self.Wo(weights @ values)


class SoftmaxByHand:
    """The softmax written out, shifted or not, and never in place."""

    def compute_attention_weights(scaled_scores):
        shifted = scaled_scores - scaled_scores.amax(dim=-1, keepdim=True)
        exponentials = shifted.exp()
        return exponentials / exponentials.sum(dim=-1, keepdim=True)

    class SingleHeadAttention(_Layers):
        def forward(self, x):
            B, S, _ = x.shape
            Q, K, V = self.Wqkv(x).reshape(B, S, 3, -1).unbind(2)
            scores = Q @ K.transpose(1, 2) / K.shape[-1] ** 0.5
            scores = scores - torch.max(scores, dim=-1, keepdim=True).values
            weights = torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True)
            return self.Wo(weights @ V)


class AttentionOfTorch:
    """PyTorch's own attention between the two layers."""

    class SingleHeadAttention(nn.Module):
        def __init__(self, hidden_size, bias=True):
            super().__init__()
            self.Wqkv = nn.Linear(hidden_size, hidden_size // 4 * 3, bias=bias)
            self.Wo = nn.Linear(hidden_size // 4, hidden_size, bias=bias)

        def forward(self, x):
            queries, keys, values = self.Wqkv(x).chunk(3, dim=-1)
            return self.Wo(F.scaled_dot_product_attention(queries, keys, values))


class SoftmaxAsModule:
    """A softmax kept as a module, the scale as a number, the names of the sizes as attributes."""

    class SingleHeadAttention(nn.Module):
        def __init__(self, hidden_size, bias=True):
            super().__init__()
            self.hidden_size = hidden_size
            self.head_dim = hidden_size // 4
            self.scale = self.head_dim**-0.5
            self.softmax = nn.Softmax(dim=-1)
            self.Wqkv = nn.Linear(hidden_size, 3 * self.head_dim, bias=bias)
            self.Wo = nn.Linear(self.head_dim, hidden_size, bias=bias)

        def forward(self, x):
            batch, length, _ = x.shape
            qkv = self.Wqkv(x).reshape(batch, length, 3, self.head_dim)
            q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
            attention = self.softmax((q * self.scale) @ k.transpose(-1, -2))
            return self.Wo(attention @ v)


class CompactClass:
    """The whole layer in a few lines."""

    class SingleHeadAttention(nn.Module):
        def __init__(self, hidden_size, bias=True):
            super().__init__()
            d = hidden_size // 4
            self.Wqkv = nn.Linear(hidden_size, 3 * d, bias)
            self.Wo = nn.Linear(d, hidden_size, bias)

        def forward(self, x):
            q, k, v = self.Wqkv(x).chunk(3, -1)
            return self.Wo((q @ k.mT / k.size(-1) ** 0.5).softmax(-1) @ v)


class LayerWithMethods:
    """A layer with its own method for every part, which also keeps its last weights."""

    class SingleHeadAttention(nn.Module):
        def __init__(self, hidden_size, bias=True):
            super().__init__()
            self.attention_weights = None
            self.Wo = nn.Linear(hidden_size // 4, hidden_size, bias=bias)
            self.Wqkv = nn.Linear(hidden_size, 3 * (hidden_size // 4), bias=bias)
            self.reset_parameters()

        def reset_parameters(self):
            for parameter in self.parameters():
                nn.init.normal_(parameter, std=0.02)

        def parts(self, x):
            weights = self.Wqkv.weight.chunk(3)
            biases = self.Wqkv.bias.chunk(3) if self.Wqkv.bias is not None else (None,) * 3
            return (F.linear(x, weight, bias) for weight, bias in zip(weights, biases))

        def weights(self, queries, keys):
            scores = torch.einsum("bih,bjh->bij", queries, keys)
            return torch.softmax(scores / scores.new_tensor(keys.shape[-1]).sqrt(), dim=-1)

        def forward(self, x):
            queries, keys, values = self.parts(x)
            weights = self.weights(queries, keys)
            self.attention_weights = weights.detach()
            return self.Wo(torch.matmul(weights, values))
