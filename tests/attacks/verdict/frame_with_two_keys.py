# rows = [22]
# attack = "sends JSON in which a key appears twice, and NaN"
# step = "softmax"
# outcomes = ["protocol"]
# ---
import json
import os
import struct


def frame(head, payload=b""):
    os.write(3, struct.pack("<4sIQ", b"ATN1", len(head), len(payload)) + head + payload)


def softmax(scores):
    frame(b'{"id": 2, "id": 2, "value": {"kind": "plain", "value": NaN}, "after": [], "attributes": {}}')
    return scores
