"""Cases of dlrmc/passes/peepholes/attention.py."""

from __future__ import annotations

from tests.passes.rule_case import RuleCase

CASES = (
    # Heads stacked in front, and joined again.
    RuleCase(
        "cat-of-even-slices-to-permute",
        """input %x : f32[5,3,4]
           %a = slice(%x) {dim=2, start=0, stop=2} : f32[5,3,2]
           %b = slice(%x) {dim=2, start=2, stop=4} : f32[5,3,2]
           %y = cat(%a, %b) {dim=0} : f32[10,3,2]
           return %y""",
        """input %x : f32[5,3,4]
           %view = view(%x) {shape=[5,3,2,2]} : f32[5,3,2,2]
           %permute = permute(%view) {perm=[2,0,1,3]} : f32[2,5,3,2]
           %y = view(%permute) {shape=[10,3,2]} : f32[10,3,2]
           return %y""",
        # The second slice first.
        """input %x : f32[5,3,4]
           %a = slice(%x) {dim=2, start=2, stop=4} : f32[5,3,2]
           %b = slice(%x) {dim=2, start=0, stop=2} : f32[5,3,2]
           %y = cat(%a, %b) {dim=0} : f32[10,3,2]
           return %y""",
    ),
    RuleCase(
        "cat-of-even-slices-to-permute",
        """input %x : f32[6,3,2]
           %a = slice(%x) {dim=0, start=0, stop=3} : f32[3,3,2]
           %b = slice(%x) {dim=0, start=3, stop=6} : f32[3,3,2]
           %y = cat(%a, %b) {dim=2} : f32[3,3,4]
           return %y""",
        """input %x : f32[6,3,2]
           %view = view(%x) {shape=[2,3,3,2]} : f32[2,3,3,2]
           %permute = permute(%view) {perm=[1,2,0,3]} : f32[3,3,2,2]
           %y = view(%permute) {shape=[3,3,4]} : f32[3,3,4]
           return %y""",
        # Something is left over.
        """input %x : f32[7,3,2]
           %a = slice(%x) {dim=0, start=0, stop=3} : f32[3,3,2]
           %b = slice(%x) {dim=0, start=3, stop=6} : f32[3,3,2]
           %y = cat(%a, %b) {dim=2} : f32[3,3,4]
           return %y""",
    ),
    # torch.stack(torch.split(x, 2, dim=2)).
    RuleCase(
        "cat-of-even-slices-to-permute",
        """input %x : f32[5,3,4]
           %a = slice(%x) {dim=2, start=0, stop=2} : f32[5,3,2]
           %b = slice(%x) {dim=2, start=2, stop=4} : f32[5,3,2]
           %u = view(%a) {shape=[1,5,3,2]} : f32[1,5,3,2]
           %v = view(%b) {shape=[1,5,3,2]} : f32[1,5,3,2]
           %y = cat(%u, %v) {dim=0} : f32[2,5,3,2]
           return %y""",
        """input %x : f32[5,3,4]
           %view = view(%x) {shape=[5,3,2,2]} : f32[5,3,2,2]
           %y = permute(%view) {perm=[2,0,1,3]} : f32[2,5,3,2]
           return %y""",
        # Slices of two values.
        """input %x : f32[5,3,4]
           input %z : f32[5,3,4]
           %a = slice(%x) {dim=2, start=0, stop=2} : f32[5,3,2]
           %b = slice(%z) {dim=2, start=2, stop=4} : f32[5,3,2]
           %u = view(%a) {shape=[1,5,3,2]} : f32[1,5,3,2]
           %v = view(%b) {shape=[1,5,3,2]} : f32[1,5,3,2]
           %y = cat(%u, %v) {dim=0} : f32[2,5,3,2]
           return %y""",
    ),
    RuleCase(
        "quotient-of-product-to-mul",
        """input %q : f32[2,3,4]
           const %c : f32[] = 8.0
           %z = bmm(%q, %q) {trans_b=true} : f32[2,3,3]
           %y = div(%z, %c) : f32[2,3,3]
           return %y""",
        """input %q : f32[2,3,4]
           %z = bmm(%q, %q) {trans_b=true} : f32[2,3,3]
           const %y_value : f32[] = 0.125
           %y = mul(%z, %y_value) : f32[2,3,3]
           return %y""",
        # Of a value that is rounded once.
        """input %q : f32[2,3,3]
           const %c : f32[] = 8.0
           %z = exp(%q) : f32[2,3,3]
           %y = div(%z, %c) : f32[2,3,3]
           return %y""",
    ),
)
