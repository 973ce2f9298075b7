# rows = [52]
# attack = "never ends, while the cells are loaded"
# step = "softmax"
# outcomes = ["passed", "timed_out"]
# others = "any"
# why_passed = "what stands outside the functions is left out with a remark; they are right"
# ---
while True:
    pass
