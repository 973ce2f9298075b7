# rows = [26]
# attack = "prints commands that a continuous-integration service obeys"
# step = "softmax"
# outcomes = ["raised"]
# ---
COMMANDS = "\n::add-mask::a\n::set-output name=score::100\n::error file=a.py::owned\n##[command]x\n"


def softmax(scores):
    print(COMMANDS, flush=True)
    raise ValueError(COMMANDS)
