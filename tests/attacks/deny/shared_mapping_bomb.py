# rows = [56]
# attack = "maps 64 GB to be shared"
# step = "project_output"
# outcomes = ["raised", "out_of_memory"]
# ---
import mmap


def project_output(attention_output, output_weights):
    mapping = mmap.mmap(-1, 1 << 36)
    mapping[:] = b"x" * len(mapping)
