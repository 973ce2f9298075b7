"""Known wrong implementations: each class is a step, each docstring what the student reads.

They are tried in this order; those that any attention may have come from `_attention`.
"""

import numpy as np

from autograder.checks import shared_beside, solution_beside

solution = solution_beside(__file__)
mistakes = shared_beside(__file__, "_attention/mistakes.py")
layers = shared_beside(__file__, "_attention/layers.py")
Parts, Scores, Scaling, Sums = mistakes.Parts, mistakes.Scores, mistakes.Scaling, mistakes.Sums
Softmax, Output = mistakes.Softmax, mistakes.Output


class _Open(solution.SingleHeadAttention):
    def attend(self, x, weighed):
        """Return the output for x, with weights that `weighed` makes of right ones and a mask."""
        queries, keys, values = solution.project_qkv(
            x, self.query_weights, self.key_weights, self.value_weights
        )
        scores = solution.compute_attention_scores(queries, keys)
        weights = solution.softmax(solution.scale_scores(scores, x.shape[-1]))
        return (
            weighed(weights, solution.create_causal_mask(x.shape[1])) @ values @ self.output_weights
        )


parts = mistakes.given(solution.project_qkv)
given_softmax = mistakes.given(solution.softmax)
layer = layers.wrong_layers(solution.SingleHeadAttention)


class softmax:
    softmax_over_the_queries = given_softmax(Softmax.softmax_over_the_queries)
    softmax_of_the_transposed_scores = given_softmax(Softmax.softmax_of_the_transposed_scores)
    softmax_of_the_negated_scores = given_softmax(Softmax.softmax_of_the_negated_scores)
    softmax_over_the_batch = given_softmax(Softmax.softmax_over_the_batch)

    def softmax_over_everything(scores):
        """Your softmax divides by one sum over the whole array: all numbers together sum to 1.

        Every row should sum to 1 on its own. What does a sum without an axis add up?
        """
        exponentials = np.exp(scores - scores.max())
        return exponentials / exponentials.sum()

    softmax_without_the_shift = Softmax.softmax_without_the_shift

    def softmax_shifted_by_the_maximum_of_a_sequence(scores):
        """Your softmax subtracts one maximum per sequence, so rows far below it become 0 / 0.

        Each row needs its own shift. Over which axis is the maximum of a row taken?
        """
        exponentials = np.exp(scores - scores.max(axis=(-2, -1), keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)

    def softmax_rows_not_shifted_by_their_maximum(scores):
        """Your softmax does not shift each row by its own maximum: rows far below become 0 / 0.

        Each row needs its own shift. Which number does your code take off a row of very negative
        scores?
        """
        exponentials = np.exp(scores - scores.max())
        return exponentials / exponentials.sum(axis=-1, keepdims=True)

    def softmax_without_keepdims(scores):
        """Your softmax takes a maximum or a sum, and loses an axis on the way.

        A maximum or a sum turns (B, S, S) into (B, S), and broadcasting then lines up the wrong
        axes. How can it keep its axis, with size 1?
        """
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1)

    def exponentials_not_divided(scores):
        """Your softmax exponentiates, but its rows do not sum to 1 yet.

        Shares are parts of a whole. What is the whole of one row?
        """
        return np.exp(scores - scores.max(axis=-1, keepdims=True))

    def scores_divided_by_their_sum(scores):
        """Your softmax divides each row by its sum without exponentiating first.

        Scores may be negative, shares may not. Which function makes every number positive?
        """
        return scores / scores.sum(axis=-1, keepdims=True)

    def softmax_of_two_sequences(scores):
        """Your softmax goes over two sequences and leaves the rest of the batch at 0.

        A batch may hold any number of sequences. Where does your code get that number from?
        """
        weights = np.zeros_like(scores)
        for sequence in range(2):
            weights[sequence] = solution.softmax(scores[sequence])
        return weights

    def softmax_overwrites_the_scores(scores):
        """Your softmax changes the array of scores that it gets.

        The array belongs to the caller, who may still need it. Which of your lines change an
        array in place?
        """
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return scores


