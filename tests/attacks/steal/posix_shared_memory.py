# rows = [39]
# attack = "reads shared memory by its name in /dev/shm"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
def softmax(scores):
    with open(FACTS["shm"]) as file:
        loot = file.read()
    print(loot)
    raise RuntimeError(loot)
