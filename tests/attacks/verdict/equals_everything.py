# rows = [7]
# attack = "returns an object that is equal to everything"
# step = "softmax"
# outcomes = ["wrong_type"]
# ---
class Yes:
    def __eq__(self, other):
        return True

    def __bool__(self):
        return True

    def __getattr__(self, name):
        return Yes()

    def __call__(self, *arguments, **keywords):
        return Yes()

    def __array__(self, *arguments, **keywords):
        raise TypeError("compare me, do not convert me")


def softmax(scores):
    return Yes()
