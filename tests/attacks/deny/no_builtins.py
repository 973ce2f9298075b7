# rows = [65]
# attack = "deletes every builtin function"
# step = "softmax"
# outcomes = ["raised", "crashed", "protocol"]
# others = "any"
# ---
import builtins

for name in list(vars(builtins)):
    if name not in ("name", "__import__", "__build_class__"):
        delattr(builtins, name)
