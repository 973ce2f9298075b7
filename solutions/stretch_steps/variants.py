"""Correct answers, written independently of solution.py: the checks must accept every one.

Each class is one variant, and what it holds is named after a step. Every step stands alone,
since an earlier step may be missing from a submission too.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class _Layers(nn.Module):
    """The three layers of a CrossAttention, for a variant that only writes forward."""

    def __init__(self, hidden_size, context_size, bias=True):
        super().__init__()
        self.width = hidden_size
        self.Wq = nn.Linear(hidden_size, hidden_size, bias=bias)
        self.Wkv = nn.Linear(context_size, hidden_size * 2, bias=bias)
        self.Wo = nn.Linear(hidden_size, hidden_size, bias=bias)


class LoopOverWidths:
    """A loop over the widths, and plain Python numbers where they do."""

    def measure_spread(queries, keys):
        spreads = []
        for width in range(1, queries.shape[1] + 1):
            products = (queries[:, :width] * keys[:, :width]).sum(dim=1)
            spreads.append(math.sqrt((products**2).mean().item()))
        return torch.tensor(spreads)

    def create_padding_mask(lengths, num_tokens):
        rows = [[place < length for place in range(num_tokens)] for length in lengths.tolist()]
        return torch.tensor(rows)

    def hide_padding(scaled_scores, padding_mask):
        masked = scaled_scores.clone()
        for sequence, real in enumerate(padding_mask):
            masked[sequence][:, ~real] = float("-inf")
        return masked

    def project_two_sequences(x, context, Wq, Wkv):
        fused = Wkv(context)
        half = fused.shape[-1] // 2
        return Wq(x), fused[:, :, :half], fused[:, :, half:]

    class CrossAttention(_Layers):
        def forward(self, x, context, lengths=None):
            outputs = []
            for number in range(len(x)):
                end = context.shape[1] if lengths is None else int(lengths[number])
                queries = self.Wq(x[number])
                keys, values = self.Wkv(context[number, :end]).tensor_split(2, dim=-1)
                weights = torch.softmax(queries @ keys.T / math.sqrt(self.width), dim=-1)
                outputs.append(self.Wo(weights @ values))
            return torch.stack(outputs)


class FunctionsOfTorch:
    """The functions of torch and torch.nn.functional where the reference has operators."""

    def measure_spread(queries, keys):
        products = torch.cumsum(torch.mul(queries, keys), dim=1)
        return torch.sqrt(torch.mean(torch.pow(products, 2), dim=0))

    def create_padding_mask(lengths, num_tokens):
        places = torch.arange(num_tokens).unsqueeze(0)
        return torch.lt(places, torch.unsqueeze(lengths, 1))

    def hide_padding(scaled_scores, padding_mask):
        return torch.where(padding_mask.unsqueeze(1), scaled_scores, -1e9)

    def project_two_sequences(x, context, Wq, Wkv):
        queries = F.linear(x, Wq.weight, Wq.bias)
        fused = F.linear(context, Wkv.weight, Wkv.bias)
        return queries, *torch.split(fused, Wkv.out_features // 2, dim=2)

    class CrossAttention(_Layers):
        def forward(self, x, context, lengths=None):
            key, value = self.Wkv(context).chunk(2, dim=-1)
            mask = None
            if lengths is not None:
                mask = torch.arange(context.shape[1]) < lengths[:, None, None]
            return self.Wo(F.scaled_dot_product_attention(self.Wq(x), key, value, attn_mask=mask))


class Triangle:
    """A triangle of ones cuts the vectors; the mask is made of numbers and added."""

    def measure_spread(queries, keys):
        triangle = torch.ones(queries.shape[1], queries.shape[1], dtype=queries.dtype).triu()
        products = (queries * keys) @ triangle
        return (products.norm(dim=0) ** 2 / len(products)) ** 0.5

    def create_padding_mask(lengths, num_tokens):
        return torch.ones(num_tokens, num_tokens).tril()[lengths - 1].bool()

    def hide_padding(scaled_scores, padding_mask):
        added = torch.zeros_like(scaled_scores)
        added = added.masked_fill(padding_mask.logical_not()[:, None], -math.inf)
        return scaled_scores + added

    def project_two_sequences(x, context, Wq, Wkv):
        keys, values = Wkv(context).unflatten(-1, (2, -1)).unbind(dim=-2)
        return Wq.forward(x), keys, values

    class CrossAttention(_Layers):
        def forward(self, x, context, lengths=None):
            q = self.Wq(x) * self.width**-0.5
            k, v = self.Wkv(context).unflatten(-1, (2, self.width)).movedim(-2, 0)
            scores = q @ k.mT
            if lengths is not None:
                place = torch.arange(context.shape[1], device=x.device)
                outside = (place >= lengths[:, None]).to(scores.dtype)
                scores = scores + outside[:, None] * -1e9
            return self.Wo(scores.softmax(-1) @ v)


class Einsum:
    """Every sum over an axis as an einsum."""

    def measure_spread(queries, keys):
        widths = range(1, queries.shape[-1] + 1)
        products = [torch.einsum("nd,nd->n", queries[:, :w], keys[:, :w]) for w in widths]
        return torch.stack([each.dot(each).div(len(each)).sqrt() for each in products])

    def create_padding_mask(lengths, num_tokens):
        places = torch.arange(num_tokens).repeat(len(lengths), 1)
        return places < lengths.view(-1, 1)

    def hide_padding(scaled_scores, padding_mask):
        B, S, T = scaled_scores.shape
        seen = padding_mask[:, None].expand(B, S, T)
        masked = torch.full_like(scaled_scores, -1e30)
        masked[seen] = scaled_scores[seen]
        return masked

    def project_two_sequences(x, context, Wq, Wkv):
        key_weight, value_weight = Wkv.weight.chunk(2)
        key_bias, value_bias = (0, 0) if Wkv.bias is None else Wkv.bias.chunk(2)
        keys = torch.einsum("bte,ce->btc", context, key_weight) + key_bias
        values = torch.einsum("bte,ce->btc", context, value_weight) + value_bias
        return [Wq(x), keys, values]

    class CrossAttention(_Layers):
        def forward(self, x, context, lengths=None):
            queries, fused = self.Wq(x), self.Wkv(context)
            keys, values = fused[..., : self.width], fused[..., self.width :]
            scores = torch.einsum("bsc,btc->bst", queries, keys) / self.width**0.5
            if lengths is not None:
                real = torch.arange(context.shape[1]).expand(len(x), -1) < lengths[:, None]
                scores = torch.where(real[:, None, :], scores, torch.finfo(scores.dtype).min)
            shares = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
            weights = shares / shares.sum(dim=-1, keepdim=True)
            return self.Wo(torch.einsum("bst,btc->bsc", weights, values))


class AttentionOfTheLibrary:
    """PyTorch's own function for attention with several weights."""

    class CrossAttention(_Layers):
        def forward(self, x, context, lengths=None):
            key_weight, value_weight = self.Wkv.weight.chunk(2)
            bias = None if self.Wq.bias is None else torch.cat([self.Wq.bias, self.Wkv.bias])
            hidden = None
            if lengths is not None:
                hidden = torch.arange(context.shape[1]) >= lengths[:, None]
            read = context.transpose(0, 1)
            output, _ = F.multi_head_attention_forward(
                query=x.transpose(0, 1),
                key=read,
                value=read,
                embed_dim_to_check=self.width,
                num_heads=1,
                in_proj_weight=None,
                in_proj_bias=bias,
                bias_k=None,
                bias_v=None,
                add_zero_attn=False,
                dropout_p=0.0,
                out_proj_weight=self.Wo.weight,
                out_proj_bias=self.Wo.bias,
                key_padding_mask=hidden,
                need_weights=False,
                use_separate_proj_weight=True,
                q_proj_weight=self.Wq.weight,
                k_proj_weight=key_weight,
                v_proj_weight=value_weight,
            )
            return output.transpose(0, 1)


