# rows = [56]
# attack = "lets a list grow without end"
# step = "project_output"
# outcomes = ["out_of_memory"]
# ---
def project_output(attention_output, output_weights):
    kept = []
    while True:
        kept.append([None] * 1_000_000)
