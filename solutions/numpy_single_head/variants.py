"""Correct answers, written independently of solution.py: the checks must accept every one.

Each class is one variant, and what it holds is named after a step. Every step stands alone,
since an earlier step may be missing from a submission too.
"""

import math
from collections import namedtuple

import numpy as np

_Projections = namedtuple("_Projections", "queries keys values")


class PlainLoops:
    """Python loops over numbers and vectors, and math instead of NumPy's functions."""

    def softmax(scores):
        weights = np.empty(scores.shape)
        for b in range(scores.shape[0]):
            for i in range(scores.shape[1]):
                largest = max(scores[b, i])
                exponentials = [math.exp(score - largest) for score in scores[b, i]]
                total = sum(exponentials)
                for j, exponential in enumerate(exponentials):
                    weights[b, i, j] = exponential / total
        return weights

    def initialize_weights(embedding_dimension, rng):
        matrices = []
        for _ in range(4):
            rows = []
            for _ in range(embedding_dimension):
                rows.append([0.02 * number for number in rng.standard_normal(embedding_dimension)])
            matrices.append(np.array(rows))
        return matrices[0], matrices[1], matrices[2], matrices[3]

    def project_qkv(x, query_weights, key_weights, value_weights):
        B, S, D = x.shape
        queries, keys, values = np.zeros((B, S, D)), np.zeros((B, S, D)), np.zeros((B, S, D))
        for b in range(B):
            for s in range(S):
                for d in range(D):
                    queries[b, s, d] = np.dot(x[b, s], query_weights[:, d])
                    keys[b, s, d] = np.dot(x[b, s], key_weights[:, d])
                    values[b, s, d] = np.dot(x[b, s], value_weights[:, d])
        return queries, keys, values

    def compute_attention_scores(queries, keys):
        B, S, _ = queries.shape
        scores = np.zeros((B, S, S))
        for b in range(B):
            for i in range(S):
                for j in range(S):
                    scores[b, i, j] = np.dot(queries[b, i], keys[b, j])
        return scores

    def scale_scores(attention_scores, embedding_dimension):
        scaled = attention_scores.copy()
        for row in scaled.reshape(-1, scaled.shape[-1]):
            for j in range(len(row)):
                row[j] = row[j] / math.sqrt(embedding_dimension)
        return scaled

    def create_causal_mask(sequence_length):
        mask = np.zeros((sequence_length, sequence_length))
        for i in range(sequence_length):
            for j in range(i + 1):
                mask[i, j] = 1
        return mask

    def apply_mask(scaled_scores, causal_mask):
        masked = np.array(scaled_scores)
        for b in range(masked.shape[0]):
            for i in range(masked.shape[1]):
                for j in range(masked.shape[2]):
                    if not causal_mask[i, j]:
                        masked[b, i, j] = -1e9
        return masked

    def apply_attention(attention_weights, values):
        output = np.zeros(values.shape)
        for b, rows in enumerate(attention_weights):
            for i, row in enumerate(rows):
                for weight, value in zip(row, values[b]):
                    output[b, i] += weight * value
        return output

    def project_output(attention_output, output_weights):
        result = np.zeros_like(attention_output)
        for b in range(len(attention_output)):
            for s in range(len(attention_output[b])):
                for e, number in enumerate(attention_output[b, s]):
                    result[b, s] += number * output_weights[e]
        return result


class Einsum:
    """Every sum over an axis as an einsum, every axis by its letter."""

    def softmax(scores):
        exponentials = np.exp(scores - np.amax(scores, -1)[..., None])
        return np.einsum("bij,bi->bij", exponentials, 1 / np.einsum("bij->bi", exponentials))

    def project_qkv(x, query_weights, key_weights, value_weights):
        fused = np.stack([query_weights, key_weights, value_weights])
        queries, keys, values = np.einsum("bse,ned->nbsd", x, fused)
        return queries, keys, values

    def compute_attention_scores(queries, keys):
        return np.einsum("bid,bjd->bij", queries, keys)

    def apply_attention(attention_weights, values):
        return np.einsum("bij,bjd->bid", attention_weights, values, optimize=True)

    def project_output(attention_output, output_weights):
        return np.einsum("...e,ed->...d", attention_output, output_weights)

    class SingleHeadAttention:
        def __init__(self, embedding_dimension, rng):
            drawn = rng.normal(0.0, 0.02, (4, embedding_dimension, embedding_dimension))
            self.query_weights, self.key_weights, self.value_weights, self.output_weights = drawn

        def forward(self, x, causal=False):
            matched = np.einsum(
                "bie,ed,bjf,fd->bij", x, self.query_weights, x, self.key_weights, optimize=True
            )
            scores = matched / np.sqrt(x.shape[2])
            if causal:
                future = np.triu(np.full(scores.shape[1:], -np.inf), k=1)
                scores = scores + future
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            weights /= np.einsum("bij->bi", weights)[:, :, None]
            values = np.einsum("bje,ed->bjd", x, self.value_weights)
            return np.einsum("bij,bjd,de->bie", weights, values, self.output_weights, optimize=True)