class initialize_weights:
    def weights_not_scaled(D, rng):
        """Your weights have a standard deviation of 1: they are not scaled down.

        The layer starts with small weights. What do you have to multiply a standard normal draw
        by?
        """
        return tuple(rng.standard_normal((D, D)) for _ in range(4))

    def weights_scaled_by_the_variance(D, rng):
        """Your weights have a standard deviation of 0.0004, which is 0.02 squared.

        0.02 is the standard deviation, and 0.02 squared is the variance. Which of the two does
        your call take?
        """
        return tuple(0.0004 * rng.standard_normal((D, D)) for _ in range(4))

    def weights_scaled_by_the_dimension(D, rng):
        """The standard deviation of your weights is 1 divided by the square root of D, not 0.02.

        That initialization is named after Xavier Glorot, and it is a good one too. Which standard
        deviation does this layer ask for?
        """
        return tuple(rng.standard_normal((D, D)) / np.sqrt(D) for _ in range(4))

    def numbers_of_a_fixed_seed(D, rng):
        """Your weights stay the same when `rng` has another seed: they do not come from it.

        Whoever calls the function chooses the draw, by the generator that is passed in. Where do
        your random numbers come from?
        """
        own = np.random.default_rng(0)
        return tuple(0.02 * own.standard_normal((D, D)) for _ in range(4))

    def numbers_from_another_generator(D, rng):
        """Your weights change although `rng` has the same seed: they do not come from it alone.

        With one seed, a result can be repeated, by anybody. Where do your random numbers come from?
        """
        return tuple(np.random.normal(0, 0.02, (D, D)) for _ in range(4))

    def weights_all_zero(D, rng):
        """Your weights are all 0: nothing random is drawn.

        With zeros, all scores are equal and the output is 0 everywhere. Where does your code ask
        the generator for numbers?
        """
        return tuple(np.zeros((D, D)) for _ in range(4))

    def weights_from_a_uniform_distribution(D, rng):
        """Your weights are spread evenly between two bounds, but a normal distribution is expected.

        A normal draw is densest around 0 and has no bounds. Which method of the generator draws it?
        """
        return tuple(rng.uniform(-0.02, 0.02, (D, D)) for _ in range(4))

    def weights_all_positive(D, rng):
        """Your weights lie between 0 and 0.02: none is negative.

        Weights are drawn on both sides of 0. Which method of the generator draws a normal
        distribution?
        """
        return tuple(0.02 * rng.random((D, D)) for _ in range(4))

    def one_array_four_times(D, rng):
        """Your four weight matrices hold the same numbers.

        Then queries and keys are the same for every token. Are they one array or copies of one, or
        does a generator begin with one seed again for each?
        """
        drawn = 0.02 * rng.standard_normal((D, D))
        return drawn, drawn, drawn, drawn


class project_qkv:
    def weights_transposed(x, query_weights, key_weights, value_weights):
        """You multiply by the transposed weight matrices.

        A linear layer of PyTorch stores its matrix transposed, but here you multiply x by the
        matrix as it is. Which axis of the matrix does the last axis of x meet?
        """
        return x @ query_weights.T, x @ key_weights.T, x @ value_weights.T

    keys_used_for_values = parts(Parts.keys_used_for_values)
    keys_not_projected = parts(Parts.keys_not_projected)
    values_not_projected = parts(Parts.values_not_projected)
    keys_and_values_from_the_queries = parts(Parts.keys_and_values_from_the_queries)
    projections_one_after_the_other = parts(Parts.projections_one_after_the_other)
    queries_and_keys_swapped = parts(Parts.order_of_key_query_value)
    order_of_value_key_query = parts(Parts.order_of_value_key_query)

    def tokens_as_columns(x, query_weights, key_weights, value_weights):
        """You put the weights on the left of the tokens, so your results are (B, D, S).

        Here a token is a row, and its numbers lie along the last axis of x. On which side of x
        should the matrix stand?
        """
        columns = x.swapaxes(-2, -1)
        return query_weights @ columns, key_weights @ columns, value_weights @ columns

    def queries_three_times(x, query_weights, key_weights, value_weights):
        """All three of your results are made with the query weights.

        Each of the three has a matrix of its own. Which ones do your keys and values use?
        """
        queries = x @ query_weights
        return queries, queries, queries


