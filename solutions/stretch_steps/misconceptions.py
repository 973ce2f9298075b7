"""Known wrong implementations: each class is a step, each docstring what the student reads.

They are tried in this order.
"""

import math

import torch

from autograder.checks import shared_beside, solution_beside

solution = solution_beside(__file__)
Softmax = shared_beside(__file__, "_attention/mistakes.py").Softmax


class _Open(solution.CrossAttention):
    """The right layer, with places where a mistake can be put in."""

    def forward(self, x, context, lengths=None):
        return self.attend(x, context, lengths)

    def attend(
        self,
        x,
        context,
        lengths,
        *,
        root=None,
        hidden=solution.hide_padding,
        weights_of=lambda scores: scores.softmax(dim=-1),
        gathered=lambda sums: sums,
    ):
        """Return the output. The scores are divided by `root` (by default that of C), go through
        `hidden` with the padding mask if there are lengths, and then through `weights_of`; what
        was `gathered` goes to the output layer.
        """
        queries, keys, values = solution.project_two_sequences(x, context, self.Wq, self.Wkv)
        scores = queries @ keys.transpose(-2, -1) / (root or math.sqrt(keys.shape[-1]))
        if lengths is not None:
            scores = hidden(scores, solution.create_padding_mask(lengths, context.shape[1]))
        return self.Wo(gathered(weights_of(scores) @ values))


def _weighing(wrong):
    """A layer in which `wrong`, given a softmax, makes the weights from the scores."""

    def weights_of(scores):
        return wrong(lambda given: given.softmax(dim=-1), scores)

    def forward(self, x, context, lengths=None):
        return self.attend(x, context, lengths, weights_of=weights_of)

    return type(wrong.__name__, (_Open,), {"__doc__": wrong.__doc__, "forward": forward})


def _hiding(wrong):
    """A layer in which `wrong` makes the weights, from the scaled scores and the padding mask."""

    def forward(self, x, context, lengths=None):
        if lengths is None:
            return self.attend(x, context, None)
        found = {}

        def hidden(scores, mask):
            found["mask"] = mask
            return scores

        def weights_of(scores):
            return wrong(scores, found["mask"])

        return self.attend(x, context, lengths, hidden=hidden, weights_of=weights_of)

    return type(wrong.__name__, (_Open,), {"__doc__": wrong.__doc__, "forward": forward})


def _variance(queries, keys, fewer=0):
    """The variance for every width around the mean of the pairs, divided by N less `fewer`."""
    products = (queries * keys).cumsum(dim=-1)
    return (products - products.mean(dim=0)).square().sum(dim=0) / (len(products) - fewer)


