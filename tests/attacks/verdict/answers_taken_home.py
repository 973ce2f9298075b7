# rows = [80]
# attack = "keeps what one step is asked, and asks the reference the same from a later step"
# step = "scale_scores"
# outcomes = ["wrong_values"]
# ---
KEPT = []
OWN = softmax


def softmax(scores):
    KEPT.append(scores.copy())
    return OWN(scores)


def scale_scores(attention_scores, embedding_dimension):
    if softmax.__name__ == "answered_by_host" and KEPT:
        answers = [softmax(scores) for scores in KEPT]
        raise RuntimeError(f"through: {[float(answer.max()) for answer in answers]}")
    return attention_scores * 0.0
