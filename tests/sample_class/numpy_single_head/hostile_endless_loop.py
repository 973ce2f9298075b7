# kind: hostile
# base: reference
# hands in: notebook
# loses: softmax
# outcome: timed_out
def softmax(scores):
    while True:
        scores = scores + 0
