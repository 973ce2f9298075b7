# rows = [52]
# attack = "never ends, when an object is thrown away"
# step = "apply_mask"
# outcomes = ["timed_out"]
# ---
right_mask = apply_mask


class Clinging:
    def __del__(self):
        while True:
            pass


def apply_mask(scaled_scores, causal_mask):
    clinging = Clinging()
    return right_mask(scaled_scores, causal_mask)
