# rows = [27, 70]
# attack = "characters in a message that XML and terminals cannot take"
# step = "softmax"
# outcomes = ["raised"]
# ---
def softmax(scores):
    raise ValueError("\x00\x0b\x1b]0;owned\x07\ud800\ufffe\u202e]]><script>alert(1)</script>")