class SinglePrecision:
    """Everything computed and returned in float32."""

    def softmax(scores):
        scores = scores.astype(np.float32)
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)

    def initialize_weights(embedding_dimension, rng):
        shape = (embedding_dimension, embedding_dimension)
        scale = np.float32(0.02)
        return tuple(scale * rng.standard_normal(shape, dtype=np.float32) for _ in range(4))

    def project_qkv(x, query_weights, key_weights, value_weights):
        x = np.float32(x)
        matrices = (query_weights, key_weights, value_weights)
        return tuple(x @ np.float32(matrix) for matrix in matrices)

    def compute_attention_scores(queries, keys):
        return queries.astype("float32") @ keys.astype("float32").transpose(0, 2, 1)

    def scale_scores(attention_scores, embedding_dimension):
        return (attention_scores / np.sqrt(embedding_dimension)).astype(np.float32)

    def create_causal_mask(sequence_length):
        return np.tri(sequence_length, dtype=np.float32)

    def apply_mask(scaled_scores, causal_mask):
        return np.where(causal_mask > 0, scaled_scores, -1e9).astype(np.float32)

    def compute_attention_weights(scores):
        scores = scores.astype(np.float32)
        exponentials = np.exp(scores - scores.max(axis=2, keepdims=True))
        return exponentials / exponentials.sum(axis=2, keepdims=True)

    def apply_attention(attention_weights, values):
        return attention_weights.astype(np.float32) @ values.astype(np.float32)

    def project_output(attention_output, output_weights):
        return (attention_output @ output_weights).astype(np.float32)

    class SingleHeadAttention:
        def __init__(self, embedding_dimension, rng):
            def draw():
                size = (embedding_dimension, embedding_dimension)
                return rng.normal(scale=0.02, size=size).astype(np.float32)

            self.query_weights, self.key_weights = draw(), draw()
            self.value_weights, self.output_weights = draw(), draw()

        def forward(self, x, causal=False):
            x = x.astype(np.float32)
            queries = x @ self.query_weights.astype(np.float32)
            keys = x @ self.key_weights.astype(np.float32)
            values = x @ self.value_weights.astype(np.float32)
            scores = queries @ keys.transpose(0, 2, 1) / np.float32(math.sqrt(x.shape[-1]))
            if causal:
                allowed = np.tri(x.shape[1], dtype=bool)
                scores = np.where(allowed, scores, np.float32(-1e9))
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights = weights / weights.sum(axis=-1, keepdims=True)
            return weights @ values @ self.output_weights.astype(np.float32)


class DoublePrecision:
    """Everything in float64, and the sums in extended precision."""

    def softmax(scores):
        exponentials = np.exp(np.float64(scores) - np.max(scores, axis=-1, keepdims=True))
        totals = exponentials.sum(axis=-1, keepdims=True, dtype=np.longdouble)
        return (exponentials / totals).astype(np.float64)

    def initialize_weights(embedding_dimension, rng):
        shape = (embedding_dimension, embedding_dimension)
        return tuple(np.float64(0.02) * rng.standard_normal(shape) for _ in "qkvo")

    def create_causal_mask(sequence_length):
        return np.tril(np.ones([sequence_length] * 2, dtype=np.float64))

    def apply_attention(attention_weights, values):
        products = attention_weights[..., None] * values[:, None]
        return products.sum(axis=2, dtype=np.longdouble).astype(np.float64)


