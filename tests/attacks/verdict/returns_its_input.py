# rows = [25]
# attack = "returns what it was given"
# step = "softmax"
# outcomes = ["wrong_values"]
# ---
def softmax(scores):
    return scores
