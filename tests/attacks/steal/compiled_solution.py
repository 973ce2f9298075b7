# rows = [30]
# attack = "reads the constants of compiled files that Python left behind"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import marshal
from pathlib import Path


def softmax(scores):
    found = sorted(Path(FACTS["solutions"]).rglob("*.pyc"))
    loot = [marshal.loads(path.read_bytes()[16:]).co_consts for path in found]
    print(loot)
    raise RuntimeError(str(loot)[-400:])
