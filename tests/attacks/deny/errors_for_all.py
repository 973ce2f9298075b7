# rows = [65]
# attack = "makes an error of every rounding to zero and every warning"
# step = "project_output"
# outcomes = ["passed"]
# why_passed = "its own process is all that it changes; the answer is right"
# others = "any"
# ---
import warnings

import numpy as np

np.seterr(all="raise")
np.set_printoptions(threshold=1, precision=0)
warnings.simplefilter("error")
