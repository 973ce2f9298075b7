# rows = [38]
# attack = "connects to a socket by its path"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import socket


def softmax(scores):
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(FACTS["path_socket"])
        loot = wire.recv(200)
    print(loot)
    raise RuntimeError(loot)
