"""Whether the text of a step may call another step."""

import ast

import pytest

from autograder.submission.salvage import may_call, names_reached
from autograder.submission.syntax_tree import MOST_NODES, names_of_statements

PLAIN = "import numpy as np\ndef softmax(x):\n    return np.exp(x)\n"

STEP = "def weights(x):\n"
CALLS = {
    "by its name": STEP + "    return softmax(x)",
    "through a function beside it": "def share(x):\n    return softmax(x)\n"
    + STEP
    + "    share(x)",
    "by another name": "share = softmax\n" + STEP + "    return share(x)",
    "out of a table": "table = {}\ntable['s'] = softmax\n" + STEP + "    return table['s'](x)",
    "out of an updated table": "t = {}\nt.update(s=softmax)\n" + STEP + "    return t['s'](x)",
    "as an attribute of a module": "np.share = softmax\n" + STEP + "    return np.share(x)",
    "as an attribute of a module with two names": (
        "library = np\nlibrary.share = softmax\n" + STEP + "    return np.share(x)"
    ),
    "as an attribute of an object that is given": (
        "def put(thing):\n    thing.share = softmax\nput(np)\n" + STEP + "    return np.share(x)"
    ),
    "as an attribute of its name in a class": (
        "class weights:\n    softmax = staticmethod(softmax)\n"
        "    def forward(self, x):\n        return self.softmax(x)"
    ),
    "as a default": "def weights(x, share=softmax):\n    return share(x)",
    "as a decorator": "@softmax\n" + STEP + "    return x",
    "by what it looks up": STEP + "    return globals()['soft' + 'max'](x)",
    "from a text that is run": "exec('def weights(x): return softmax(x)')",
    "put there by what looks it up": STEP
    + "    return x\nglobals()['weights'] = lambda x: softmax(x)",
    "out of an object without a name": STEP
    + "    return x\nvars()['weights'] = lambda x: softmax(x)",
    "out of a list of the decorated": (
        "known = {}\ndef listed(f):\n    known['s'] = f\n    return f\n"
        "@listed\ndef share(x):\n    return softmax(x)\n" + STEP + "    return known['s'](x)"
    ),
    "out of an object's list of the decorated": (
        "class Known:\n    def add(self, f):\n        self.f = f\n        return f\n"
        "known = Known()\n"
        "@known.add\ndef share(x):\n    return softmax(x)\n" + STEP + "    return known.f(x)"
    ),
    "out of what a call was given": (
        "def put(table):\n    table.append(lambda x: softmax(x))\nt = []\nput(t)\n"
        + STEP
        + "    return t[0](x)"
    ),
    "out of what a function fills": (
        "t = []\ndef fill():\n    t.append(lambda x: softmax(x))\nfill()\n"
        + STEP
        + "    return t[0](x)"
    ),
    "set by name": "setattr(np, 'share', softmax)\n" + STEP + "    return np.share(x)",
    "through a global name": (
        "def prepare():\n    global share\n    share = softmax\nprepare()\n" + STEP + "    share(x)"
    ),
    "in a method": "class weights:\n    def forward(self, x):\n        return softmax(x)",
    "out of what a call was given by name": (
        "def put(table):\n    table.append(softmax)\nt = []\nput(table=t)\n"
    )
    + STEP
    + "    return t[0](x)",
    "out of what a call was given within a list": "t = {}\n_ = dict.update(*[t], s=softmax)\n"
    + STEP
    + "    return t['s'](x)",
    "out of a table filled under a condition": "t = []\nif True:\n    t.append(softmax)\n"
    + STEP
    + "    return t[0](x)",
    "under another name in a condition": "if True:\n    share = softmax\n" + STEP + "    share(x)",
    "imported from where it stands": STEP
    + "    from submission import softmax as share\n    return share(x)",
    "imported from a module that is not known": "from helpers import share\n"
    + STEP
    + "    return share(x)",
    "imported with all that is there": "from helpers import *\n" + STEP + "    return share(x)",
    "out of a list of subclasses": (
        "class Known:\n    found = []\n    def __init_subclass__(cls):\n"
        "        Known.found.append(cls)\n"
        "class Share(Known):\n    run = staticmethod(softmax)\n"
        + STEP
        + "    return Known.found[0].run(x)"
    ),
    "as an attribute of a function": (
        "def share(x):\n    return x\nshare.other = softmax\n" + STEP + "    return share.other(x)"
    ),
    "through the frame that calls it": STEP
    + "    import sys\n    return sys._getframe().f_globals['soft' + 'max'](x)",
    "through what every function knows": STEP + "    return weights.__globals__['soft' + 'max'](x)",
    "through what every object knows": STEP
    + "    return object.__getattribute__(weights, '__glob' + 'als__')['softmax'](x)",
    "by the name of a method": "from operator import methodcaller\nimport submission\n"
    + STEP
    + "    return methodcaller('soft' + 'max', x)(submission)",
    "as a lambda that calls it": "weights = lambda x: softmax(x)",
    "in a class around it": "class Base:\n    def run(self, x):\n        return softmax(x)\n"
    "class weights(Base):\n    def forward(self, x):\n        return self.run(x)",
    "as a builtin that it took the name of": "sum = softmax\n" + STEP + "    return sum(x)",
    "beside a method with its name": "class Other:\n    def softmax(self): return 1\n"
    + STEP
    + "    return softmax(x)",
    "beside a variable with its name": "def other(x):\n    softmax = 1\n    return softmax\n"
    + STEP
    + "    return softmax(x)",
    "beside an inner one with its name": STEP
    + "    def inner():\n        softmax = 1\n        return softmax\n"
    + "    return softmax(x) + inner()",
    "in text that is not Python": "def weights(x)\n    return x",
    "in a function inside": STEP
    + "    def inner():\n        return softmax(x)\n    return inner()",
}
CALLS_NOT = {
    "alone": STEP + "    return x / x.sum()",
    "beside a demonstration": "x = np.ones(3)\nprint(np.max(softmax(x)))\n"
    + STEP
    + "    np.exp(x)",
    "with a decorator from a library": "import torch\n@torch.no_grad()\n" + STEP + "    return x",
    "beside a call with arrays": "scores = np.ones(3)\nshares = softmax(scores)\n"
    + "print(shares)\n"
    + STEP
    + "    return x / x.sum()",
    "with a variable of that name": "def weights(softmax):\n    return softmax + 1",
    "with its name in a comment": STEP + "    # softmax comes later\n    return x",
    "with its name in a docstring": STEP + '    """After softmax."""\n    return x',
    "with a constant": "EPS = -1e-9\n" + STEP + "    return x / (x.sum() + EPS)",
    "with a function that does not either": "def total(x):\n    return x.sum()\n"
    + STEP
    + "    return x / total(x)",
    "as a lambda": "weights = lambda x: x / np.sum(x)",
    "in a class": "import torch\nfrom torch import nn\nclass weights(nn.Module):\n"
    "    def __init__(self, d):\n        super().__init__()\n        self.w = nn.Linear(d, d)\n"
    "    def forward(self, x):\n        return self.w(x)",
    "with an inner function of that name": STEP
    + "    def softmax(row):\n        return row\n    return softmax(x)",
    "beside one who calls it": "def other(x):\n    return softmax(x)\n" + STEP + "    return x",
}


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_a_step_that_may_call_another_is_found(text: str) -> None:
    assert may_call([PLAIN, text], "weights", {"softmax"})
    assert may_call([PLAIN + text], "weights", {"softmax"})


