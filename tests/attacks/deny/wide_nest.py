# rows = [63]
# attack = "returns a small list that is written out as ten million"
# step = "project_output"
# outcomes = ["raised", "wrong_type", "out_of_memory", "protocol", "timed_out"]
# ---
def project_output(attention_output, output_weights):
    nest = [attention_output] * 60
    for _ in range(6):
        nest = [nest] * 60
    return nest
