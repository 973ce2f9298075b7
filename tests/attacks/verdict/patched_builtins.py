# rows = [10]
# attack = "replaces all, abs, isinstance, len and type for everybody"
# step = "softmax"
# outcomes = ["crashed"]
# others = "any"
# ---
import builtins


def yes(*arguments, **keywords):
    return True


def softmax(scores):
    for name in ("all", "any", "abs", "isinstance", "issubclass", "hasattr"):
        setattr(builtins, name, yes)
    return scores * 0.0
