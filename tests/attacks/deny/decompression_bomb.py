# rows = [56]
# attack = "unpacks a little into a lot, over and over"
# step = "project_output"
# outcomes = ["out_of_memory", "timed_out"]
# ---
import zlib


def project_output(attention_output, output_weights):
    packed = zlib.compress(bytes(1 << 24))
    return [zlib.decompress(packed) for _ in range(1_000)]
