"""Cases of dlrmc/passes/peepholes/linear.py."""

from __future__ import annotations

from tests.passes.rule_case import RuleCase

_X_W = """input %x : f32[5,3]
          weight %w : f32[4,3] = "w"
"""
_X_W_B = (
    _X_W
    + """          weight %b : f32[4] = "b"
"""
)
_STORED = """input %x : f32[5,3]
             weight %w : f32[3,4] = "w"
"""

CASES = (
    RuleCase(
        "mm-of-transposed-to-linear",
        _X_W
        + """%t = permute(%w) {perm=[1,0]} : f32[3,4]
             %y = mm(%x, %t) : f32[5,4]
             return %y""",
        _X_W
        + """%y = linear(%x, %w) : f32[5,4]
             return %y""",
        _STORED
        + """%t = view(%w) {shape=[3,4]} : f32[3,4]
             %y = mm(%x, %t) : f32[5,4]
             return %y""",
    ),
    RuleCase(
        "mm-of-weight-to-linear",
        _STORED
        + """%y = mm(%x, %w) : f32[5,4]
             return %y""",
        _STORED
        + """%permute = permute(%w) {perm=[1,0]} : f32[4,3]
             %y = linear(%x, %permute) : f32[5,4]
             return %y""",
        """input %x : f32[5,3]
           input %w : f32[3,4]
           %y = mm(%x, %w) : f32[5,4]
           return %y""",
    ),
    RuleCase(
        "addmm-of-transposed-to-linear",
        _X_W_B
        + """%t = permute(%w) {perm=[1,0]} : f32[3,4]
             %y = addmm(%b, %x, %t) {alpha=2.0, beta=0.5} : f32[5,4]
             return %y""",
        _X_W_B
        + """%y = linear(%x, %w, %b) {alpha=2.0, beta=0.5} : f32[5,4]
             return %y""",
        """input %x : f32[5,3]
           weight %w : f32[4,3] = "w"
           weight %b : f32[5,4] = "b"
           %t = permute(%w) {perm=[1,0]} : f32[3,4]
           %y = addmm(%b, %x, %t) : f32[5,4]
           return %y""",
    ),
    RuleCase(
        "addmm-to-linear",
        _STORED
        + """weight %b : f32[4] = "b"
             %y = addmm(%b, %x, %w) : f32[5,4]
             return %y""",
        _STORED
        + """weight %b : f32[4] = "b"
             %permute = permute(%w) {perm=[1,0]} : f32[4,3]
             %y = linear(%x, %permute, %b) : f32[5,4]
             return %y""",
        _STORED
        + """weight %b : f32[1] = "b"
             %y = addmm(%b, %x, %w) : f32[5,4]
             return %y""",
    ),
    RuleCase(
        "addmm-of-matrix-to-linear-and-add",
        _STORED
        + """input %b : f32[5,1]
             %y = addmm(%b, %x, %w) {alpha=2.0, beta=0.5} : f32[5,4]
             %z = addmm(%b, %x, %w) {beta=0.0} : f32[5,4]
             return %y, %z""",
        """input %x : f32[5,3]
           input %b : f32[5,1]
           weight %w : f32[3,4] = "w"
           %permute = permute(%w) {perm=[1,0]} : f32[4,3]
           %linear = linear(%x, %permute) {alpha=2.0} : f32[5,4]
           const %y_value : f32[] = 0.5
           %mul = mul(%b, %y_value) : f32[5,1]
           %y = add(%linear, %mul) : f32[5,4]
           %permute_1 = permute(%w) {perm=[1,0]} : f32[4,3]
           %z = linear(%x, %permute_1) : f32[5,4]
           return %y, %z""",
        _STORED
        + """input %b : f32[5,1]
             %y = mm(%x, %w) : f32[5,4]
             %z = add(%b, %y) : f32[5,4]
             return %z""",
        fired=2,
    ),
    RuleCase(
        "bmm-of-one-weight-to-linear",
        """input %x : f32[1,5,3]
           weight %w : f32[1,3,4] = "w"
           %y = bmm(%x, %w) : f32[1,5,4]
           return %y""",
        """input %x : f32[1,5,3]
           weight %w : f32[1,3,4] = "w"
           %view = view(%x) {shape=[5,3]} : f32[5,3]
           %view_1 = view(%w) {shape=[3,4]} : f32[3,4]
           %permute = permute(%view_1) {perm=[1,0]} : f32[4,3]
           %linear = linear(%view, %permute) : f32[5,4]
           %y = view(%linear) {shape=[1,5,4]} : f32[1,5,4]
           return %y""",
        """input %x : f32[2,5,3]
           weight %w : f32[2,3,4] = "w"
           %y = bmm(%x, %w) : f32[2,5,4]
           return %y""",
    ),
    RuleCase(
        "bmm-of-repeated-weight-to-linear",
        """input %x : f32[2,5,3]
           weight %w : f32[4,3] = "w"
           %e = expand(%w) {shape=[2,4,3]} : f32[2,4,3]
           %y = bmm(%x, %e) {trans_b=true} : f32[2,5,4]
           return %y""",
        """input %x : f32[2,5,3]
           weight %w : f32[4,3] = "w"
           %y = linear(%x, %w) : f32[2,5,4]
           return %y""",
        """input %x : f32[2,5,3]
           weight %w : f32[1,3] = "w"
           %e = expand(%w) {shape=[2,4,3]} : f32[2,4,3]
           %y = bmm(%x, %e) {trans_b=true} : f32[2,5,4]
           return %y""",
    ),
    RuleCase(
        "bmm-of-viewed-repeated-weight-to-linear",
        """input %x : f32[6,5,3]
           weight %w : f32[1,1,3,4] = "w"
           %e = expand(%w) {shape=[2,3,3,4]} : f32[2,3,3,4]
           %v = view(%e) {shape=[6,3,4]} : f32[6,3,4]
           %y = bmm(%x, %v) : f32[6,5,4]
           return %y""",
        """input %x : f32[6,5,3]
           weight %w : f32[1,1,3,4] = "w"
           %view = view(%w) {shape=[3,4]} : f32[3,4]
           %permute = permute(%view) {perm=[1,0]} : f32[4,3]
           %y = linear(%x, %permute) : f32[6,5,4]
           return %y""",
        """input %x : f32[6,5,3]
           input %w : f32[1,1,3,4]
           %e = expand(%w) {shape=[2,3,3,4]} : f32[2,3,3,4]
           %v = view(%e) {shape=[6,3,4]} : f32[6,3,4]
           %y = bmm(%x, %v) : f32[6,5,4]
           return %y""",
    ),
    RuleCase(
        "add-to-linear-bias",
        """input %x : f32[1,3]
           weight %w : f32[4,3] = "w"
           weight %b : f32[1,4] = "b"
           %y = linear(%x, %w) : f32[1,4]
           %z = add(%y, %b) : f32[1,4]
           return %z""",
        """input %x : f32[1,3]
           weight %w : f32[4,3] = "w"
           weight %b : f32[1,4] = "b"
           %view = view(%b) {shape=[4]} : f32[4]
           %z = linear(%x, %w, %view) : f32[1,4]
           return %z""",
        """input %x : f32[1,3]
           input %b : f32[1,4]
           weight %w : f32[4,3] = "w"
           %y = linear(%x, %w) : f32[1,4]
           %z = add(%y, %b) : f32[1,4]
           return %z""",
    ),
    RuleCase(
        "add-to-linear-bias",
        """input %x : f32[2,5,3]
           weight %w : f32[4,3] = "w"
           weight %b : f32[1,4] = "b"
           %y = linear(%x, %w) {alpha=2.0} : f32[2,5,4]
           %z = add(%b, %y) : f32[2,5,4]
           return %z""",
        """input %x : f32[2,5,3]
           weight %w : f32[4,3] = "w"
           weight %b : f32[1,4] = "b"
           %view = view(%b) {shape=[4]} : f32[4]
           %z = linear(%x, %w, %view) {alpha=2.0} : f32[2,5,4]
           return %z""",
        """input %x : f32[2,5,3]
           weight %w : f32[4,3] = "w"
           weight %b : f32[5,4] = "b"
           %y = linear(%x, %w) : f32[2,5,4]
           %z = add(%b, %y) : f32[2,5,4]
           return %z""",
    ),
    RuleCase(
        "add-to-bias-of-linear",
        _X_W_B
        + """weight %c : f32[4] = "c"
             %y = linear(%x, %w, %b) : f32[5,4]
             %z = add(%y, %c) : f32[5,4]
             return %z""",
        _X_W_B
        + """weight %c : f32[4] = "c"
             %add = add(%b, %c) : f32[4]
             %z = linear(%x, %w, %add) : f32[5,4]
             return %z""",
        # The activation stands between.
        _X_W_B
        + """weight %c : f32[4] = "c"
             %y = linear(%x, %w, %b) {act=relu} : f32[5,4]
             %z = add(%y, %c) : f32[5,4]
             return %z""",
    ),
    RuleCase(
        "scale-into-linear",
        _X_W_B
        + """weight %s : f32[1,4] = "s"
             %y = linear(%x, %w, %b) : f32[5,4]
             %z = mul(%y, %s) : f32[5,4]
             return %z""",
        _X_W_B
        + """weight %s : f32[1,4] = "s"
             %view = view(%s) {shape=[4]} : f32[4]
             %view_1 = view(%view) {shape=[4,1]} : f32[4,1]
             %mul = mul(%w, %view_1) : f32[4,3]
             %mul_1 = mul(%b, %view) : f32[4]
             %z = linear(%x, %mul, %mul_1) : f32[5,4]
             return %z""",
        # The scale comes with the request.
        """input %x : f32[5,3]
           input %s : f32[4]
           weight %w : f32[4,3] = "w"
           %y = linear(%x, %w) : f32[5,4]
           %z = mul(%y, %s) : f32[5,4]
           return %z""",
    ),
    RuleCase(
        "linear-between-views",
        """input %x : f32[2,5,3]
           weight %w : f32[4,3] = "w"
           %v = view(%x) {shape=[10,3]} : f32[10,3]
           %y = linear(%v, %w) {act=relu} : f32[10,4]
           %z = view(%y) {shape=[2,5,4]} : f32[2,5,4]
           return %z""",
        """input %x : f32[2,5,3]
           weight %w : f32[4,3] = "w"
           %z = linear(%x, %w) {act=relu} : f32[2,5,4]
           return %z""",
        """input %x : f32[2,5,3]
           weight %w : f32[4,3] = "w"
           %v = view(%x) {shape=[10,3]} : f32[10,3]
           %y = linear(%v, %w) {act=relu} : f32[10,4]
           %z = view(%y) {shape=[5,2,4]} : f32[5,2,4]
           return %z""",
    ),
    RuleCase(
        "linear-of-cat-to-parts",
        """input %x : f32[5,1]
           input %y : f32[5,2]
           weight %w : f32[4,3] = "w"
           %c = cat(%x, %y) {dim=1} : f32[5,3]
           %z = linear(%c, %w) {act=relu} : f32[5,4]
           %u = linear(%c, %w) : f32[5,4]
           return %z, %u""",
        """input %x : f32[5,1]
           input %y : f32[5,2]
           weight %w : f32[4,3] = "w"
           %z = linear([%x, %y], %w) {act=relu} : f32[5,4]
           %u = linear([%x, %y], %w) : f32[5,4]
           return %z, %u""",
        # Something else needs the cat.
        """input %x : f32[5,1]
           input %y : f32[5,2]
           weight %w : f32[4,3] = "w"
           %c = cat(%x, %y) {dim=1} : f32[5,3]
           %z = linear(%c, %w) {act=relu} : f32[5,4]
           return %z, %c""",
        fired=2,
    ),
)
