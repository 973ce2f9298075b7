# kind: untouched
# base: stub
# hands in: script