class measure_spread:
    def dot_products_of_all_numbers(queries, keys):
        """Every entry of your result is the spread for the full width.

        Entry w - 1 belongs to vectors that are cut to their first w numbers. Where does your code
        cut them?
        """
        spread = (queries * keys).sum(dim=-1).square().mean().sqrt()
        return spread.expand(queries.shape[-1]).clone()

    def products_not_added_up(queries, keys):
        """You measure the spread of single products, without adding them up.

        A dot product of width w is a sum of w products. Where does your code add?
        """
        return (queries * keys).square().mean(dim=0).sqrt()

    def every_query_with_every_key(queries, keys):
        """You multiply every query by every key, which makes N times N dot products.

        Attention does that. Here each query has one partner, the key in its own row. Which product
        leaves the other keys out?
        """
        widths = range(1, queries.shape[-1] + 1)
        products = [queries[:, :width] @ keys[:, :width].T for width in widths]
        return torch.stack([each.square().mean().sqrt() for each in products])

    def roots_of_the_widths(queries, keys):
        """You return the roots of the widths: that is the rule, and nothing is measured.

        An experiment asks the numbers. Where does your code use the queries and keys?
        """
        return torch.arange(1, queries.shape[-1] + 1, dtype=queries.dtype).sqrt()

    def half_of_the_mean_square(queries, keys):
        """Your result is half of the mean of the squares, not its root.

        In Python, a power comes before a division: `a ** 1 / 2` is half of a. What should the
        exponent be, and what puts it in one piece?
        """
        return (queries * keys).cumsum(dim=-1).square().mean(dim=0) / 2

    def root_not_taken(queries, keys):
        """Your result is the mean of the squares: the root is missing.

        A mean square grows like D itself, and it has the squared unit. What brings it back?
        """
        return (queries * keys).cumsum(dim=-1).square().mean(dim=0)

    def sizes_averaged(queries, keys):
        """You average the sizes of the dot products, without their signs.

        That measures a spread too, but another one. Which mean does the formula take, and of what?
        """
        return (queries * keys).cumsum(dim=-1).abs().mean(dim=0)

    def signs_averaged(queries, keys):
        """You average the dot products as they are, so plus and minus cancel.

        The mean lies near 0 however wide they spread. What does the formula do to each of them
        before the mean?
        """
        return (queries * keys).cumsum(dim=-1).mean(dim=0)

    def mean_subtracted(queries, keys):
        """You measure the spread around the mean of your own pairs.

        The numbers are drawn around 0, so their dot products lie around 0. The formula subtracts
        nothing. Does your function, such as `std` or `var`, subtract a mean?
        """
        return _variance(queries, keys, fewer=1).sqrt()

    def mean_subtracted_and_divided_by_all(queries, keys):
        """You measure the spread around the mean of your own pairs.

        The numbers are drawn around 0, so their dot products lie around 0. The formula subtracts
        nothing. Which part of your code takes the mean away?
        """
        return _variance(queries, keys).sqrt()

    def variance_returned(queries, keys):
        """You return a variance around the mean of your own pairs.

        A spread is a root, and the formula subtracts no mean. Which part of
        your code takes the mean away, and where is the root?
        """
        return _variance(queries, keys, fewer=1)

    def divided_by_the_root_of_the_width(queries, keys):
        """You divide every spread by the root of its width, so there is nothing left to see.

        That is what the experiment should show you afterwards. What does the formula divide by?
        """
        widths = torch.arange(1, queries.shape[-1] + 1, dtype=queries.dtype)
        return solution.measure_spread(queries, keys) / widths.sqrt()

    def divided_by_the_width(queries, keys):
        """You take the mean over the numbers of a vector, where a dot product is their sum.

        A mean divides by the width, and then wide vectors look tame. Which mean does the formula
        take?
        """
        widths = torch.arange(1, queries.shape[-1] + 1, dtype=queries.dtype)
        return solution.measure_spread(queries, keys) / widths

    def summed_over_the_pairs(queries, keys):
        """You add up the squares of all pairs, but their mean is expected.

        With more pairs, a sum grows; a spread does not. What do you divide by?
        """
        return (queries * keys).cumsum(dim=-1).square().sum(dim=0).sqrt()

    def added_up_over_the_pairs(queries, keys):
        """Your running sum goes from pair to pair, not along a vector.

        The pairs have nothing to do with each other. Which axis holds the numbers of one vector?
        """
        return (queries * keys).cumsum(dim=0).square().mean(dim=0).sqrt()

    def one_spread_for_each_pair(queries, keys):
        """You average over the widths, so there is one number for each pair.

        One number for each width is expected, (D,). Which axis does the mean run over?
        """
        return (queries * keys).cumsum(dim=-1).square().mean(dim=-1).sqrt()

    def only_the_last_width(queries, keys):
        """You return one number: the spread for the full width.

        One number for every width is expected, (D,). How do you get at the shorter dot products?
        """
        return solution.measure_spread(queries, keys)[-1]

    def spread_before_the_sum(queries, keys):
        """You add up the spreads of the single products; spreads do not add up like that.

        Products of different signs cancel, which is why the curve bends. What comes first, the
        sum along the vector or the mean of the squares?
        """
        return (queries * keys).square().mean(dim=0).sqrt().cumsum(dim=0)

    def squares_before_the_sum(queries, keys):
        """You square the single products and add up the squares: no dot product is made.

        Products of different signs cancel in a dot product, and squares cannot. What is added up
        first, and what is squared then?
        """
        return (queries * keys).square().cumsum(dim=-1).mean(dim=0).sqrt()

    def lengths_averaged(queries, keys):
        """You average the lengths of vectors of products: no dot product is made.

        A length adds up squares, so products of different signs do not cancel in it. What is
        added up in a dot product?
        """
        return (queries * keys).square().cumsum(dim=-1).sqrt().mean(dim=0)


