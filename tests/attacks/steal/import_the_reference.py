# rows = [29, 31]
# attack = "imports the solution and has its source shown"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import importlib.util
import inspect
from pathlib import Path


def softmax(scores):
    path = Path(FACTS["solutions"], "numpy_single_head", "solution.py")
    spec = importlib.util.spec_from_file_location("reference", path)
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    loot = inspect.getsource(reference)[-200:]
    print(loot)
    raise RuntimeError(loot)
