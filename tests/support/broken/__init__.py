"""Broken submissions, built from the released notebook: broken, not hostile.

Each module holds builders of one kind; `broken.case` says what a builder is and what has
to be declared about it.
"""