class MinusInfinity:
    """Forbidden scores of -inf, and a softmax that can take them."""

    def apply_mask(scaled_scores, causal_mask):
        return np.where(causal_mask == 0, -np.inf, scaled_scores)

    def compute_attention_weights(scores):
        highest = np.max(scores, axis=-1, keepdims=True)
        exponentials = np.exp(np.subtract(scores, highest))
        return np.divide(exponentials, np.sum(exponentials, axis=-1, keepdims=True))

    class SingleHeadAttention:
        def __init__(self, embedding_dimension, rng):
            for name in ("query", "key", "value", "output"):
                drawn = 0.02 * rng.standard_normal((embedding_dimension, embedding_dimension))
                setattr(self, f"{name}_weights", drawn)

        def forward(self, x, causal=False):
            queries, keys, values = (
                x @ matrix for matrix in (self.query_weights, self.key_weights, self.value_weights)
            )
            scores = queries @ np.swapaxes(keys, 1, 2) / np.sqrt(x.shape[-1])
            if causal:
                rows, columns = np.triu_indices(x.shape[1], k=1)
                scores[:, rows, columns] = -np.inf
            scores -= scores.max(axis=-1, keepdims=True)
            weights = np.exp(scores)
            weights /= weights.sum(axis=-1, keepdims=True)
            return (weights @ values) @ self.output_weights


class LowestNumber:
    """Forbidden scores at the lowest number of the dtype."""

    def create_causal_mask(sequence_length):
        return np.tri(sequence_length, sequence_length, dtype=int)

    def apply_mask(scaled_scores, causal_mask):
        lowest = np.finfo(scaled_scores.dtype).min
        return np.where(causal_mask.astype(bool), scaled_scores, lowest)

    def scale_scores(attention_scores, embedding_dimension):
        return attention_scores * embedding_dimension**-0.5


class AdditiveMask:
    """Very negative numbers added to the forbidden scores, nothing to the others."""

    def create_causal_mask(sequence_length):
        ones = np.ones((sequence_length, sequence_length))
        return ones - np.triu(ones, k=1)

    def apply_mask(scaled_scores, causal_mask):
        return scaled_scores + (1.0 - causal_mask) * -1e9

    def scale_scores(attention_scores, embedding_dimension):
        return np.multiply(1.0 / np.sqrt(embedding_dimension), attention_scores)


class BooleanMask:
    """A mask of True and False, made by comparing positions, and used as an index."""

    def create_causal_mask(sequence_length):
        position = np.arange(sequence_length)
        return position[:, np.newaxis] >= position[np.newaxis, :]

    def apply_mask(scaled_scores, causal_mask):
        forbidden = np.broadcast_to(causal_mask == 0, scaled_scores.shape)
        masked = scaled_scores.copy()
        masked[forbidden] = -1e9
        return masked

    def compute_attention_weights(scores):
        flat = scores.reshape(-1, scores.shape[-1])
        exponentials = np.exp(flat - flat.max(axis=1)[:, None])
        return (exponentials / exponentials.sum(axis=1)[:, None]).reshape(scores.shape)


class InvertedMask:
    """A mask of booleans that is inverted with `~`, and weights in one stacked array."""

    def initialize_weights(embedding_dimension, rng):
        return rng.normal(scale=0.02, size=(4, embedding_dimension, embedding_dimension))

    def project_qkv(x, query_weights, key_weights, value_weights):
        return np.array([x @ query_weights, x @ key_weights, x @ value_weights])

    def create_causal_mask(sequence_length):
        return ~np.triu(np.ones((sequence_length, sequence_length), dtype=bool), 1)

    def apply_mask(scaled_scores, causal_mask):
        return np.where(~causal_mask, -1e9, scaled_scores)

    class SingleHeadAttention:
        __slots__ = ("key_weights", "output_weights", "query_weights", "value_weights")

        def __init__(self, embedding_dimension, rng):
            drawn = rng.normal(scale=0.02, size=(4, embedding_dimension, embedding_dimension))
            self.query_weights, self.key_weights, self.value_weights, self.output_weights = drawn

        def forward(self, x, causal=False):
            queries, keys = x @ self.query_weights, x @ self.key_weights
            scores = queries @ np.moveaxis(keys, 1, 2) / math.sqrt(x.shape[-1])
            if causal:
                allowed = np.tri(x.shape[1], dtype=bool)
                scores[:, ~allowed] = -np.inf
            weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
            weights /= np.sum(weights, axis=-1, keepdims=True)
            return weights @ (x @ self.value_weights) @ self.output_weights


class WhatUnpacks:
    """Named tuples, generators and maps where tuples are annotated."""

    def initialize_weights(embedding_dimension, rng):
        for _ in range(4):
            yield rng.normal(scale=0.02, size=(embedding_dimension, embedding_dimension))

    def project_qkv(x, query_weights, key_weights, value_weights):
        return _Projections(*map(x.__matmul__, (query_weights, key_weights, value_weights)))


