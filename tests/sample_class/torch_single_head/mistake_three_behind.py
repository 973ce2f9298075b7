# kind: mistake
# base: reference
# hands in: script
# loses: project_qkv
# named: three_behind_the_head
def project_qkv(x, Wqkv):
    B, S, C = x.shape
    return Wqkv(x).view(B, S, C // 4, 3).unbind(-1)
