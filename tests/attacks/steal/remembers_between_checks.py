# rows = [51]
# attack = "keeps what it is asked in one check and tells it in the next"
# step = "softmax"
# outcomes = ["raised", "wrong_values"]
# ---
KEPT = []


def softmax(scores):
    KEPT.append(scores.shape)
    if len(KEPT) > 1:
        print(KEPT)
        raise RuntimeError("through")
    return scores
