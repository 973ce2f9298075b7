"""What people see after grading: a table, grades, verdict files, feedback pages.

Everything here reads verdicts and writes words; nothing here decides a score.
"""