class OneLine:
    """Each step in one line."""

    softmax = staticmethod(
        lambda scores: (
            (e := np.exp(scores - scores.max(-1, keepdims=True))) / e.sum(-1, keepdims=True)
        )
    )
    initialize_weights = staticmethod(
        lambda embedding_dimension, rng: tuple(
            rng.normal(0, 0.02, size=(4, embedding_dimension, embedding_dimension))
        )
    )
    project_qkv = staticmethod(lambda x, *matrices: tuple(x @ matrix for matrix in matrices))
    compute_attention_scores = staticmethod(lambda queries, keys: queries @ keys.swapaxes(1, 2))
    scale_scores = staticmethod(lambda scores, d: scores / d**0.5)
    create_causal_mask = staticmethod(lambda length: np.tri(length))
    apply_mask = staticmethod(lambda scores, mask: np.where(mask, scores, float("-inf")))
    apply_attention = staticmethod(lambda weights, values: weights @ values)
    project_output = staticmethod(lambda output, weights: output @ weights)


class ScaledDraws:
    """Standard normal numbers times 0.02, and a layer that follows the formulas line by line."""

    def initialize_weights(embedding_dimension, rng):
        shape = (embedding_dimension, embedding_dimension)
        return tuple(rng.standard_normal(shape) * 0.02 for _ in range(4))

    class SingleHeadAttention:
        def __init__(self, embedding_dimension, rng):
            D = self.embedding_dimension = embedding_dimension
            self.query_weights = rng.standard_normal((D, D)) * 0.02
            self.key_weights = rng.standard_normal((D, D)) * 0.02
            self.value_weights = rng.standard_normal((D, D)) * 0.02
            self.output_weights = rng.standard_normal((D, D)) * 0.02

        def forward(self, x, causal=False):
            Q = np.dot(x, self.query_weights)
            K = np.dot(x, self.key_weights)
            V = np.dot(x, self.value_weights)
            scores = np.matmul(Q, K.transpose(0, 2, 1)) / np.sqrt(self.embedding_dimension)
            if causal:
                mask = np.tril(np.ones((x.shape[1], x.shape[1])))
                scores = np.where(mask == 0, -1e9, scores)
            exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
            weights = exponentials / np.sum(exponentials, axis=-1, keepdims=True)
            return np.dot(np.matmul(weights, V), self.output_weights)


class ListsReturned:
    """Lists where tuples are annotated; the weights in one draw, cut into four."""

    def initialize_weights(embedding_dimension, rng):
        wide = rng.normal(loc=0.0, scale=0.02, size=(embedding_dimension, 4 * embedding_dimension))
        return np.split(wide, 4, axis=1)

    def project_qkv(x, query_weights, key_weights, value_weights):
        fused = np.concatenate([query_weights, key_weights, value_weights], axis=1)
        return np.split(x @ fused, 3, axis=-1)


class NonContiguous:
    """Views, transposed and in Fortran order, and the functions of NumPy instead of operators."""

    def softmax(scores):
        columns = np.moveaxis(scores, -1, 0)
        exponentials = np.exp(columns - columns.max(axis=0))
        return np.moveaxis(exponentials / exponentials.sum(axis=0), 0, -1)

    def project_qkv(x, query_weights, key_weights, value_weights):
        matrices = (query_weights, key_weights, value_weights)
        columns = [np.matmul(matrix.T, x.swapaxes(1, 2)) for matrix in matrices]
        return columns[0].swapaxes(1, 2), columns[1].swapaxes(1, 2), columns[2].swapaxes(1, 2)

    def compute_attention_scores(queries, keys):
        return np.transpose(np.matmul(keys, np.transpose(queries, (0, 2, 1))), (0, 2, 1))

    def scale_scores(attention_scores, embedding_dimension):
        return np.divide(np.asfortranarray(attention_scores), np.sqrt(embedding_dimension))

    def create_causal_mask(sequence_length):
        return np.triu(np.ones((sequence_length, sequence_length), dtype=np.int8)).T

    def apply_attention(attention_weights, values):
        return np.matmul(values.swapaxes(1, 2), attention_weights.swapaxes(1, 2)).swapaxes(1, 2)

    def project_output(attention_output, output_weights):
        return np.tensordot(attention_output, output_weights, axes=1)


