# rows = [29]
# attack = "opens a file whose path it knows"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
def softmax(scores):
    with open(FACTS["secret_file"]) as file:
        loot = file.read()
    print(loot)
    raise RuntimeError(loot)
