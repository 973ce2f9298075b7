# kind: broken
# base: reference
# hands in: script
# loses: project_qkv
def project_qkv(x, query_weights, key_weights, value_weights):
    queries = x @ query_weights
    keys = (x @ key_weights
    values = x @ value_weights
    return queries, keys, values
