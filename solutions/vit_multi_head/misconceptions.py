"""Known wrong implementations: each class is a step, each docstring what the student reads.

They are tried in this order; those that any attention may have come from `_attention`.
"""

import functools
import math

import torch
from torch import nn

from autograder.checks import shared_beside, solution_beside

solution = solution_beside(__file__)
mistakes = shared_beside(__file__, "_attention/mistakes.py")
layers = shared_beside(__file__, "_attention/layers.py")
Parts, Heads, Scores, Scaling = mistakes.Parts, mistakes.Heads, mistakes.Scores, mistakes.Scaling
Softmax, Sums, Output = mistakes.Softmax, mistakes.Sums, mistakes.Output


class _Layer(layers.OpenLayer, solution.MultiHeadSelfAttention):
    def parts(self, x):
        projected = solution.project_qkv(x, self.q_linear, self.k_linear, self.v_linear)
        return tuple(solution.split_heads(part, self.num_heads) for part in projected)

    def output(self, gathered):
        return self.out_linear(solution.merge_heads(gathered))


def _scaled(wrong):
    """`wrong` scores, scaled as in this step."""

    @functools.wraps(wrong)
    def compute_scaled_scores(queries, keys):
        return wrong(queries, keys) / math.sqrt(keys.shape[-1])

    return compute_scaled_scores


parts = mistakes.given(solution.project_qkv)
softmax = mistakes.given(solution.compute_attention_weights)
layer = layers.wrong_layers(_Layer)


def _scores(queries, keys):
    return queries @ keys.transpose(-2, -1)


def _of_scores(wrong):
    """`wrong` scaling, of right scores."""

    @functools.wraps(wrong)
    def compute_scaled_scores(queries, keys):
        return wrong(_scores(queries, keys), keys.shape[-1])

    return compute_scaled_scores


