# rows = [38]
# attack = "makes a socket of the kind that virtual machines talk to their host with"
# step = "softmax"
# outcomes = ["raised"]
# ---
import socket


def softmax(scores):
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as wire:
        wire.bind((socket.VMADDR_CID_ANY, socket.VMADDR_PORT_ANY))
        print(wire.getsockname())
    raise RuntimeError("through")
