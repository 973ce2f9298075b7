# rows = [12]
# attack = "answers every import with a module of its own, by a finder in sys.meta_path"
# step = "softmax"
# outcomes = ["wrong_values"]
# ---
import importlib.machinery
import sys
import types


class Finder:
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.softmax = lambda scores: scores * 0.0
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())


def softmax(scores):
    return scores * 0.0
