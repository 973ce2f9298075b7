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
FusedLayers, Parts, Heads = mistakes.FusedLayers, mistakes.Parts, mistakes.Heads
Scores, Scaling = mistakes.Scores, mistakes.Scaling
Softmax, Sums, Output = mistakes.Softmax, mistakes.Sums, mistakes.Output


class _Open(layers.OpenLayer):
    def parts(self, x):
        return solution.split_heads(self.Wqkv(x), self.num_heads)

    def output(self, gathered):
        return self.Wo(solution.merge_heads(gathered))


def _causal(wrong):
    """A causal layer whose weights `wrong` makes from the scaled scores and what may be seen."""

    def forward(self, x, causal=False):
        if not causal:
            return solution.CausalMultiHeadAttention.forward(self, x)
        visible = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return self.attend(x, weights_of=lambda scores: wrong(scores, visible))

    bases, doc = (_Open, solution.CausalMultiHeadAttention), wrong.__doc__
    return type(wrong.__name__, bases, {"__doc__": doc, "forward": forward})


def _each_part(wrong):
    """`wrong`, done to each of queries, keys and values."""

    @functools.wraps(wrong)
    def split_heads(projected, num_heads):
        return tuple(wrong(part, num_heads) for part in projected.chunk(3, dim=-1))

    return split_heads


fused = mistakes.given(solution.create_projections)
parts = mistakes.given(solution.split_heads)
softmax = mistakes.given(solution.compute_attention_weights)
layer = layers.wrong_layers(_Open, solution.MultiHeadAttention)


def _parts(projected, num_heads):
    """The fused result as (B, S, 3, heads, head_dim)."""
    return projected.reshape(*projected.shape[:2], 3, num_heads, -1)


class create_projections:
    def fused_layer_not_three_times_the_input(C, bias=True):
        """Your Wqkv is only as wide as the input: enough for queries, but not for keys and values.

        One layer makes all three at once. How wide does it have to be?
        """
        return nn.Linear(C, C, bias), nn.Linear(C, C, bias)

    def layers_of_a_quarter(C, bias=True):
        """Your layers are made for a single head, a quarter as wide as the hidden size.

        Here several heads share the hidden size, and nothing of it is left over. How wide are the
        queries of all heads together?
        """
        head_dim = C // 4
        return nn.Linear(C, head_dim * 3, bias), nn.Linear(head_dim, C, bias)

    def output_layer_from_the_fused_size(C, bias=True):
        """Your Wo expects three times the hidden size, but it gets vectors of the hidden size.

        The weighted sum mixes values only, not queries or keys. How many numbers do the values of
        all heads have together?
        """
        return nn.Linear(C, C * 3, bias), nn.Linear(C * 3, C, bias)

    def three_separate_layers(C, bias=True):
        """You make one layer each for queries, keys and values, but one fused layer is expected.

        Three layers with the same input can be one. How wide is it, and which two layers should
        this step return?
        """
        return tuple(nn.Linear(C, C, bias) for _ in range(4))

    layers_the_wrong_way_round = fused(FusedLayers.layers_the_wrong_way_round)
    bias_switch_ignored = fused(FusedLayers.bias_switch_ignored)
    bias_off_by_default = fused(FusedLayers.bias_off_by_default)
    bias_missing = fused(FusedLayers.bias_missing)
    bias_forgotten_in_the_output_layer = fused(FusedLayers.bias_forgotten_in_the_output_layer)


