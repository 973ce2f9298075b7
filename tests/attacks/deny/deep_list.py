# rows = [63]
# attack = "returns lists within lists, a hundred thousand deep"
# step = "project_output"
# outcomes = ["raised", "wrong_type", "crashed"]
# ---
def project_output(attention_output, output_weights):
    nest = []
    for _ in range(100_000):
        nest = [nest]
    return nest
