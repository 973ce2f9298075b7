# kind: correct
# base: reference
# hands in: notebook
