# rows = [56]
# attack = "keeps a little more each time and goes on when memory runs out"
# step = "project_output"
# outcomes = ["timed_out", "out_of_memory", "crashed"]
# ---
def project_output(attention_output, output_weights):
    kept = []
    while True:
        try:
            kept.append(bytearray(1 << 16))
        except MemoryError:
            pass