class create_padding_mask:
    def padding_marked(lengths, num_tokens):
        """Your mask is the wrong way round: it is True for padding.

        Here True means that a token may be seen. Which way round is your comparison?
        """
        return ~solution.create_padding_mask(lengths, num_tokens)

    def padding_marked_but_its_first_place(lengths, num_tokens):
        """Your mask is True for padding, and not even for all of it.

        Here True means that a token may be seen. Which way round is your comparison, and what does
        it say where both sides are equal?
        """
        return torch.arange(num_tokens) > lengths[:, None]

    def mask_to_be_added(lengths, num_tokens):
        """Your mask holds 0 and negative infinity: that is a mask to be added to scores.

        This step only says which places are real, with True and False. The next step turns that
        into scores. Which comparison gives True and False?
        """
        real = solution.create_padding_mask(lengths, num_tokens)
        return torch.zeros(real.shape).masked_fill(~real, -math.inf)

    def one_place_too_many(lengths, num_tokens):
        """Your mask counts one place too many as real.

        Positions begin with 0. Which is the last real position of a sequence of length 3?
        """
        return torch.arange(num_tokens) <= lengths[:, None]

    def positions_from_one(lengths, num_tokens):
        """Your mask counts one place too few as real.

        Positions begin with 0. What is the position of the first token in your code?
        """
        return torch.arange(1, num_tokens + 1) < lengths[:, None]

    def padding_in_front(lengths, num_tokens):
        """Your mask puts the padding in front and the real tokens at the end.

        Some models fill up on the left. Here the sequences begin with their real tokens. At which
        end does your mask have its False?
        """
        return solution.create_padding_mask(lengths, num_tokens).flip(-1)

    def as_wide_as_the_longest(lengths, num_tokens):
        """Your mask has as many places as the longest sequence here, not num_tokens.

        The longest one may be shorter than the tensor. Where does your code use num_tokens?
        """
        return torch.arange(int(lengths.max())) < lengths[:, None]

    def same_length_for_all(lengths, num_tokens):
        """You give every sequence the length of the first.

        Each row of the mask belongs to a sequence of its own. Which entry of lengths does a row use?
        """
        return solution.create_padding_mask(lengths[:1].expand_as(lengths), num_tokens)

    def mask_transposed(lengths, num_tokens):
        """Your mask is (T, B): a row for each place, a column for each sequence.

        The batch comes first. Which of the two needs an axis of size 1 at its end?
        """
        return torch.arange(num_tokens)[:, None] < lengths

    def only_the_last_token(lengths, num_tokens):
        """Your mask is True for the last real token only.

        All real tokens may be seen. Which comparison is true for every position before the end?
        """
        return torch.arange(num_tokens) == lengths[:, None] - 1

    def everything_real(lengths, num_tokens):
        """Your mask is True everywhere: the lengths make no difference.

        Places from the length on are padding. Where does your code compare with the lengths?
        """
        return torch.ones(len(lengths), num_tokens, dtype=torch.bool)

    def causal_mask(lengths, num_tokens):
        """You make a causal mask: row b sees the places up to b.

        A row belongs to a sequence here, not to a query. Which number says how many of its places
        are real?
        """
        return torch.ones(len(lengths), num_tokens, dtype=torch.bool).tril()


