"""The learner's day in a terminal: a workspace, checks, hints, pictures, and a watch on saves.

The learner's own code runs in a process of its own with a time limit (`child.py`), on any
system and without the sandbox. What talks to the learner imports neither NumPy nor
PyTorch, so that an answer is there as soon as the child has one.
"""
