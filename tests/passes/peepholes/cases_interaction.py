"""Cases of dlrmc/passes/peepholes/interaction.py."""

from __future__ import annotations

from tests.passes.rule_case import RuleCase

_FEATURES = """input %t : f32[2,4,5]
"""
_COLUMNS = """input %t : f32[2,5,4]
"""
_LOWER = """const %i : i64[6] = [1,2,2,-1,3,3]
            const %j : i64[6] = [0,0,1,0,1,2]
"""
_SHUFFLED = """const %i : i64[6] = [2,1,2,3,3,3]
               const %j : i64[6] = [0,0,1,0,1,2]
"""
_GRAM = """%z = bmm(%t, %t) {trans_b=true} : f32[2,4,4]
"""
_COLUMN_GRAM = """%z = bmm(%t, %t) {trans_a=true} : f32[2,4,4]
"""
_READ = """%p = index(%z, _, %i, %j) : f32[2,6]
           return %p"""


CASES = (
    RuleCase(
        "bmm-of-transposed-left",
        """input %a : f32[2,3,4]
           input %b : f32[2,3,5]
           %t = permute(%a) {perm=[0,2,1]} : f32[2,4,3]
           %y = bmm(%t, %b) : f32[2,4,5]
           return %y, %t""",
        """input %a : f32[2,3,4]
           input %b : f32[2,3,5]
           %t = permute(%a) {perm=[0,2,1]} : f32[2,4,3]
           %y = bmm(%a, %b) {trans_a=true} : f32[2,4,5]
           return %y, %t""",
        """input %a : f32[4,2,3]
           input %b : f32[2,3,5]
           %t = permute(%a) {perm=[1,0,2]} : f32[2,4,3]
           %y = bmm(%t, %b) : f32[2,4,5]
           return %y""",
    ),
    RuleCase(
        "bmm-of-transposed-right",
        """input %a : f32[2,4,3]
           input %b : f32[2,3,5]
           %t = permute(%b) {perm=[0,2,1]} : f32[2,5,3]
           %y = bmm(%a, %t) {trans_b=true} : f32[2,4,5]
           return %y""",
        """input %a : f32[2,4,3]
           input %b : f32[2,3,5]
           %y = bmm(%a, %b) : f32[2,4,5]
           return %y""",
        """input %a : f32[2,4,3]
           input %b : f32[5,3,2]
           %t = permute(%b) {perm=[2,1,0]} : f32[2,3,5]
           %y = bmm(%a, %t) : f32[2,4,5]
           return %y""",
    ),
    RuleCase(
        "triangle-of-gram-to-pairwise-dot",
        _FEATURES + _LOWER + _GRAM + _READ,
        _FEATURES
        + """%p = pairwise_dot(%t) : f32[2,6]
             return %p""",
        _FEATURES + _SHUFFLED + _GRAM + _READ,
    ),
    RuleCase(
        "triangle-of-column-gram-to-pairwise-dot",
        _COLUMNS + _LOWER + _COLUMN_GRAM + _READ,
        _COLUMNS
        + """%permute = permute(%t) {perm=[0,2,1]} : f32[2,4,5]
             %p = pairwise_dot(%permute) : f32[2,6]
             return %p""",
        # The whole matrix is returned, too.
        _COLUMNS + _LOWER + _COLUMN_GRAM + _READ + ", %z",
    ),
    RuleCase(
        "triangle-of-flat-gram-to-pairwise-dot",
        _FEATURES
        + """const %i : i64[6] = [1,2,3,6,7,-5]
             %z = bmm(%t, %t) {trans_b=true} : f32[2,4,4]
             %v = view(%z) {shape=[2,16]} : f32[2,16]
             %p = index(%v, _, %i) : f32[2,6]
             return %p""",
        _FEATURES
        + """%p = pairwise_dot(%t) {pairs=strict_upper} : f32[2,6]
             return %p""",
        # One pair stands twice.
        _FEATURES
        + """const %i : i64[6] = [1,2,3,6,7,7]
             %z = bmm(%t, %t) {trans_b=true} : f32[2,4,4]
             %v = view(%z) {shape=[2,16]} : f32[2,16]
             %p = index(%v, _, %i) : f32[2,6]
             return %p""",
    ),
    RuleCase(
        "triangle-selected-of-flat-gram-to-pairwise-dot",
        _FEATURES
        + """const %i : i64[10] = [0,4,5,8,9,10,12,13,14,15]
             %z = bmm(%t, %t) {trans_b=true} : f32[2,4,4]
             %v = view(%z) {shape=[2,16]} : f32[2,16]
             %p = index_select(%v, %i) {dim=1} : f32[2,10]
             return %p""",
        _FEATURES
        + """%p = pairwise_dot(%t) {pairs=lower} : f32[2,10]
             return %p""",
        # The products of two different values are no gram matrix.
        _FEATURES
        + """input %u : f32[2,4,5]
             const %i : i64[10] = [0,4,5,8,9,10,12,13,14,15]
             %z = bmm(%t, %u) {trans_b=true} : f32[2,4,4]
             %v = view(%z) {shape=[2,16]} : f32[2,16]
             %p = index_select(%v, %i) {dim=1} : f32[2,10]
             return %p""",
    ),
    RuleCase(
        "pairwise-dot-of-cat-to-parts",
        """input %x : f32[2,1,5]
           input %y : f32[2,3,5]
           %t = cat(%x, %y) {dim=1} : f32[2,4,5]
           %p = pairwise_dot(%t, %x) {pairs=upper} : f32[2,15]
           return %p""",
        """input %x : f32[2,1,5]
           input %y : f32[2,3,5]
           %p = pairwise_dot(%x, %y, %x) {pairs=upper} : f32[2,15]
           return %p""",
        # The width is joined, not the features.
        """input %x : f32[2,4,1]
           input %y : f32[2,4,3]
           %t = cat(%x, %y) {dim=2} : f32[2,4,4]
           %p = pairwise_dot(%t) : f32[2,6]
           return %p""",
    ),
    RuleCase(
        "pairwise-dot-of-split-cat-to-parts",
        """input %x : f32[2,5]
           input %y : f32[2,10]
           %c = cat(%x, %y) {dim=1} : f32[2,15]
           %t = view(%c) {shape=[2,3,5]} : f32[2,3,5]
           %p = pairwise_dot(%t) : f32[2,3]
           return %p""",
        """input %x : f32[2,5]
           input %y : f32[2,10]
           %view = view(%x) {shape=[2,1,5]} : f32[2,1,5]
           %view_1 = view(%y) {shape=[2,2,5]} : f32[2,2,5]
           %p = pairwise_dot(%view, %view_1) : f32[2,3]
           return %p""",
        # A feature lies across two parts.
        """input %x : f32[2,7]
           input %y : f32[2,8]
           %c = cat(%x, %y) {dim=1} : f32[2,15]
           %t = view(%c) {shape=[2,3,5]} : f32[2,3,5]
           %p = pairwise_dot(%t) : f32[2,3]
           return %p""",
    ),
    RuleCase(
        "pairwise-dot-of-single-features",
        """input %x : f32[2,5]
           input %y : f32[2,3,5]
           %v = view(%x) {shape=[2,1,5]} : f32[2,1,5]
           %p = pairwise_dot(%v, %y) : f32[2,6]
           return %p""",
        """input %x : f32[2,5]
           input %y : f32[2,3,5]
           %p = pairwise_dot(%x, %y) : f32[2,6]
           return %p""",
        """input %x : f32[2,10]
           %v = view(%x) {shape=[2,2,5]} : f32[2,2,5]
           %p = pairwise_dot(%v) : f32[2,1]
           return %p""",
    ),
)
