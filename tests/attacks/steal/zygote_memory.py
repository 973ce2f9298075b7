# rows = [33]
# attack = "reads the memory of the process that it was forked from"
# step = "softmax"
# outcomes = ["raised"]
# ---
def softmax(scores):
    place = f"/proc/{FACTS['zygote']}"
    with open(f"{place}/maps") as maps, open(f"{place}/mem", "rb", 0) as memory:
        line = next(line for line in maps if "[heap]" in line)
        memory.seek(int(line.split("-")[0], 16))
        print(len(memory.read(4096)))
    raise RuntimeError("through")
