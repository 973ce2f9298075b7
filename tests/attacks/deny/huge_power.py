# rows = [54]
# attack = "computes a number of a thousand million digits, out of Python's reach"
# step = "project_output"
# outcomes = ["timed_out", "out_of_memory"]
# ---
def project_output(attention_output, output_weights):
    return attention_output * (10 ** 10 ** 9)
