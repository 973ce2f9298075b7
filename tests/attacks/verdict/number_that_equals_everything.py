# rows = [7]
# attack = "returns a float and an int of classes that equal everything"
# step = "softmax"
# outcomes = ["wrong_type"]
# ---
class Number(float):
    def __eq__(self, other):
        return True

    def hex(self):
        return "0x1p0"


class Whole(int):
    def __eq__(self, other):
        return True


def softmax(scores):
    return Number(1.0), Whole(1)