class compute_attention_scores:
    def all_axes_reversed(queries, keys):
        """You move the batch axis of the keys, but it has to stay in front.

        Only the sequence axis and the embedding axis of the keys change places, and `.T` would
        reverse all three. How do you swap just the last two axes of an array?
        """
        return queries @ keys.T

    keys_not_transposed = Scores.keys_not_transposed
    keys_reshaped = Scores.keys_reshaped
    keys_times_queries = Scores.keys_times_queries
    only_the_keys_own_query = Scores.only_the_keys_own_query
    only_the_last_product = Scores.only_the_last_product
    scores_scaled_already = Scores.scores_scaled_already
    queries_times_queries = Scores.queries_times_queries


class scale_scores:
    scores_not_scaled = Scaling.scores_not_scaled
    divided_by_the_dimension = Scaling.divided_by_the_width
    divided_by_the_dimension_and_by_two = Scaling.divided_by_the_width_and_by_two
    divided_by_half_the_dimension = Scaling.divided_by_half_the_width
    divided_by_eight_always = Scaling.divided_by_eight_always
    divided_by_the_root_rounded_down = Scaling.divided_by_the_root_rounded_down
    multiplied_by_the_root = Scaling.multiplied_by_the_root
    divided_by_the_root_of_the_sequence_length = Scaling.divided_by_the_root_of_the_sequence_length

    def scaled_in_place(attention_scores, embedding_dimension):
        """You change the array of scores in place, so the caller's array changes too.

        The array belongs to the caller. Which operator makes a new array?
        """
        attention_scores /= np.sqrt(embedding_dimension)
        return attention_scores


class create_causal_mask:
    def mask_inverted(sequence_length):
        """Your mask is the wrong way round: it has 1 where looking is forbidden.

        Here 1 means "may see". What may the first token see?
        """
        return np.triu(np.ones((sequence_length, sequence_length)), k=1)

    def upper_triangle(sequence_length):
        """Your mask lets every token see itself and the future, and hides the past.

        Row i belongs to query i, column j to key j. Is a key with j larger than i earlier or later?
        """
        return np.triu(np.ones((sequence_length, sequence_length)))

    def diagonal_left_out(sequence_length):
        """Your mask hides the diagonal: no token may see itself.

        The first token then sees nothing at all, and its row has no softmax. Does the diagonal
        belong to what a token may see?
        """
        return np.tril(np.ones((sequence_length, sequence_length)), k=-1)

    def next_token_seen(sequence_length):
        """Your mask lets every token see one step ahead.

        Token i sees the tokens up to i itself. On which diagonal does the hidden part begin?
        """
        return np.tril(np.ones((sequence_length, sequence_length)), k=1)

    def nothing_masked(sequence_length):
        """Your mask is 1 everywhere: every token may see the future.

        What may the first of four tokens see, and what does its row of the mask look like?
        """
        return np.ones((sequence_length, sequence_length))

    def mask_of_a_fixed_size(sequence_length):
        """Your mask is always (10, 10), whatever the length of the sequence.

        Other sequences have other lengths. Where does your code use its argument?
        """
        return np.tril(np.ones((10, 10)))

    def additive_mask(sequence_length):
        """Your mask holds numbers to add to the scores, but a mask of 1 and 0 is expected.

        This step only says who may see whom. Putting in the very negative numbers is the next step.
        """
        return np.where(np.tril(np.ones((sequence_length, sequence_length))) == 1, 0.0, -1e9)

    def additive_mask_of_infinity(sequence_length):
        """Your mask holds 0 and negative infinity, but a mask of 1 and 0 is expected.

        This step only says who may see whom. Putting in the very negative numbers is the next step.
        """
        return np.where(np.tril(np.ones((sequence_length, sequence_length))) == 1, 0.0, -np.inf)


