# rows = [55]
# attack = "answers by itself, one byte at a time, so that something always comes"
# step = "project_output"
# outcomes = ["timed_out"]
# ---
import os
import struct
import time


def project_output(attention_output, output_weights):
    head = b'{"id": 1, "value": {"kind": "plain", "value": "' + b"x" * 200_000 + b'"}}'
    for byte in struct.pack("<4sIQ", b"ATN1", len(head), 0) + head:
        os.write(3, bytes([byte]))
        time.sleep(0.01)