class create_projections:
    def one_fused_layer(hidden_dim):
        """You make one wide layer for queries, keys and values together, and one for the output.

        A fused layer computes the same, but here each of the three has a layer of its own. How many
        layers are expected in all?
        """
        return nn.Linear(hidden_dim, hidden_dim * 3), nn.Linear(hidden_dim, hidden_dim)

    def output_layer_forgotten(hidden_dim):
        """You return three layers: the one for the output is missing.

        Queries, keys and values have their layers. Which layer mixes the heads at the end?
        """
        return solution.create_projections(hidden_dim)[:3]

    def every_layer_three_times_as_wide(hidden_dim):
        """Your layers for queries, keys and values are three times as wide as the token.

        That is the width of one layer that makes all three. How wide is a query?
        """
        wide = [nn.Linear(hidden_dim, hidden_dim * 3) for _ in range(3)]
        return *wide, nn.Linear(hidden_dim, hidden_dim)

    def layers_for_a_narrow_head(hidden_dim):
        """Your layers map to a quarter of hidden_dim, as for a single narrow head.

        Here one layer makes the queries of all heads at once. How wide are all heads together?
        """
        narrow = [nn.Linear(hidden_dim, hidden_dim // 4) for _ in range(3)]
        return *narrow, nn.Linear(hidden_dim // 4, hidden_dim)

    def bias_missing(hidden_dim):
        """Your layers have no bias.

        All four have one here. What do your layers get for their bias argument?
        """
        return tuple(nn.Linear(hidden_dim, hidden_dim, bias=False) for _ in range(4))

    def bias_in_the_output_layer_only(hidden_dim):
        """Only your out_linear has a bias; the layers for queries, keys and values have none.

        Some models leave it out there, but here all four layers have one. What do the first three
        get for their bias argument?
        """
        bare = [nn.Linear(hidden_dim, hidden_dim, bias=False) for _ in range(3)]
        return *bare, nn.Linear(hidden_dim, hidden_dim)

    def one_layer_four_times(hidden_dim):
        """Your four layers hold the same weights.

        Each of the four is expected to begin with numbers of its own. Are they one layer or copies
        of one, or is a seed set again before each?
        """
        layer = nn.Linear(hidden_dim, hidden_dim)
        return layer, layer, layer, layer


class project_qkv:
    order_of_key_query_value = parts(Parts.order_of_key_query_value)
    order_of_value_key_query = parts(Parts.order_of_value_key_query)
    keys_used_for_values = parts(Parts.keys_used_for_values)

    def queries_used_for_keys(x, q_linear, k_linear, v_linear):
        """Your keys are the queries again.

        What a token is looking for and what it offers are two different projections. Which layer
        makes the second result?
        """
        return q_linear(x), q_linear(x), v_linear(x)

    def one_layer_for_all_three(x, q_linear, k_linear, v_linear):
        """Your queries, keys and values are the same: all three come from q_linear.

        Each of them has a layer of its own. Which layers does your code call?
        """
        return q_linear(x), q_linear(x), q_linear(x)

    keys_not_projected = parts(Parts.keys_not_projected)
    values_not_projected = parts(Parts.values_not_projected)
    keys_and_values_from_the_queries = parts(Parts.keys_and_values_from_the_queries)
    projections_one_after_the_other = parts(Parts.projections_one_after_the_other)

    def projection_bias_forgotten(x, q_linear, k_linear, v_linear):
        """Your projections leave out the biases of the layers.

        A linear layer is a product and a bias. What does calling the layer do that a product with
        its weight does not?
        """
        return tuple(x @ layer.weight.T for layer in (q_linear, k_linear, v_linear))

    def projection_weights_not_transposed(x, q_linear, k_linear, v_linear):
        """You multiply by the layers' weights as they are stored, but PyTorch stores them transposed.

        They are square here, so the shapes fit either way. What does a layer do for you when you
        call it?
        """
        return tuple(x @ layer.weight + layer.bias for layer in (q_linear, k_linear, v_linear))

    def tokens_not_projected(x, q_linear, k_linear, v_linear):
        """You return the token vectors themselves three times, without projecting them.

        A token plays three roles, and each role has its own layer. Where do the layers come in?
        """
        return x, x.clone(), x.clone()


class split_heads:
    def heads_cut_by_a_view(projected, num_heads):
        """You cut the tensor straight into (B, heads, N, head_dim).

        A view moves no axis, so a head gets whole tokens instead of its slice of every token. Which
        axis do you have to cut into heads?
        """
        B, N, D = projected.shape
        return projected.reshape(B, num_heads, N, D // num_heads)

    heads_behind_the_tokens = Heads.heads_behind_the_tokens
    heads_interleaved = Heads.heads_interleaved
    heads_and_head_size_exchanged = Heads.heads_and_head_size_exchanged

    def tokens_behind_the_head_size(projected, num_heads):
        """Your result is (B, heads, head_dim, N): every head is transposed.

        Only the keys are transposed, and that is part of the next step. Which axes does your
        code move, and where to?
        """
        return solution.split_heads(projected, num_heads).transpose(-2, -1)

    heads_in_front_of_the_batch = Heads.heads_in_front_of_the_batch

    def every_head_gets_the_whole_vector(projected, num_heads):
        """Each of your heads gets the whole vector of a token.

        The heads share that vector. How many of the D numbers does each of them get?
        """
        return projected.unsqueeze(1).repeat(1, num_heads, 1, 1)

    def tokens_shared_out(projected, num_heads):
        """You cut the token axis into heads, so each head sees only some of the tokens.

        Every head sees every token, but only a slice of its vector. Which axis should you cut?
        """
        return torch.stack(projected.chunk(num_heads, dim=1), dim=1)

    def twelve_heads_always(projected, num_heads):
        """Your code makes twelve heads, whatever num_heads says.

        One model has twelve heads, but others have more or fewer. Where does your code use
        num_heads?
        """
        return solution.split_heads(projected, 12)


class compute_scaled_scores:
    keys_not_transposed = _scaled(Scores.keys_not_transposed)
    keys_reshaped = _scaled(Scores.keys_reshaped)

    def head_axis_transposed(queries, keys):
        """You move the head axis of the keys, but it has to stay where it is.

        The batch axis and the head axis stay in front, and `.T` would reverse all four. Which two
        axes of the keys change places?
        """
        return queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[-1])

    heads_compared_with_heads = _scaled(Scores.heads_compared_with_heads)
    keys_times_queries = _scaled(Scores.keys_times_queries)
    only_the_keys_own_query = _scaled(Scores.only_the_keys_own_query)
    scores_summed_over_the_heads = _scaled(Scores.scores_summed_over_the_heads)
    queries_times_queries = _scaled(Scores.queries_times_queries)

    scores_not_scaled = _of_scores(Scaling.scores_not_scaled)
    divided_by_the_head_size = _of_scores(Scaling.divided_by_the_width)
    divided_by_the_head_size_and_by_two = _of_scores(Scaling.divided_by_the_width_and_by_two)
    divided_by_half_the_head_size = _of_scores(Scaling.divided_by_half_the_width)
    divided_by_the_root_rounded_down = _of_scores(Scaling.divided_by_the_root_rounded_down)

    def multiplied_by_the_root(queries, keys):
        """You multiply by the square root of the head size, which widens the spread.

        Scaling should make the scores smaller, and dividing by a power of -0.5 does the opposite.
        Which operation is right?
        """
        return _scores(queries, keys) * math.sqrt(keys.shape[-1])

    def divided_by_the_root_of_the_hidden_dimension(queries, keys):
        """You divide by the square root of the hidden dimension, the size of all heads together.

        The dot product runs over the numbers of one head. How many are there?
        """
        return _scores(queries, keys) / math.sqrt(keys.shape[1] * keys.shape[-1])

    def divided_by_the_root_of_the_number_of_tokens(queries, keys):
        """You divide by the square root of the number of tokens.

        Each score is a sum over head_dim, not over the tokens. Which number says how many products
        it adds up?
        """
        return _scores(queries, keys) / math.sqrt(keys.shape[-2])

    def divided_by_the_root_of_the_number_of_heads(queries, keys):
        """You divide by the square root of the number of heads.

        Each score is a sum over head_dim. Which axis of the keys is that?
        """
        return _scores(queries, keys) / math.sqrt(keys.shape[1])

    divided_by_eight_always = _of_scores(Scaling.divided_by_eight_always)

    def scaled_in_place(queries, keys):
        """You change the queries in place, so the caller's tensor changes too.

        The tensor belongs to the caller, and the backward pass may need it as it was. Which
        operator makes a new tensor?
        """
        queries /= math.sqrt(keys.shape[-1])
        return _scores(queries, keys)


class compute_attention_weights:
    softmax_over_the_queries = softmax(Softmax.softmax_over_the_queries)
    softmax_over_the_heads = softmax(Softmax.softmax_over_the_heads)
    softmax_over_the_batch = softmax(Softmax.softmax_over_the_batch)
    softmax_over_whole_heads = softmax(Softmax.softmax_over_whole_heads)

    def one_softmax_for_all_heads(scaled_scores):
        """Your heads share one softmax: the weights of a token sum to 1 over all heads together.

        Each head divides its own attention, so its own weights sum to 1. Which axes does your
        softmax run over?
        """
        B, heads, N, _ = scaled_scores.shape
        flat = scaled_scores.permute(0, 2, 1, 3).reshape(B, N, heads * N)
        return flat.softmax(dim=-1).view(B, N, heads, N).permute(0, 2, 1, 3)

    softmax_without_the_shift = Softmax.softmax_without_the_shift
    softmax_of_the_transposed_scores = softmax(Softmax.softmax_of_the_transposed_scores)
    softmax_of_the_negated_scores = softmax(Softmax.softmax_of_the_negated_scores)
    negative_scores_raised_to_zero = softmax(Softmax.negative_scores_raised_to_zero)
    softmax_applied_twice = softmax(Softmax.softmax_applied_twice)
    future_masked = softmax(Softmax.future_masked)
    logarithm_of_the_softmax = softmax(Softmax.logarithm_of_the_softmax)
    scores_returned_as_weights = softmax(Softmax.scores_returned_as_weights)


class apply_attention:
    weights_transposed_in_the_sum = Sums.weights_transposed_in_the_sum
    values_weighted_by_their_columns = Sums.values_weighted_by_their_columns
    values_averaged = Sums.values_averaged
    values_before_weights = Sums.values_before_weights

    def head_axis_summed_away(attention_weights, values):
        """You add up the results of the heads, so the head axis is lost.

        Each head keeps its own result until the heads are merged. Over which axes does your sum run?
        """
        return (attention_weights @ values).sum(dim=1)

    weights_averaged_over_the_heads = Sums.weights_averaged_over_the_heads

    def values_of_the_first_head_for_all(attention_weights, values):
        """You apply the weights of every head to the values of the first head.

        Each head has its own values. What happens to the head axis of the values on the way?
        """
        return attention_weights @ values[:, :1]

    weights_returned_as_output = Sums.weights_returned_as_output


class merge_heads:
    merged_without_the_permute = Heads.merged_without_a_move
    merged_heads_interleaved = Heads.merged_heads_interleaved

    tokens_swapped_with_the_head_size = Heads.tokens_swapped_with_the_head_size
    heads_averaged = Heads.heads_averaged
    heads_summed = Heads.heads_summed
    heads_not_joined = Heads.heads_not_joined

    def heads_lined_up_as_tokens(attention_output):
        """You line up the heads along the token axis, so there are heads times as many tokens.

        Each token gets one vector, with the numbers of all heads in it. Along which axis should the
        heads stand side by side?
        """
        B, heads, N, head_dim = attention_output.shape
        return attention_output.reshape(B, heads * N, head_dim)


class project_output:
    output_not_projected = Output.output_not_projected
    output_bias_forgotten = Output.output_bias_forgotten

    def output_weight_not_transposed(merged, out_linear):
        """You multiply by the weight of out_linear as it is stored, but PyTorch stores it transposed.

        It is square here, so the shapes fit either way. What does the layer do for you when you
        call it?
        """
        return merged @ out_linear.weight + out_linear.bias

    projected_twice = Output.projected_twice
    merged_added_to_the_output = Output.merged_added_to_the_output


class MultiHeadSelfAttention:
    heads_attend_to_heads = layer(layers.heads_attend_to_heads)
    heads_attend_to_heads_and_are_mixed = layer(layers.heads_attend_to_heads_and_are_mixed)
    scores_detached = layer(layers.scores_detached)

    class values_detached(_Layer):
        """In your forward, v_linear gets no gradient, so it is never trained.

        The output is right. Is there a `detach`, a `.data` or a `no_grad` on the way from v_linear
        to the weighted sum? Or does your forward compute with a copy of the layer?
        """

        def forward(self, x):
            return self.attend(x, values_of=torch.Tensor.detach)

    only_the_last_layer_trained = layer(layers.only_the_last_layer_trained)
    nothing_trained = layer(layers.nothing_trained)

    class one_layer_under_three_names(solution.MultiHeadSelfAttention):
        """Your q_linear, k_linear and v_linear are one and the same layer.

        An assignment makes a new name, not a new layer. How many layers does your `__init__` make?
        """

        def __init__(self, hidden_dim, num_heads):
            super().__init__(hidden_dim, num_heads)
            self.q_linear = self.k_linear = self.v_linear

    class head_dim_kept_as_hidden_dim(solution.MultiHeadSelfAttention):
        """Your head_dim is the whole hidden dimension.

        It should be the size of one head, and the heads share the hidden dimension evenly. How much
        does each of them get?
        """

        def __init__(self, hidden_dim, num_heads):
            super().__init__(hidden_dim, num_heads)
            self.head_dim = hidden_dim

    class head_dim_kept_as_a_fraction(solution.MultiHeadSelfAttention):
        """Your head_dim is a float, even when it comes out whole.

        A size is a whole number, and view takes nothing else. Which division of Python gives one?
        """

        def __init__(self, hidden_dim, num_heads):
            super().__init__(hidden_dim, num_heads)
            self.head_dim = hidden_dim / num_heads

    one_head_only = layer(layers.one_head_only)

    class batch_taken_for_the_tokens(solution.MultiHeadSelfAttention):
        """Your layer lets the images of the batch attend to each other, token by token.

        x is (B, N, D): the batch comes first. Which of the first two axes does your code take for
        the tokens?
        """

        def forward(self, x):
            return super().forward(x.transpose(0, 1)).transpose(0, 1)

    class class_token_only(solution.MultiHeadSelfAttention):
        """You return only the vector of the class token.

        The classifier at the end of the model picks that one out. How many tokens should come out
        of this layer?
        """

        def forward(self, x):
            return super().forward(x)[:, 0]

    class input_added(solution.MultiHeadSelfAttention):
        """Your forward adds the input to its output.

        A residual connection goes around the whole layer, and the code that uses the layer adds
        it. What does the layer alone return?
        """

        def forward(self, x):
            return super().forward(x) + x

    scaled_after_the_softmax = layer(layers.scaled_after_the_softmax)
    batch_of_two_assumed = layer(layers.batch_of_two_assumed)
    weights_lowered_in_evaluation = layer(layers.weights_lowered_in_evaluation)

    input_overwritten = layer(layers.input_overwritten)
    input_returned = layer(layers.input_returned)