class apply_mask:
    def allowed_scores_masked(scaled_scores, causal_mask):
        """You make the allowed scores very negative and keep the forbidden ones.

        The mask is 1 where a query may see a key. What does it hold where a score of yours gets very
        negative?
        """
        return np.where(causal_mask == 1, -1e9, scaled_scores)

    def forbidden_scores_set_to_zero(scaled_scores, causal_mask):
        """You set the forbidden scores to 0, but a score of 0 still gets a share.

        The softmax exponentiates, and exp(0) is 1. Which scores have an exponential of 0?
        """
        return np.where(causal_mask == 1, scaled_scores, 0.0)

    def forbidden_scores_nearly_zero(scaled_scores, causal_mask):
        """Your forbidden scores are nearly 0, so each of them still gets a share.

        In 1e-9 the minus belongs to the exponent, which makes the number tiny. Where does it stand
        in a number that is far below 0?
        """
        return np.where(causal_mask == 1, scaled_scores, 1e-9)

    def forbidden_scores_very_large(scaled_scores, causal_mask):
        """Your forbidden scores are very large, with the wrong sign: they get nearly all the weight.

        The exponential of a large number is even larger. Which sign makes the share of a forbidden
        score 0?
        """
        return np.where(causal_mask == 1, scaled_scores, 1e9)

    def infinity_times_zero(scaled_scores, causal_mask):
        """Your allowed scores become NaN, which is no number.

        Infinity times 0 is NaN, and so is infinity minus infinity. Where does your code compute
        with infinity, and what chooses between two numbers without computing with both?
        """
        return scaled_scores + (1 - causal_mask) * -np.inf

    def forbidden_scores_slightly_negative(scaled_scores, causal_mask):
        """Your forbidden scores are negative, but not negative enough: they still get a share.

        exp(-1) is more than a third. How negative does a score have to be for its exponential to
        be 0?
        """
        return np.where(causal_mask == 1, scaled_scores, -1.0)

    def mask_added(scaled_scores, causal_mask):
        """You add the mask to the scores, which moves them by 1 and forbids nothing.

        The mask says which scores to keep. What happens to a score where the mask is 0?
        """
        return scaled_scores + causal_mask

    def scores_of_zero_masked(scaled_scores, causal_mask):
        """You mask every score that is 0 after a product with the mask: also allowed ones of 0.

        A score may be 0 by itself, as of a token that holds zeros. Which array says by itself what
        is forbidden?
        """
        return np.where(scaled_scores * causal_mask == 0, -1e9, scaled_scores)

    def mask_ignored(scaled_scores, causal_mask):
        """Your scores come back as they were: nothing is masked.

        Where the mask is 0, the score has to become very negative. Where does your code use the
        mask?
        """
        return scaled_scores.copy()

    def own_causal_mask(scaled_scores, causal_mask):
        """You mask the future, whatever mask is passed in: your code does not use the argument.

        The caller says who may see whom, and the mask need not be causal. Where does your code
        read it?
        """
        lower = np.tril(np.ones(scaled_scores.shape[-2:]))
        return np.where(lower == 1, scaled_scores, -1e9)

    def only_two_sequences_masked(scaled_scores, causal_mask):
        """You mask two sequences, but the rest of the batch still sees everything.

        A batch may hold any number of sequences. Where does your code get that number from?
        """
        masked = scaled_scores.copy()
        for sequence in range(2):
            masked[sequence][causal_mask == 0] = -1e9
        return masked

    def mask_transposed(scaled_scores, causal_mask):
        """You apply the mask with its rows and columns swapped.

        Rows of the mask belong to queries, as the rows of the scores do. Is a transpose needed?
        """
        return np.where(causal_mask.T == 1, scaled_scores, -1e9)

    def masked_in_place(scaled_scores, causal_mask):
        """You change the array of scores that you get.

        The array belongs to the caller, who may still need it. What makes a new array?
        """
        scaled_scores[:, causal_mask == 0] = -1e9
        return scaled_scores


