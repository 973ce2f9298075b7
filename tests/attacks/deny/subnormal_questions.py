# rows = [82]
# attack = "asks the reference about numbers that are so small that every product is slow"
# step = "apply_attention"
# outcomes = ["timed_out", "wrong_values"]
# ---
import numpy as np

TINY = np.full((1, 256, 64), 3e-160)
WHOLE = np.full((1, 256, 64), 1 << 40)


def apply_attention(attention_weights, values):
    for _ in range(5000):
        compute_attention_scores(TINY, TINY)
        compute_attention_scores(WHOLE, WHOLE)
    return values * 0.0
