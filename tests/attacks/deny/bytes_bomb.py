# rows = [56]
# attack = "asks for a terabyte of bytes"
# step = "project_output"
# outcomes = ["out_of_memory"]
# ---
def project_output(attention_output, output_weights):
    return bytes(1 << 40)
