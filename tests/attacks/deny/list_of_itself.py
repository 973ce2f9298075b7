# rows = [63]
# attack = "returns a list that holds itself"
# step = "project_output"
# outcomes = ["raised", "wrong_type"]
# ---
def project_output(attention_output, output_weights):
    nest = [attention_output]
    nest.append(nest)
    return nest
