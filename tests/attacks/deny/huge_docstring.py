# rows = [62]
# attack = "has a docstring of twenty million characters"
# step = "project_output"
# outcomes = ["passed"]
# why_passed = "a long docstring never leaves the worker; the answer is right"
# ---
right_output = project_output
exec(f'def project_output(attention_output, output_weights):\n    "{"d" * 20_000_000}"\n'
     "    return right_output(attention_output, output_weights)")
