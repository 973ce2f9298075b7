"""Known wrong implementations: each class is a step, each docstring what the student reads.

They are tried in this order; those that any attention may have come from `_attention`.
"""

import math

from torch import nn

from autograder.checks import shared_beside, solution_beside

solution = solution_beside(__file__)
mistakes = shared_beside(__file__, "_attention/mistakes.py")
layers = shared_beside(__file__, "_attention/layers.py")
FusedLayers, Parts, Output = mistakes.FusedLayers, mistakes.Parts, mistakes.Output
Scores, Scaling = mistakes.Scores, mistakes.Scaling
Softmax, Sums = mistakes.Softmax, mistakes.Sums


class _Layer(layers.OpenLayer, solution.SingleHeadAttention):
    def parts(self, x):
        return solution.project_qkv(x, self.Wqkv)

    def output(self, gathered):
        return self.Wo(gathered)


fused = mistakes.given(solution.create_projections)
parts = mistakes.given(solution.project_qkv)
softmax = mistakes.given(solution.compute_attention_weights)
layer = layers.wrong_layers(_Layer)


class create_projections:
    def fused_layer_three_times_the_input(C, bias=True):
        """Your Wqkv is three times as wide as the input: the head has the full hidden size.

        Here one head is a quarter of the hidden size. Then how wide are a query, a key and a value
        together?
        """
        return nn.Linear(C, C * 3, bias), nn.Linear(C, C, bias)

    def fused_layer_not_three_times_the_head(C, bias=True):
        """Your Wqkv is only as wide as one head: enough for a query, but not for key and value.

        One layer makes all three at once. How wide does it have to be?
        """
        head_dim = C // 4
        return nn.Linear(C, head_dim, bias), nn.Linear(head_dim, C, bias)

    def multiplied_before_dividing(C, bias=True):
        """Your Wqkv is three quarters of the hidden size, rounded at the end.

        If the hidden size is not a multiple of 4, that may not split into three equal parts. What
        should be rounded first: one head, or three?
        """
        return nn.Linear(C, C * 3 // 4, bias), nn.Linear(C // 4, C, bias)

    def output_layer_from_the_hidden_size(C, bias=True):
        """Your Wo expects the full hidden size, but it gets vectors of the size of one head.

        The weighted sum gives as many numbers as a value has. How many is that?
        """
        return nn.Linear(C, C // 4 * 3, bias), nn.Linear(C, C, bias)

    layers_the_wrong_way_round = fused(FusedLayers.layers_the_wrong_way_round)
    bias_switch_ignored = fused(FusedLayers.bias_switch_ignored)
    bias_off_by_default = fused(FusedLayers.bias_off_by_default)
    bias_missing = fused(FusedLayers.bias_missing)
    bias_forgotten_in_the_output_layer = fused(FusedLayers.bias_forgotten_in_the_output_layer)


class project_qkv:
    def three_behind_the_head(x, Wqkv):
        """You split the fused result as (B, S, head_dim, 3), so each part takes every third number.

        The numbers of one query lie next to each other. Which of the two axes comes first, the 3
        or head_dim?
        """
        projected = Wqkv(x)
        return projected.reshape(*x.shape[:2], projected.shape[-1] // 3, 3).unbind(dim=-1)

    def three_in_front_of_everything(x, Wqkv):
        """You reshape the fused result to (3, B, S, head_dim), which mixes tokens and sequences.

        A reshape keeps the order of the numbers in memory; it moves no axis. Which axis of the
        fused result should you split?
        """
        projected = Wqkv(x)
        return projected.reshape(3, *x.shape[:2], projected.shape[-1] // 3).unbind(dim=0)

    def three_in_front_of_the_sequence(x, Wqkv):
        """You reshape the fused result to (B, 3, S, head_dim), which mixes the tokens of a sequence.

        A reshape keeps the order of the numbers in memory, where the numbers of one token lie
        together. Behind which axis does the 3 belong?
        """
        B, S, _ = x.shape
        return Wqkv(x).reshape(B, 3, S, -1).unbind(dim=1)

    order_of_key_query_value = parts(Parts.order_of_key_query_value)
    order_of_value_key_query = parts(Parts.order_of_value_key_query)
    keys_used_for_values = parts(Parts.keys_used_for_values)

    def projection_bias_forgotten(x, Wqkv):
        """Your projection leaves out the bias of Wqkv.

        A linear layer is a product and a bias. What does calling the layer do that a product with
        its weight does not?
        """
        projected = x @ Wqkv.weight.T
        return projected.reshape(*x.shape[:2], 3, projected.shape[-1] // 3).unbind(dim=2)


class compute_attention_scores:
    keys_not_transposed = Scores.keys_not_transposed
    keys_reshaped = Scores.keys_reshaped
    batch_axis_transposed = Scores.batch_axis_transposed
    keys_times_queries = Scores.keys_times_queries
    only_the_keys_own_query = Scores.only_the_keys_own_query
    only_the_last_product = Scores.only_the_last_product
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
        """You divide by the square root of the hidden size, which is four times the head size.

        The dot product runs over the numbers of one head. How many are there?
        """
        return attention_scores / math.sqrt(4 * head_dim)

    divided_by_the_root_of_the_sequence_length = Scaling.divided_by_the_root_of_the_sequence_length
    scaled_in_place = Scaling.scaled_in_place


class compute_attention_weights:
    softmax_over_the_queries = softmax(Softmax.softmax_over_the_queries)
    softmax_over_the_batch = softmax(Softmax.softmax_over_the_batch)
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
    only_the_last_value = Sums.only_the_last_value
    values_averaged = Sums.values_averaged
    values_before_weights = Sums.values_before_weights
    weights_returned_as_output = Sums.weights_returned_as_output


class project_output:
    output_not_projected = Output.output_not_projected
    output_bias_forgotten = Output.output_bias_forgotten
    weight_of_the_layer_not_transposed = Output.weight_of_the_layer_not_transposed


class SingleHeadAttention:
    bias_argument_ignored = layer(layers.bias_argument_ignored)
    scaled_by_the_root_of_the_hidden_size = layer(layers.scaled_by_the_root_of_the_hidden_size)

    class scaled_by_the_root_of_a_quarter(_Layer):
        """Your forward divides by the square root of hidden_size / 4, which may be a fraction.

        The size of a head is a whole number. Which division did you make it with, and which one
        does your forward use?
        """

        def forward(self, x):
            return self.attend(x, root=math.sqrt(x.shape[-1] / 4))

    scaled_after_the_softmax = layer(layers.scaled_after_the_softmax)
    batch_of_two_assumed = layer(layers.batch_of_two_assumed)
    input_added_to_the_output = layer(layers.input_added_to_the_output)
    weights_lowered_in_evaluation = layer(layers.weights_lowered_in_evaluation)
    scores_detached = layer(layers.scores_detached)
    nothing_trained = layer(layers.nothing_trained)
    only_the_last_layer_trained = layer(layers.only_the_last_layer_trained)
    input_overwritten = layer(layers.input_overwritten)
    input_returned = layer(layers.input_returned)
