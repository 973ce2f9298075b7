# rows = [21]
# attack = "sends answers to questions that were not asked yet"
# step = "softmax"
# outcomes = ["wrong_type", "protocol"]
# others = "any"
# ---
import json
import os
import struct


def frame(head, payload=b""):
    os.write(3, struct.pack("<4sIQ", b"ATN1", len(head), len(payload)) + head + payload)


plain = {"kind": "plain", "value": 1}
frame(json.dumps({"id": 1, "failures": [None, None, None]}).encode())
for number in range(2, 60):
    frame(json.dumps({"id": number, "value": plain, "after": [plain], "attributes": {}}).encode())


def softmax(scores):
    return scores * 0.0
