"""Prints what `attn check --json` would: runs in Pyodide, for `test_same_answers.py`.

answers.py ROOT QUESTIONS, a JSON file with a list of [folder of an exercise, names of steps]
"""

import json
import sys
from pathlib import Path

root, questions = sys.argv[1:]
sys.path.insert(0, root)

from autograder.learning.checking import check_work  # noqa: E402
from autograder.learning.job import SameProcess  # noqa: E402
from autograder.values.exercise import read_exercise  # noqa: E402

for folder, names in json.loads(Path(questions).read_text(encoding="utf-8")):
    exercise = read_exercise(Path(folder))
    steps = tuple(map(exercise.step, names)) or exercise.steps
    document = check_work(exercise, steps, child=SameProcess(exercise)).document()
    print(json.dumps(document), flush=True)
needless = {"click", "multiprocessing", "pytest", "rich", "watchfiles"} & {*sys.modules}
print(json.dumps(sorted(needless)))
