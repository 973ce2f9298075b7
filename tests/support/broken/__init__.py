"""Broken submissions, built from the released notebook: broken, not hostile.

`cases` holds the builders; `case` says what a builder is and what has to be declared about it.
"""
