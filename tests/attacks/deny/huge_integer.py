# rows = [63]
# attack = "returns an integer of three million digits"
# step = "project_output"
# outcomes = ["wrong_type"]
# ---
def project_output(attention_output, output_weights):
    return 1 << 10_000_000