class hide_padding:
    def mask_on_the_queries(scaled_scores, padding_mask):
        """You hide the rows of padded tokens, not their columns.

        A row belongs to the token that asks. Then a row may hide everything, and its softmax is
        NaN. On which axis of the scores do the keys lie?
        """
        return scaled_scores.masked_fill(~padding_mask[:, :, None], -math.inf)

    def mask_on_queries_and_keys(scaled_scores, padding_mask):
        """You hide the columns of padding, but its rows as well.

        A row in which everything is hidden has no softmax. What should the row of a padded token
        look like?
        """
        hidden = ~(padding_mask[:, None, :] & padding_mask[:, :, None])
        return scaled_scores.masked_fill(hidden, -math.inf)

    def mask_without_an_axis_for_the_queries(scaled_scores, padding_mask):
        """Your mask (B, T) meets the scores (B, S, T) as it is, so its rows are taken for queries.

        Broadcasting lines the axes up from the right. Which axis does the mask lack, and where?
        """
        return scaled_scores.masked_fill(~padding_mask, -math.inf)

    def mask_of_the_first_sequence(scaled_scores, padding_mask):
        """You hide the padding of the first sequence in every sequence.

        Each sequence of the batch has padding of its own. Which axis of the mask does your code
        drop?
        """
        return scaled_scores.masked_fill(~padding_mask[0], -math.inf)

    def number_of_real_tokens_counted(scaled_scores, padding_mask):
        """You hide by the number of real tokens, wherever the mask has its False.

        The mask says of each place whether it may be seen. Why count, if it is already there?
        """
        counted = solution.create_padding_mask(padding_mask.sum(dim=-1), padding_mask.shape[-1])
        return solution.hide_padding(scaled_scores, counted)

    def real_tokens_hidden(scaled_scores, padding_mask):
        """You hide the real tokens and keep the padding.

        The mask is True where a token may be seen. `masked_fill` fills where it gets True, and
        `torch.where` keeps there. Which way round does your code need the mask?
        """
        return scaled_scores.masked_fill(padding_mask[:, None, :], -math.inf)

    def hidden_scores_set_to_zero(scaled_scores, padding_mask):
        """You set the hidden scores to 0, or to a number as near to it as 1e-9: they keep a share.

        The softmax exponentiates, and exp(0) is 1. Which scores have an exponential of 0?
        """
        return scaled_scores * padding_mask[:, None, :]

    def hidden_scores_slightly_negative(scaled_scores, padding_mask):
        """Your hidden scores are negative, but not negative enough: they still get a share.

        exp(-1) is more than a third. How negative does a score have to be for its exponential to
        be 0?
        """
        return scaled_scores.masked_fill(~padding_mask[:, None, :], -1.0)

    def mask_added(scaled_scores, padding_mask):
        """You add the mask of 1 and 0 to the scores, which moves them by 1 and hides nothing.

        The mask says which scores to keep. What happens to a score where the mask is False?
        """
        return scaled_scores + padding_mask[:, None, :]

    def mask_times_infinity(scaled_scores, padding_mask):
        """You multiply a mask by infinity, and 0 times infinity is NaN.

        Where nothing is hidden, the score has to stay as it is. What picks one of two values
        without multiplying?
        """
        return scaled_scores - (~padding_mask[:, None, :]).to(scaled_scores.dtype) * math.inf

    def infinity_without_the_minus(scaled_scores, padding_mask):
        """Your hidden scores are plus infinity, and their softmax is NaN.

        The share of padding should be 0. Which infinity has an exponential of 0?
        """
        return scaled_scores.masked_fill(~padding_mask[:, None, :], math.inf)

    def hidden_in_place(scaled_scores, padding_mask):
        """You change the scores in place, so the caller's tensor changes too.

        Methods that end in an underscore change a tensor, and so does `scores[...] = `. What makes
        a new one?
        """
        return scaled_scores.masked_fill_(~padding_mask[:, None, :], -math.inf)

    def weights_returned(scaled_scores, padding_mask):
        """You return weights, but masked scores are expected.

        The softmax comes later, in the layer. What does this step do to the scores?
        """
        return solution.hide_padding(scaled_scores, padding_mask).softmax(dim=-1)

    def scores_of_zero_hidden(scaled_scores, padding_mask):
        """You hide every score that is 0 after a product with the mask: also real tokens' zeros.

        A score may be 0 by itself, as of a token that holds zeros. Which tensor says by itself
        what is padding?
        """
        hidden = scaled_scores * padding_mask[:, None, :] == 0
        return scaled_scores.masked_fill(hidden, -math.inf)

    def nothing_hidden(scaled_scores, padding_mask):
        """You return the scores as they were: the padding is not hidden.

        Does the line that masks make a new tensor? Which one do you return?
        """
        return scaled_scores.clone()


