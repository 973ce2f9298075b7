# rows = [27, 70]
# attack = "markup in the names of local arrays, which a message may list"
# step = "softmax"
# outcomes = ["raised"]
# ---
def softmax(scores):
    locals_of = "<script>alert(1)</script>"
    space = {"scores": scores}
    exec(compile(f"def f({chr(0x1d4b6)}): raise ValueError('<img src=x onerror=alert(1)>')", "cell 3", "exec"), space)
    return space["f"](scores)
