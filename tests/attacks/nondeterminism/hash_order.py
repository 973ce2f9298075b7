# rows = [76]
# attack = "orders its sums by the hashes of names"
# step = "softmax"
# outcomes = ["raised"]
# ---
def softmax(scores):
    names = {f"row {number}" for number in range(50)}
    raise ValueError(f"{list(names)[:5]} {hash('row')}")
