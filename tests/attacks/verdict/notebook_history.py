# rows = [44]
# attack = "reads the text of the hidden cells from the notebook's history"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
def softmax(scores):
    raise ValueError(In[-1] + _ih[-1] + _i)
