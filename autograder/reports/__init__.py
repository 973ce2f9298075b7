"""What people see after grading: a table, grades, verdict files, feedback pages.

Everything here turns verdicts into words; nothing here decides a score.
"""