class Logarithms:
    """The softmax by way of the logarithm of the sum of exponentials."""

    def softmax(scores):
        return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))

    def compute_attention_weights(scores):
        largest = scores.max(axis=-1, keepdims=True)
        logarithm = np.log(np.exp(scores - largest).sum(axis=-1, keepdims=True))
        return np.exp(scores - largest - logarithm)


class SequenceBySequence:
    """A loop over the batch, and plain matrices inside it."""

    def compute_attention_scores(queries, keys):
        return np.array([query.dot(key.T) for query, key in zip(queries, keys)])

    def apply_mask(scaled_scores, causal_mask):
        masked = []
        for scores in scaled_scores:
            scores = scores.copy()
            np.putmask(scores, causal_mask == 0, -1e10)
            masked.append(scores)
        return np.stack(masked)

    def compute_attention_weights(scores):
        rows = []
        for row in scores.reshape(-1, scores.shape[-1]):
            shares = np.exp(row - row.max())
            rows.append(shares / shares.sum())
        return np.array(rows).reshape(scores.shape)

    def apply_attention(attention_weights, values):
        output = np.empty_like(values)
        for b in range(values.shape[0]):
            np.dot(attention_weights[b], values[b], out=output[b])
        return output

    class SingleHeadAttention:
        def __init__(self, embedding_dimension, rng):
            size = embedding_dimension, embedding_dimension
            self.query_weights = rng.normal(0, 0.02, size)
            self.key_weights = rng.normal(0, 0.02, size)
            self.value_weights = rng.normal(0, 0.02, size)
            self.output_weights = rng.normal(0, 0.02, size)

        def forward(self, x, causal=False):
            return np.stack([self.attend(tokens, causal) for tokens in x])

        def attend(self, tokens, causal):
            scores = (tokens @ self.query_weights) @ (tokens @ self.key_weights).T
            scores = scores / math.sqrt(tokens.shape[1])
            weights = np.zeros_like(scores)
            for i, row in enumerate(scores):
                seen = i + 1 if causal else len(row)
                shares = np.exp(row[:seen] - row[:seen].max())
                weights[i, :seen] = shares / shares.sum()
            return weights @ (tokens @ self.value_weights) @ self.output_weights


class CompactClass:
    """The whole layer in a few lines, with one fused product for queries, keys and values."""

    class SingleHeadAttention:
        def __init__(self, embedding_dimension, rng):
            shape = (embedding_dimension,) * 2
            self.query_weights, self.key_weights, self.value_weights, self.output_weights = (
                0.02 * rng.standard_normal(shape) for _ in range(4)
            )

        def forward(self, x, causal=False):
            fused = np.hstack([self.query_weights, self.key_weights, self.value_weights])
            q, k, v = np.split(x @ fused, 3, axis=-1)
            s = q @ k.swapaxes(-2, -1) / np.sqrt(x.shape[-1]) + causal * np.triu(
                np.full((x.shape[1], x.shape[1]), -1e9), 1
            )
            e = np.exp(s - s.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True) @ v @ self.output_weights


class LayerWithMethods:
    """A layer with its own method for every part, and more attributes than are expected."""

    class SingleHeadAttention:
        def __init__(self, embedding_dimension, rng):
            self.embedding_dimension = embedding_dimension
            self.rng = rng
            self.query_weights = self.draw()
            self.key_weights = self.draw()
            self.value_weights = self.draw()
            self.output_weights = self.draw()
            self.attention_weights = None

        def draw(self):
            return self.rng.normal(0.0, 0.02, (self.embedding_dimension, self.embedding_dimension))

        @staticmethod
        def softmax(scores):
            exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
            return exponentials / np.sum(exponentials, axis=-1, keepdims=True)

        @property
        def scale(self):
            return 1 / math.sqrt(self.embedding_dimension)

        def masked(self, scores):
            position = np.arange(scores.shape[-1])
            return np.where(position[:, None] < position, np.finfo(scores.dtype).min, scores)

        def __call__(self, x, causal=False):
            queries = self.scale * (x @ self.query_weights)
            scores = queries @ (x @ self.key_weights).transpose(0, 2, 1)
            self.attention_weights = self.softmax(self.masked(scores) if causal else scores)
            gathered = self.attention_weights @ (x @ self.value_weights)
            return gathered @ self.output_weights

        def forward(self, x, causal=False):
            return self(x, causal=causal)
