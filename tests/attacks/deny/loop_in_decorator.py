# rows = [52]
# attack = "never ends, while a step is defined"
# step = "softmax"
# outcomes = ["timed_out"]
# others = "any"
# ---
def endless(function):
    while True:
        pass


@endless
def softmax(scores):
    return scores