class project_two_sequences:
    def two_sequences_exchanged(x, context, Wq, Wkv):
        """Your queries come from the context, and keys and values from x.

        x is the sequence that asks, the context is the one that is read. Which of the two has the
        queries?
        """
        return solution.project_two_sequences(context, x, Wq, Wkv)

    def keys_and_values_from_x(x, context, Wq, Wkv):
        """Your keys and values come from x: that is self-attention, and the context is never read.

        The sequence that is read offers keys and values. What goes into Wkv?
        """
        return solution.project_two_sequences(x, x, Wq, Wkv)

    def queries_from_the_context(x, context, Wq, Wkv):
        """Your queries come from the context, so it only looks at itself.

        The sequence that asks is x. What goes into Wq?
        """
        return solution.project_two_sequences(context, context, Wq, Wkv)

    def keys_and_values_exchanged(x, context, Wq, Wkv):
        """Your keys and values have changed places.

        The fused layer gives the key first, then the value. In which order do you unpack them?
        """
        queries, keys, values = solution.project_two_sequences(x, context, Wq, Wkv)
        return queries, values, keys

    def keys_used_for_values(x, context, Wq, Wkv):
        """You return the keys as the values.

        What a token offers as its key and what it passes on are two different parts. Which part
        is the third result?
        """
        queries, keys, _ = solution.project_two_sequences(x, context, Wq, Wkv)
        return queries, keys, keys

    def every_second_number(x, context, Wq, Wkv):
        """You split the fused result as (B, T, C, 2), so each part takes every second number.

        The numbers of one key lie next to each other. Which of the two axes comes first, the 2 or
        C?
        """
        return Wq(x), *Wkv(context).unflatten(-1, (-1, 2)).unbind(dim=-1)

    def two_in_front_of_everything(x, context, Wq, Wkv):
        """You reshape the fused result to (2, B, T, C), which mixes tokens and sequences.

        A reshape keeps the order of the numbers in memory; it moves no axis. Which axis of the
        fused result should you split?
        """
        return Wq(x), *Wkv(context).reshape(2, *context.shape[:2], -1).unbind(dim=0)

    def two_in_front_of_the_tokens(x, context, Wq, Wkv):
        """You reshape the fused result to (B, 2, T, C), which mixes the tokens of a sequence.

        A reshape keeps the order of the numbers in memory, where the numbers of one token lie
        together. Behind which axis does the 2 belong?
        """
        B, T, _ = context.shape
        return Wq(x), *Wkv(context).reshape(B, 2, T, -1).unbind(dim=1)

    def bias_of_the_queries_forgotten(x, context, Wq, Wkv):
        """Your queries are made without the bias of Wq.

        A linear layer is a product and a bias. What does calling the layer do that a product with
        its weight does not?
        """
        _, keys, values = solution.project_two_sequences(x, context, Wq, Wkv)
        return x @ Wq.weight.T, keys, values

    def bias_of_keys_and_values_forgotten(x, context, Wq, Wkv):
        """Your keys and values are made without the bias of Wkv.

        A linear layer is a product and a bias. What does calling the layer do that a product with
        its weight does not?
        """
        return Wq(x), *(context @ Wkv.weight.T).chunk(2, dim=-1)

    def weight_of_the_queries_not_transposed(x, context, Wq, Wkv):
        """You multiply by the weight of Wq as it is stored; it is square, so the sizes fit anyway.

        PyTorch stores the weight of a linear layer as (outputs, inputs). What does the layer do
        with it when it is called?
        """
        _, keys, values = solution.project_two_sequences(x, context, Wq, Wkv)
        return x @ Wq.weight + Wq.bias, keys, values

    def queries_not_projected(x, context, Wq, Wkv):
        """You return x itself as the queries.

        What a token is and what it asks for are two things. Which layer has not been called?
        """
        _, keys, values = solution.project_two_sequences(x, context, Wq, Wkv)
        return x.clone(), keys, values