class CompactClass:
    """The whole layer in a few lines; layers that take their inputs from the first call."""

    class CrossAttention(nn.Module):
        def __init__(self, hidden_size, context_size, bias=True):
            super().__init__()
            self.Wq = nn.Linear(hidden_size, hidden_size, bias)
            self.Wkv = nn.Linear(context_size, 2 * hidden_size, bias)
            self.Wo = nn.Linear(hidden_size, hidden_size, bias)

        def forward(self, x, context, lengths=None):
            k, v = self.Wkv(context).chunk(2, -1)
            a = self.Wq(x) @ k.mT / k.size(-1) ** 0.5
            if lengths is not None:
                past = torch.arange(k.size(1))[None, None] >= lengths[:, None, None]
                a = a.masked_fill(past, -torch.inf)
            return self.Wo(a.softmax(-1) @ v)


class PreparedSoftmax:
    """A softmax kept as a module, modules in a list where a tuple will do."""

    def project_two_sequences(x, context, Wq, Wkv):
        return (Wq(x), *Wkv(context).contiguous().tensor_split((Wq.out_features,), dim=-1))

    class CrossAttention(_Layers):
        def __init__(self, hidden_size, context_size, bias=True):
            super().__init__(hidden_size, context_size, bias)
            self.softmax = nn.Softmax(dim=-1)
            self.scale = hidden_size**-0.5

        def forward(self, x, context, lengths=None):
            keys, values = self.Wkv(context).tensor_split(2, dim=2)
            scores = torch.bmm(self.Wq(x), keys.transpose(1, 2)).mul(self.scale)
            if lengths is not None:
                for number, end in enumerate(lengths):
                    scores[number, :, end:] = -math.inf
            return self.Wo(torch.bmm(self.softmax(scores), values))