class split_heads:
    def three_behind_the_heads(projected, num_heads):
        """You split the fused result as (B, S, heads, 3, head_dim), which mixes up the parts.

        All queries come first, then all keys, then all values. Which of the two axes comes first,
        the 3 or the heads?
        """
        parts = projected.reshape(*projected.shape[:2], num_heads, 3, -1)
        return parts.transpose(1, 2).unbind(dim=3)

    def three_behind_everything(projected, num_heads):
        """You put the 3 behind heads and head_dim, so each part takes every third number.

        The numbers of one query lie next to each other. In which order do the 3, the heads and
        head_dim stand in the fused result?
        """
        parts = projected.reshape(*projected.shape[:2], num_heads, -1, 3)
        return parts.transpose(1, 2).unbind(dim=-1)

    def three_in_front_of_everything(projected, num_heads):
        """You reshape the fused result with the 3 in front, which mixes tokens and sequences.

        A reshape keeps the order of the numbers in memory; it moves no axis. Which axis of the
        fused result should you split?
        """
        B, S, _ = projected.shape
        return projected.reshape(3, B, S, num_heads, -1).transpose(2, 3).unbind(dim=0)

    def three_in_front_of_the_sequence(projected, num_heads):
        """You reshape the fused result with the 3 in front of S, which mixes up the tokens.

        A reshape keeps the order of the numbers in memory, where the numbers of one token lie
        together. Behind which axis does the 3 belong?
        """
        B, S, _ = projected.shape
        return projected.reshape(B, 3, S, num_heads, -1).transpose(2, 3).unbind(dim=1)

    def heads_cut_by_a_reshape(projected, num_heads):
        """You reshape queries, keys and values straight to (B, heads, S, head_dim).

        A reshape moves no axis, so a head gets whole tokens instead of its part of every token.
        Which axis do you have to cut into heads?
        """
        B, S, _ = projected.shape
        return tuple(part.reshape(B, num_heads, S, -1) for part in projected.chunk(3, dim=-1))

    def heads_and_three_cut_by_a_reshape(projected, num_heads):
        """You reshape the fused result straight to (B, heads, S, 3, head_dim): the tokens get mixed.

        A reshape keeps the order of the numbers in memory; it moves no axis. What makes two axes
        change places?
        """
        B, S, _ = projected.shape
        return projected.reshape(B, num_heads, S, 3, -1).unbind(dim=3)

    heads_interleaved = _each_part(Heads.heads_interleaved)
    heads_and_head_size_exchanged = _each_part(Heads.heads_and_head_size_exchanged)
    heads_behind_the_tokens = _each_part(Heads.heads_behind_the_tokens)
    heads_in_front_of_the_batch = _each_part(Heads.heads_in_front_of_the_batch)

    def unbound_along_another_axis(projected, num_heads):
        """You take apart the wrong axis: it is not the one of size 3, so there are not three parts.

        In (B, S, 3, heads, head_dim), queries, keys and values lie along the 3. Which axis is that
        after your transpose?
        """
        queries, keys, values = _parts(projected, num_heads).transpose(1, 3).unbind(dim=1)
        return queries, keys, values

    def two_heads_always(projected, num_heads):
        """Your code makes two heads, whatever num_heads says.

        The example has two heads, but other layers have more. Where does your code use num_heads?
        """
        return solution.split_heads(projected, 2)

    order_of_key_query_value = parts(Parts.order_of_key_query_value)
    order_of_value_key_query = parts(Parts.order_of_value_key_query)
    keys_used_for_values = parts(Parts.keys_used_for_values)


class compute_attention_scores:
    keys_not_transposed = Scores.keys_not_transposed
    keys_reshaped = Scores.keys_reshaped

    def head_axis_transposed(queries, keys):
        """You swap the head axis and the sequence axis of the keys.

        Each head has to stay with itself. Which two axes of the keys change places?
        """
        return queries @ keys.transpose(1, 2)

    def head_axis_transposed_to_the_end(queries, keys):
        """You swap the head axis of the keys with the last one.

        Axis 1 is the head axis here, and the transpose leaves it alone. Which two axes of the keys
        change places, counted from the end?
        """
        return queries @ keys.transpose(1, 3)

    batch_axis_transposed = Scores.batch_axis_transposed

    def all_axes_reversed(queries, keys):
        """You reverse all four axes of the keys, batch and heads included.

        The transpose leaves the batch axis and the head axis alone. Which two axes of the keys
        change places?
        """
        return queries @ keys.permute(3, 2, 1, 0)

    heads_compared_with_heads = Scores.heads_compared_with_heads
    scores_summed_over_the_heads = Scores.scores_summed_over_the_heads

    def head_axis_summed_away(queries, keys):
        """Your scores have no head axis left: the sum runs over the heads too.

        Every head has scores of its own. Which axes stay in the result?
        """
        return torch.einsum("bhid,bhjd->bij", queries, keys)

    keys_times_queries = Scores.keys_times_queries
    only_the_keys_own_query = Scores.only_the_keys_own_query
    scores_scaled_already = Scores.scores_scaled_already
    queries_times_queries = Scores.queries_times_queries


