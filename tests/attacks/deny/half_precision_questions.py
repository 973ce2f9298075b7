# rows = [82]
# attack = "asks the reference for hundreds of products in half precision, which are slow to compute"
# step = "apply_attention"
# outcomes = ["timed_out", "wrong_values"]
# ---
import numpy as np

HALF = np.full((1, 256, 64), 0.5, np.float16)


def apply_attention(attention_weights, values):
    for _ in range(400):
        compute_attention_scores(HALF, HALF)
    return values * 0.0