class CrossAttention:
    class context_ignored(_Open):
        """Your layer looks at x only: that is self-attention, and the context is never read.

        Keys and values come from the context. Where does your forward use it?
        """

        def forward(self, x, context, lengths=None):
            return super().forward(x, x, lengths)

    class context_taken_for_x(_Open):
        """Your layer takes the context for the sequence that asks.

        The output has a vector for each token of x. Which sequence gives the queries?
        """

        def forward(self, x, context, lengths=None):
            return super().forward(context, x, lengths)

    class bias_argument_ignored(_Open):
        """Your layers have a bias although the layer was made with bias=False.

        The argument of `__init__` has to reach all three linear layers. How far does yours get?
        """

        def __init__(self, hidden_size, context_size, bias=True):
            super().__init__(hidden_size, context_size)

    class not_scaled(_Open):
        """Your forward does not scale the scores.

        You measured how far dot products spread. What do you divide by, and before which step?
        """

        def forward(self, x, context, lengths=None):
            return self.attend(x, context, lengths, root=1)

    class divided_by_the_hidden_size(_Open):
        """Your forward divides the scores by the hidden size, but its square root is expected.

        You measured how the spread of a dot product grows with its width. How does it?
        """

        def forward(self, x, context, lengths=None):
            return self.attend(x, context, lengths, root=self.Wq.out_features)

    class divided_by_the_hidden_size_and_by_two(_Open):
        """Your forward divides by the hidden size, and then by 2 as well.

        In Python, a power comes before a division: `a ** 1 / 2` is half of a, not its square root.
        What should the exponent be, and what puts it in one piece?
        """

        def forward(self, x, context, lengths=None):
            return self.attend(x, context, lengths, root=2 * self.Wq.out_features)

    class divided_by_half_the_hidden_size(_Open):
        """Your forward divides by half the hidden size, not by its square root.

        If you write the root as a power: a power comes before a division, so `a ** 1 / 2` is half
        of a. What puts the exponent in one piece?
        """

        def forward(self, x, context, lengths=None):
            return self.attend(x, context, lengths, root=self.Wq.out_features / 2)

    class scaled_by_the_root_of_the_context_size(_Open):
        """Your forward divides by the square root of the context size, not of the hidden size.

        A dot product runs over the numbers of a query. How many are there?
        """

        def forward(self, x, context, lengths=None):
            return self.attend(x, context, lengths, root=math.sqrt(context.shape[-1]))

    # Before the next one: where everything is NaN, both fit, and that one shows without padding too.
    @_hiding
    def padding_in_the_maximum(scores, mask):
        """You take the padding out of the exponentials, but their shift still comes from it.

        If the padding has by far the largest score, all others shrink to 0, and 0 divided by 0 is
        NaN. Over which scores of a row should the largest be taken?
        """
        shares = torch.exp(scores - scores.amax(dim=-1, keepdim=True)) * mask[:, None, :]
        return shares / shares.sum(dim=-1, keepdim=True)

    class softmax_over_the_queries(_Open):
        """Your softmax runs over the tokens that ask: each column sums to 1, not each row.

        A row belongs to one token of x, which divides its attention among the context. Along
        which dimension does the context lie?
        """

        def forward(self, x, context, lengths=None):
            return self.attend(x, context, lengths, weights_of=lambda scores: scores.softmax(dim=1))

    softmax_of_the_negated_scores = _weighing(Softmax.softmax_of_the_negated_scores)
    negative_scores_raised_to_zero = _weighing(Softmax.negative_scores_raised_to_zero)
    logarithm_of_the_softmax = _weighing(Softmax.logarithm_of_the_softmax)

    class future_hidden(_Open):
        """Your forward hides later places of the context, as a causal layer does.

        The sequence that is read is there from the start, so nothing in it is the future. What is
        hidden, if there are no lengths?
        """

        def forward(self, x, context, lengths=None):
            def causal(scores):
                seen = torch.ones_like(scores, dtype=torch.bool).tril()
                return scores.masked_fill(~seen, -math.inf).softmax(dim=-1)

            return self.attend(x, context, lengths, weights_of=causal)

    class lengths_ignored(_Open):
        """Your forward does not use lengths: the padding gets its share.

        With lengths, nothing may be gathered from padding. Where does your forward hide it?
        """

        def forward(self, x, context, lengths=None):
            return super().forward(x, context)

    class padding_shown_and_the_rest_hidden(_Open):
        """Your forward hides the real tokens and gathers from the padding.

        The mask is True for a real token. Which way round does your forward use it?
        """

        def forward(self, x, context, lengths=None):
            return self.attend(
                x, context, lengths, hidden=lambda s, mask: solution.hide_padding(s, ~mask)
            )

    @_hiding
    def hidden_after_the_softmax(scores, mask):
        """You hide the padding after the softmax, so the rows no longer sum to 1.

        The padding has already taken its share of the sum, also if you set its values to 0. Before
        which step does it have to be hidden?
        """
        return scores.softmax(dim=-1) * mask[:, None, :]

    @_hiding
    def hidden_scores_are_zero(scores, mask):
        """Your padding has a score of 0 in the layer, so it keeps a share.

        The softmax exponentiates, and exp(0) is 1. That also happens if you set padded tokens or
        their keys to 0. Which scores have an exponential of 0?
        """
        return (scores * mask[:, None, :]).softmax(dim=-1)

    @_hiding
    def padding_of_the_first_sequence_hidden(scores, mask):
        """Your layer hides the padding of the first sequence in every sequence.

        Each sequence of the batch has padding of its own. What becomes of the batch axis of the
        mask?
        """
        return scores.masked_fill(~mask[:1, None, :], -math.inf).softmax(dim=-1)

    class padding_set_to_zero(_Open):
        """You set padded tokens of the context to 0, and then they take part as before.

        A token of zeros still has a key and a value, from the bias. And its share is not 0. What
        has to become of its scores?
        """

        def forward(self, x, context, lengths=None):
            if lengths is not None:
                mask = solution.create_padding_mask(lengths, context.shape[1])
                context = context * mask[:, :, None]
            return super().forward(x, context)

    class cut_to_the_longest(_Open):
        """You cut the context to the longest sequence, but shorter ones still have padding.

        A tensor has straight edges. What hides the places behind the end of a shorter sequence?
        """

        def forward(self, x, context, lengths=None):
            end = context.shape[1] if lengths is None else int(lengths.max())
            return super().forward(x, context[:, :end])

    class scaled_after_the_softmax(_Open):
        """Your forward applies the softmax first and scales afterwards: the rows do not sum to 1.

        The scaling keeps the scores small for the softmax. Which of the two comes first?
        """

        def forward(self, x, context, lengths=None):
            root = math.sqrt(self.Wq.out_features)
            return self.attend(
                x, context, lengths, root=1, weights_of=lambda s: s.softmax(dim=-1) / root
            )

    class output_not_projected(_Open):
        """You return what was gathered, without the output layer.

        One layer is not used yet. Which one?
        """

        def forward(self, x, context, lengths=None):
            queries, keys, values = solution.project_two_sequences(x, context, self.Wq, self.Wkv)
            scores = queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
            if lengths is not None:
                mask = solution.create_padding_mask(lengths, context.shape[1])
                scores = solution.hide_padding(scores, mask)
            return scores.softmax(dim=-1) @ values

    class projected_twice(_Open):
        """Your forward applies Wo twice.

        Its output has the shape of its input, so no error is raised. How many times does your code
        call the layer?
        """

        def forward(self, x, context, lengths=None):
            return self.Wo(self.attend(x, context, lengths))

    class input_added_to_the_output(_Open):
        """Your forward adds its input to the output.

        That is the residual connection of a Transformer block, and it goes around the layer. Which
        step is the last one of attention itself?
        """

        def forward(self, x, context, lengths=None):
            return x + super().forward(x, context, lengths)

    class scores_detached(_Open):
        """In your forward, queries and keys get no gradient, so what makes them is never trained.

        The output is right. Is there a `detach`, a `.data` or a `no_grad` on the way from Wq and
        Wkv to the weights? Or does your forward compute with a copy?
        """

        def forward(self, x, context, lengths=None):
            return self.attend(x, context, lengths, weights_of=lambda s: s.softmax(dim=-1).detach())

    class nothing_trained(_Open):
        """In your forward, no parameter gets a gradient, so nothing can be trained.

        The output is right. Is there a `detach`, a `.data` or a `no_grad` around your steps, or do
        they get copies of the layers?
        """

        def forward(self, x, context, lengths=None):
            return super().forward(x, context, lengths).detach()

    class only_the_last_layer_trained(_Open):
        """In your forward, only Wo gets a gradient: Wq and Wkv are never trained.

        The output is right. What happens to the gathered values before they reach Wo? Or does your
        forward compute with a copy of a layer?
        """

        def forward(self, x, context, lengths=None):
            return self.attend(x, context, lengths, gathered=lambda sums: sums.detach())

    class context_detached(_Open):
        """Your forward cuts the context off from the gradient.

        The layer itself learns, but the encoder that made the context never does. Is there a
        `detach` or a `.data` where the context comes in?
        """

        def forward(self, x, context, lengths=None):
            return super().forward(x, context.detach(), lengths)
