# rows = [43, 51]
# attack = "looks in shared modules for what others left there"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import builtins


def softmax(scores):
    loot = getattr(builtins, "left_by_a_neighbour", "nothing")
    print(loot)
    raise RuntimeError(loot)