class compute_attention_weights:
    softmax_applied_twice = given_softmax(Softmax.softmax_applied_twice)
    weights_of_the_transposed_scores = given_softmax(Softmax.softmax_of_the_transposed_scores)
    weights_of_the_negated_scores = given_softmax(Softmax.softmax_of_the_negated_scores)
    negative_scores_raised_to_zero = given_softmax(Softmax.negative_scores_raised_to_zero)

    def scores_scaled_again(scores):
        """You scale the scores once more before the softmax.

        The scaling comes before this step. What is left to do here?
        """
        return solution.softmax(scores / np.sqrt(scores.shape[-1]))

    def scores_clipped(scores):
        """You cut off the scores at a bound, so a masked score keeps a small share.

        A masked score is very negative for a reason, and your softmax can take it. What does your
        code do to -1e9 before it exponentiates?
        """
        return solution.softmax(np.clip(scores, -5.0, 5.0))

    def masked_once_more(scores):
        """You mask the future here too, whether or not the scores are masked.

        Masking comes before this step, if it is asked for. What is left to do here?
        """
        lower = np.tril(np.ones(scores.shape[-2:]))
        return solution.softmax(np.where(lower == 1, scores, -1e9))

    def scores_returned_as_weights(scores):
        """You return the scores, but weights are expected.

        One function that you have written turns scores into weights. Which one?
        """
        return scores.copy()

    def weights_over_the_queries(scores):
        """Your attention weights sum to 1 down the columns, not along the rows.

        Row i says how query i divides its attention among the keys. Along which axis does your
        softmax run?
        """
        return solution.softmax(scores.swapaxes(-2, -1)).swapaxes(-2, -1)


class apply_attention:
    weights_transposed_in_the_sum = Sums.weights_transposed_in_the_sum
    values_weighted_by_their_columns = Sums.values_weighted_by_their_columns
    only_the_last_value = Sums.only_the_last_value
    values_averaged = Sums.values_averaged
    values_before_weights = Sums.values_before_weights
    weights_returned_as_output = Sums.weights_returned_as_output


class project_output:
    def output_weights_transposed(attention_output, output_weights):
        """You multiply by the transposed output weights.

        Use the matrix as it is. Which of its axes does the last axis of the output meet?
        """
        return attention_output @ output_weights.T

    output_not_projected = Output.output_not_projected

    def projected_twice(attention_output, output_weights):
        """You multiply by the output weights twice.

        The result has the shape of the input, so no error is raised. How many times does your code
        use the matrix?
        """
        return attention_output @ output_weights @ output_weights

    def gathered_values_added_to_the_output(attention_output, output_weights):
        """You add the gathered values to their projection.

        A residual connection goes around the whole layer, and the code that uses the layer adds
        it. What does this step alone return?
        """
        return attention_output + attention_output @ output_weights