@pytest.mark.parametrize("text", CALLS_NOT.values(), ids=CALLS_NOT)
def test_a_step_that_does_not_call_another_is_told_apart(text: str) -> None:
    assert not may_call([PLAIN, text], "weights", {"softmax"})


def test_a_step_that_is_not_there_may_call_anything() -> None:
    assert may_call([PLAIN], "weights", {"softmax"})


def test_a_very_long_text_may_call_anything() -> None:
    assert may_call(["x = 1\n" * 600, "def weights(x):\n    return x"], "weights", {"softmax"})


def test_a_very_large_statement_may_call_anything() -> None:
    table = f"table = [{'x, ' * MOST_NODES}]\n"
    assert may_call([PLAIN + table, STEP + "    return x"], "weights", {"softmax"})


def test_a_tree_is_read_once_and_never_made_again_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def weights(x):\n    return helper(x)\n# nested as deep as can be\n"
    tree = ast.parse(text)
    monkeypatch.setattr(ast, "parse", lambda *_: None)
    (told,) = names_of_statements(tree)
    assert "helper" in told.mentioned
    assert names_of_statements(tree)[0] is told


def test_the_names_that_a_step_leads_to_are_read_through_the_functions_that_it_names() -> None:
    cells = (
        "import numpy as np\n\ndef softmax(s):\n    return np.exp(s)\n",
        "def weights(s):\n    return softmax(s)\n\ndef other(s):\n    return mask(s)\n",
        "class Layer:\n    def forward(self, x):\n        return weights(scale(x))\n",
        "def broken(:\n",
    )
    reached = names_reached(cells, "Layer")
    assert {"weights", "softmax", "scale"} <= reached and reached.isdisjoint({"other", "mask"})
    assert names_reached(cells, "not_there") == {"not_there"}