class scale_scores:
    scores_not_scaled = Scaling.scores_not_scaled
    divided_by_the_head_size = Scaling.divided_by_the_width
    divided_by_the_head_size_and_by_two = Scaling.divided_by_the_width_and_by_two
    divided_by_half_the_head_size = Scaling.divided_by_half_the_width
    divided_by_eight_always = Scaling.divided_by_eight_always
    divided_by_the_root_rounded_down = Scaling.divided_by_the_root_rounded_down
    multiplied_by_the_root = Scaling.multiplied_by_the_root

    def divided_by_the_root_of_the_hidden_size(attention_scores, head_dim):
        """You divide by the square root of the hidden size, the size of all heads together.

        The dot product runs over the numbers of one head. How many are there?
        """
        return attention_scores / math.sqrt(attention_scores.shape[1] * head_dim)

    def divided_by_the_root_of_the_number_of_heads(attention_scores, head_dim):
        """You divide by the square root of the number of heads.

        Each score is a sum over the numbers of one head. How many products does it add up?
        """
        return attention_scores / math.sqrt(attention_scores.shape[1])

    divided_by_the_root_of_the_sequence_length = Scaling.divided_by_the_root_of_the_sequence_length

    def divided_by_two_always(attention_scores, head_dim):
        """You divide by 2 whatever head_dim is, which is right only where it is 4.

        Heads may have any size. Where does your code use head_dim?
        """
        return attention_scores / 2

    scaled_in_place = Scaling.scaled_in_place


class compute_attention_weights:
    softmax_over_the_queries = softmax(Softmax.softmax_over_the_queries)
    softmax_over_the_heads = softmax(Softmax.softmax_over_the_heads)
    softmax_over_the_batch = softmax(Softmax.softmax_over_the_batch)
    softmax_over_whole_heads = softmax(Softmax.softmax_over_whole_heads)
    softmax_without_the_shift = Softmax.softmax_without_the_shift
    softmax_of_the_transposed_scores = softmax(Softmax.softmax_of_the_transposed_scores)
    softmax_of_the_negated_scores = softmax(Softmax.softmax_of_the_negated_scores)
    negative_scores_raised_to_zero = softmax(Softmax.negative_scores_raised_to_zero)
    softmax_applied_twice = softmax(Softmax.softmax_applied_twice)
    future_masked = softmax(Softmax.future_masked)
    logarithm_of_the_softmax = softmax(Softmax.logarithm_of_the_softmax)
    scores_returned_as_weights = softmax(Softmax.scores_returned_as_weights)


class apply_attention:
    weights_averaged_over_the_heads = Sums.weights_averaged_over_the_heads
    weights_transposed_in_the_sum = Sums.weights_transposed_in_the_sum
    values_weighted_by_their_columns = Sums.values_weighted_by_their_columns
    values_averaged = Sums.values_averaged
    values_before_weights = Sums.values_before_weights
    weights_returned_as_output = Sums.weights_returned_as_output


class merge_heads:
    merged_without_the_transpose = Heads.merged_without_a_move

    merged_heads_interleaved = Heads.merged_heads_interleaved

    def transposed_after_the_reshape(attention_output):
        """You join axes first and swap them afterwards, which mixes up the tokens.

        heads and head_dim should become one axis, but they do not lie next to each other yet. In
        which order do the swap and the reshape have to come?
        """
        B, heads, S, head_dim = attention_output.shape
        return attention_output.reshape(B, heads * head_dim, S).transpose(1, 2)

    tokens_swapped_with_the_head_size = Heads.tokens_swapped_with_the_head_size
    heads_not_joined = Heads.heads_not_joined

    def tokens_joined_instead_of_heads(attention_output):
        """You join the tokens of each head, so there is one long vector per head.

        Each token keeps a vector of its own. Which two axes should become one?
        """
        return attention_output.flatten(2)

    heads_averaged = Heads.heads_averaged
    heads_summed = Heads.heads_summed

    def batch_of_two_always(attention_output):
        """Your code assumes a batch of two, as in the example, whatever comes in.

        Other batches have other sizes. Which shape does your code read the sizes from?
        """
        _, heads, _, head_dim = attention_output.shape
        return attention_output.transpose(1, 2).reshape(2, -1, heads * head_dim)


