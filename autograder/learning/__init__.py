"""The learner's commands and notebook: workspace, checks, hints, pictures, watching for saves.

The learner's own code runs in a separate process with a time limit (`process.py`), on any
system and without the sandbox. The process that talks to the learner imports neither NumPy nor
PyTorch, so it shows an answer as soon as the child has one.
"""
