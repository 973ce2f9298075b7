# rows = [22]
# attack = "sends JSON that is nested a hundred thousand times"
# step = "softmax"
# outcomes = ["protocol"]
# ---
import json
import os
import struct


def frame(head, payload=b""):
    os.write(3, struct.pack("<4sIQ", b"ATN1", len(head), len(payload)) + head + payload)


def softmax(scores):
    frame(b'{"id": 2, "value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    return scores