class project_output:
    output_not_projected = Output.output_not_projected
    output_bias_forgotten = Output.output_bias_forgotten
    weight_of_the_layer_not_transposed = Output.weight_of_the_layer_not_transposed
    projected_twice = Output.projected_twice
    merged_added_to_the_output = Output.merged_added_to_the_output


class MultiHeadAttention:
    one_head_only = layer(layers.one_head_only)
    bias_argument_ignored = layer(layers.bias_argument_ignored)
    scaled_by_the_root_of_the_hidden_size = layer(layers.scaled_by_the_root_of_the_hidden_size)

    class scaled_by_the_root_of_a_quarter(_Open, solution.MultiHeadAttention):
        """Your forward divides by the root of a quarter of the hidden size, whatever num_heads is.

        A quarter is right only for four heads. Which two sizes give you the size of a head?
        """

        def forward(self, x):
            return self.attend(x, root=math.sqrt(x.shape[-1] // 4))

    scaled_after_the_softmax = layer(layers.scaled_after_the_softmax)
    batch_of_two_assumed = layer(layers.batch_of_two_assumed)

    class attended_over_the_batch(solution.MultiHeadAttention):
        """Your forward takes the batch for the tokens: different sequences attend to each other.

        Axis 0 of x is the batch, and axis 1 holds the tokens. PyTorch's own attention has an argument
        that says which of the two comes first. Which axis do your scores pair up?
        """

        def forward(self, x):
            return super().forward(x.transpose(0, 1)).transpose(0, 1)

    class input_normalized(solution.MultiHeadAttention):
        """Your forward normalizes the token vectors first, as a layer norm does.

        In a Transformer block, that is a layer of its own, in front of attention. What is the first
        thing that happens to x in this layer?
        """

        def forward(self, x):
            centered = x - x.mean(dim=-1, keepdim=True)
            variance = (centered * centered).mean(dim=-1, keepdim=True)
            return super().forward(centered / (variance + 1e-5).sqrt())

    class future_always_hidden(solution.MultiHeadAttention):
        """Your forward hides the future, but here every token sees all tokens.

        A mask belongs only to the bonus step, when it is asked for. Where does a mask come into
        your forward?
        """

        def forward(self, x):
            return solution.CausalMultiHeadAttention.forward(self, x, causal=True)

    class weights_of_the_first_head_for_all(_Open, solution.MultiHeadAttention):
        """Your forward applies the weights of the first head to the values of all heads.

        Each head has its own weights. What happens to the head axis of the weights on the way?
        """

        def forward(self, x):
            return self.attend(x, weights_of=lambda scores: scores.softmax(dim=-1)[:, :1])

    input_added_to_the_output = layer(layers.input_added_to_the_output)
    weights_lowered_in_evaluation = layer(layers.weights_lowered_in_evaluation)
    heads_attend_to_heads = layer(layers.heads_attend_to_heads)
    heads_attend_to_heads_and_are_mixed = layer(layers.heads_attend_to_heads_and_are_mixed)
    scores_detached = layer(layers.scores_detached)
    nothing_trained = layer(layers.nothing_trained)
    only_the_last_layer_trained = layer(layers.only_the_last_layer_trained)
    input_overwritten = layer(layers.input_overwritten)
    input_returned = layer(layers.input_returned)


class CausalMultiHeadAttention:
    class causal_ignored(solution.CausalMultiHeadAttention):
        """Your forward does not use causal: every token sees the future.

        With causal=True, later tokens should get no share. Where does your forward mask?
        """

        def forward(self, x, causal=False):
            return super().forward(x)

    class causal_always(solution.CausalMultiHeadAttention):
        """Your forward hides the future even when it is not asked to.

        The mask is off unless causal=True is given. Which lines stand under that condition, and
        what is the default of causal?
        """

        def forward(self, x, causal=True):
            return super().forward(x, causal=True)

    class causal_switch_inverted(solution.CausalMultiHeadAttention):
        """Your forward hides the future unless causal=True is given, and then it does not.

        The mask belongs where causal is True. Which way round is your condition?
        """

        def forward(self, x, causal=False):
            return super().forward(x, causal=not causal)

    @_causal
    def past_masked(scores, visible):
        """Your mask hides the past and the token itself, and keeps the future.

        Row i belongs to query i, column j to key j. Is a key with j larger than i earlier or later?
        """
        return scores.masked_fill(visible, -math.inf).softmax(dim=-1)

    @_causal
    def mask_transposed(scores, visible):
        """Your mask is transposed: a token sees itself and the future.

        Rows of the scores belong to queries, columns to keys. Which triangle may be seen?
        """
        return scores.masked_fill(~visible.T, -math.inf).softmax(dim=-1)

    @_causal
    def diagonal_masked(scores, visible):
        """Your mask hides the diagonal: no token may see itself.

        The first token then sees nothing at all, and its row has no softmax. Does the diagonal
        belong to what a token may see?
        """
        return scores.masked_fill(~visible.tril(-1), -math.inf).softmax(dim=-1)

    @_causal
    def next_token_seen(scores, visible):
        """Your mask lets every token see one step ahead.

        Token i sees the tokens up to i itself. On which diagonal does the hidden part begin?
        """
        return scores.masked_fill(~torch.ones_like(visible).tril(1), -math.inf).softmax(dim=-1)

    @_causal
    def masked_after_the_softmax(scores, visible):
        """You mask the weights after the softmax, so the rows no longer sum to 1.

        The hidden tokens have already taken their share of the sum. Before which step does the
        mask belong?
        """
        return scores.softmax(dim=-1) * visible

    @_causal
    def hidden_scores_set_to_zero(scores, visible):
        """You set the hidden scores to 0, or to a number as near to it as 1e-9: they keep a share.

        The softmax exponentiates, and exp(0) is 1. Which scores have an exponential of 0?
        """
        return (scores * visible).softmax(dim=-1)

    @_causal
    def hidden_scores_slightly_negative(scores, visible):
        """Your hidden scores are negative, but not negative enough: they still get a share.

        exp(-1) is more than a third. How negative does a score have to be for its exponential to
        be 0?
        """
        return scores.masked_fill(~visible, -1.0).softmax(dim=-1)

    @_causal
    def scores_of_zero_hidden(scores, visible):
        """You hide every score that is 0 after a product with the mask: also visible ones of 0.

        A score may be 0 by itself, as of a token that holds zeros. Which tensor says by itself
        what is hidden?
        """
        return scores.masked_fill(scores * visible == 0, -math.inf).softmax(dim=-1)

    @_causal
    def mask_added(scores, visible):
        """You add the mask of 1 and 0 to the scores, which moves them by 1 and hides nothing.

        The mask says which scores to keep. What happens to a score where the mask is 0?
        """
        return (scores + visible.to(scores.dtype)).softmax(dim=-1)

    @_causal
    def infinity_without_the_minus(scores, visible):
        """With causal=True, every row that hides something becomes NaN in your layer.

        A softmax of plus infinity is NaN. The share of a hidden token should be 0. Which infinity
        has an exponential of 0?
        """
        return scores.masked_fill(~visible, math.inf).softmax(dim=-1)

    @_causal
    def mask_times_infinity(scores, visible):
        """With causal=True, every number becomes NaN in your layer, even where nothing is hidden.

        0 times infinity is NaN, and so is infinity minus infinity. Where does your code compute
        with infinity, and what picks one of two values without computing with both?
        """
        return (scores - (~visible).to(scores.dtype) * math.inf).softmax(dim=-1)

    @_causal
    def masked_scores_detached(scores, visible):
        """With causal=True, your queries and keys get no gradient: what makes them is never trained.

        The output is right. Is there a `detach` or a `.data` in the line that masks, or a `no_grad`
        around it?
        """
        return scores.detach().masked_fill(~visible, -math.inf).softmax(dim=-1)
