# rows = [10, 12]
# attack = "replaces __import__, so that every later import gives its own module"
# step = "softmax"
# outcomes = ["wrong_values"]
# others = "any"
# ---
import builtins
import types


def give(name, *arguments, **keywords):
    module = types.ModuleType(name)
    module.__getattr__ = lambda attribute: lambda *arguments, **keywords: True
    return module


builtins.__import__ = give


def softmax(scores):
    return scores * 0.0