class ListsReturned:
    """Lists where tuples are annotated, and the layers initialized in the student's own way."""

    def create_padding_mask(lengths, num_tokens):
        return torch.stack([torch.arange(num_tokens) < length for length in lengths])

    def project_two_sequences(x, context, Wq, Wkv):
        return [Wq(x), *Wkv(context).split(Wkv.out_features // 2, dim=-1)]

    class CrossAttention(_Layers):
        def __init__(self, hidden_size, context_size, bias=True):
            super().__init__(hidden_size, context_size, bias)
            for layer in (self.Wq, self.Wkv, self.Wo):
                nn.init.xavier_uniform_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

        def forward(self, x, context, lengths=None):
            keys, values = self.Wkv(context).chunk(2, dim=-1)
            scores = self.Wq(x) @ keys.swapaxes(1, 2) / math.sqrt(x.shape[-1])
            if lengths is not None:
                seen = torch.zeros_like(scores, dtype=torch.bool)
                for number, end in enumerate(lengths.tolist()):
                    seen[number, :, :end] = True
                scores = scores.masked_fill(seen.logical_not(), -1e9)
            return self.Wo(torch.softmax(scores, 2) @ values)


class DoublePrecision:
    """Everything computed in float64, and returned in the precision of the input."""

    def measure_spread(queries, keys):
        products = torch.cumsum(queries.double() * keys.double(), dim=-1)
        return torch.linalg.vector_norm(products, dim=0).div(len(queries) ** 0.5).to(queries.dtype)

    def create_padding_mask(lengths, num_tokens):
        places = torch.arange(num_tokens, dtype=torch.float64)
        return lengths.double().unsqueeze(-1) > places

    def hide_padding(scaled_scores, padding_mask):
        hidden = scaled_scores.double().masked_fill(~padding_mask[:, None], -1e300)
        return hidden.clamp(min=-1e30).to(scaled_scores.dtype)

    class CrossAttention(_Layers):
        def forward(self, x, context, lengths=None):
            keys, values = self.Wkv(context).chunk(2, dim=-1)
            scores = self.Wq(x).double() @ keys.double().mT / math.sqrt(self.width)
            if lengths is not None:
                past = torch.arange(context.shape[1]) >= lengths[:, None]
                scores = scores.masked_fill(past[:, None], -torch.inf)
            return self.Wo((scores.softmax(-1) @ values.double()).to(x.dtype))


class SoftmaxByHand:
    """The softmax written out over the real tokens only, shifted by the largest of these."""

    def hide_padding(scaled_scores, padding_mask):
        lowest = torch.tensor(-1e9, dtype=scaled_scores.dtype)
        return torch.where(padding_mask[:, None].expand_as(scaled_scores), scaled_scores, lowest)

    class CrossAttention(_Layers):
        def forward(self, x, context, lengths=None):
            Q = self.Wq(x)
            K, V = self.Wkv(context).chunk(2, dim=-1)
            S = Q @ K.transpose(1, 2) / K.shape[2] ** 0.5
            if lengths is not None:
                S = S.masked_fill(
                    (torch.arange(K.shape[1]) >= lengths[:, None])[:, None], -math.inf
                )
            exponentials = torch.exp(S - torch.max(S, dim=-1, keepdim=True).values)
            return self.Wo(exponentials / exponentials.sum(-1, keepdim=True) @ V)