class SingleHeadAttention:
    class causal_ignored(solution.SingleHeadAttention):
        """Your forward gives the same result with causal=True as without.

        With causal=True the mask has to be applied. Where does your forward look at causal?
        """

        def forward(self, x, causal=False):
            return super().forward(x)

    class always_causal(solution.SingleHeadAttention):
        """Your forward masks the future even without causal=True.

        Without it every token sees all tokens. When does your forward apply the mask?
        """

        def forward(self, x, causal=False):
            return super().forward(x, causal=True)

    class causal_switch_inverted(solution.SingleHeadAttention):
        """Your forward masks the future without causal=True, and does not mask it with causal=True.

        The mask belongs where causal is True. Which way round is your condition?
        """

        def forward(self, x, causal=False):
            return super().forward(x, causal=not causal)

    class mask_after_the_softmax(_Open):
        """Your forward applies the mask after the softmax, so the rows no longer sum to 1.

        The forbidden scores have to be removed before the softmax shares out the weight.
        Between which two steps does the mask belong?
        """

        def forward(self, x, causal=False):
            return self.attend(x, lambda weights, mask: weights * mask if causal else weights)

    class weights_made_very_negative(_Open):
        """Your forward gives the mask the weights, so the forbidden weights are very negative.

        Only the softmax turns a very negative score into a share of 0. Between which two steps
        does the mask belong?
        """

        def forward(self, x, causal=False):
            return self.attend(
                x, lambda weights, mask: solution.apply_mask(weights, mask) if causal else weights
            )

    class scaled_after_the_softmax(solution.SingleHeadAttention):
        __doc__ = layers.scaled_after_the_softmax.__doc__

        def forward(self, x, causal=False):
            queries, keys, values = solution.project_qkv(
                x, self.query_weights, self.key_weights, self.value_weights
            )
            shares = solution.softmax(solution.compute_attention_scores(queries, keys))
            weights = solution.scale_scores(shares, x.shape[-1])
            if causal:
                weights = solution.apply_mask(weights, solution.create_causal_mask(x.shape[1]))
            return weights @ values @ self.output_weights

    input_returned = layer(layers.input_returned)

    class input_overwritten(solution.SingleHeadAttention):
        """Your forward changes the array of token vectors that it gets.

        The array belongs to the caller, who may still need it. Which of your lines change an array
        in place?
        """

        def forward(self, x, causal=False):
            x[...] = super().forward(x, causal)
            return x

    class tokens_normalized_first(solution.SingleHeadAttention):
        """Your forward normalizes the token vectors before it projects them.

        That belongs to the block around the layer, not to attention. What happens to x before the
        first projection?
        """

        def forward(self, x, causal=False):
            x -= x.mean(axis=-1, keepdims=True)
            x /= x.std(axis=-1, keepdims=True)
            return super().forward(x, causal)

    input_added_to_the_output = layer(layers.input_added_to_the_output)

    class weights_drawn_in_forward(solution.SingleHeadAttention):
        """Your forward draws new weights at every call instead of using those of the layer.

        All that the layer learns is lost at the next call. Where does your class draw the weights,
        and where does it keep them?
        """

        def __init__(self, embedding_dimension, rng):
            super().__init__(embedding_dimension, rng)
            self.rng = rng

        def forward(self, x, causal=False):
            self.query_weights, self.key_weights, self.value_weights, self.output_weights = (
                solution.initialize_weights(x.shape[-1], self.rng)
            )
            return super().forward(x, causal)

    class weights_copied_in_the_constructor(solution.SingleHeadAttention):
        """Your forward uses the weights as they were drawn, not as the attributes hold them now.

        Training changes the attributes, and the checks put their own weights there. Where does
        your forward read the four matrices from?
        """

        def __init__(self, embedding_dimension, rng):
            super().__init__(embedding_dimension, rng)
            self.drawn = vars(self).copy()

        def forward(self, x, causal=False):
            vars(self).update(self.drawn)
            return super().forward(x, causal)

    class first_sequence_only(solution.SingleHeadAttention):
        """Your forward returns the result of the first sequence only: the batch axis is gone.

        Every sequence of the batch gets a result, so it should be (B, S, D). Where does your code
        pick one sequence?
        """

        def forward(self, x, causal=False):
            return super().forward(x, causal)[0]

    class output_averaged_over_the_sequence(solution.SingleHeadAttention):
        """Your forward averages the output over the tokens: the result is (B, D).

        Every token gets a new vector of its own. Which of your lines removes the sequence axis?
        """

        def forward(self, x, causal=False):
            return super().forward(x, causal).mean(axis=1)
