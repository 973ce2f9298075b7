# rows = [38]
# attack = "asks the kernel for the network interfaces of the machine"
# step = "softmax"
# outcomes = ["raised"]
# ---
import socket
import struct

GETLINK, REQUEST_DUMP = 18, 0x301


def softmax(scores):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as wire:
        wire.settimeout(2)
        body = struct.pack("<BxHiII", 0, 0, 0, 0, 0)
        wire.sendto(struct.pack("<IHHII", 32, GETLINK, REQUEST_DUMP, 1, 0) + body, (0, 0))
        print(b"lo" in wire.recv(65536))
    raise RuntimeError("through")
