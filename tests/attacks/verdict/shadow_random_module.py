# rows = [4]
# attack = "plants a random.py that ends the process, and has it imported"
# step = "softmax"
# outcomes = ["wrong_values", "crashed"]
# others = "any"
# ---
import os
import sys
import tempfile


def softmax(scores):
    return scores * 0.0


folder = tempfile.gettempdir()
with open(os.path.join(folder, "random.py"), "w") as file:
    file.write("import os\nos._exit(0)\n")
sys.path.insert(0, folder)
sys.modules.pop("random", None)
import random
