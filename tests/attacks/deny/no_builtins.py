# rows = [65]
# attack = "deletes every builtin function"
# step = "softmax"
# outcomes = ["passed", "raised", "crashed", "protocol"]
# others = "any"
# why_passed = "its own process is all that it changes, and a softmax of NumPy alone calls no builtin; it is right"
# ---
import builtins

for name in list(vars(builtins)):
    if name not in ("name", "__import__", "__build_class__"):
        delattr(builtins, name)
