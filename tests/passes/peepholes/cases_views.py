"""Cases of dlrmc/passes/peepholes/views.py."""

from __future__ import annotations

from tests.passes.rule_case import RuleCase


def _index_range(dim: int) -> RuleCase:
    leading = "_, " * dim
    shapes = {0: "f32[3,6,7]", 1: "f32[5,3,7]", 2: "f32[5,6,3]"}
    sizes = (5, 6, 7)
    return RuleCase(
        f"index-of-range-to-slice-dim-{dim}",
        # The last index counts from the end.
        f"""input %x : f32[5,6,7]
            const %i : i64[3] = [0,2,{4 - sizes[dim]}]
            %y = index(%x, {leading}%i) : {shapes[dim]}
            return %y""",
        f"""input %x : f32[5,6,7]
            %y = slice(%x) {{dim={dim}, start=0, stop=5, step=2}} : {shapes[dim]}
            return %y""",
        f"""input %x : f32[5,6,7]
            const %i : i64[3] = [0,2,3]
            %y = index(%x, {leading}%i) : {shapes[dim]}
            return %y""",
    )


CASES = (
    RuleCase(
        "view-of-view",
        """input %x : f32[2,3]
           %v = view(%x) {shape=[6]} : f32[6]
           %y = view(%v) {shape=[3,2]} : f32[3,2]
           return %y""",
        """input %x : f32[2,3]
           %y = view(%x) {shape=[3,2]} : f32[3,2]
           return %y""",
        """input %x : f32[2,3]
           %v = permute(%x) {perm=[1,0]} : f32[3,2]
           %y = view(%v) {shape=[2,3]} : f32[2,3]
           return %y""",
    ),
    RuleCase(
        "permute-of-permute",
        """input %x : f32[2,3,4]
           %v = permute(%x) {perm=[2,0,1]} : f32[4,2,3]
           %y = permute(%v) {perm=[1,0,2]} : f32[2,4,3]
           return %y""",
        """input %x : f32[2,3,4]
           %y = permute(%x) {perm=[0,2,1]} : f32[2,4,3]
           return %y""",
        """input %x : f32[2,3,4]
           %v = view(%x) {shape=[4,2,3]} : f32[4,2,3]
           %y = permute(%v) {perm=[1,0,2]} : f32[2,4,3]
           return %y""",
    ),
    RuleCase(
        "permute-of-units-to-view",
        """input %x : f32[2,1,3]
           %y = permute(%x) {perm=[1,0,2]} : f32[1,2,3]
           return %y""",
        """input %x : f32[2,1,3]
           %y = view(%x) {shape=[1,2,3]} : f32[1,2,3]
           return %y""",
        """input %x : f32[2,1,3]
           %y = permute(%x) {perm=[2,1,0]} : f32[3,1,2]
           return %y""",
    ),
    RuleCase(
        "expand-of-expand",
        """input %x : f32[1,3]
           %v = expand(%x) {shape=[2,3]} : f32[2,3]
           %y = expand(%v) {shape=[4,2,3]} : f32[4,2,3]
           return %y""",
        """input %x : f32[1,3]
           %y = expand(%x) {shape=[4,2,3]} : f32[4,2,3]
           return %y""",
        """input %x : f32[1,3]
           %v = expand(%x) {shape=[2,3]} : f32[2,3]
           %y = view(%v) {shape=[1,2,3]} : f32[1,2,3]
           return %y""",
    ),
    RuleCase(
        "expand-by-units-to-view",
        """input %x : f32[2,3]
           %y = expand(%x) {shape=[1,2,3]} : f32[1,2,3]
           return %y""",
        """input %x : f32[2,3]
           %y = view(%x) {shape=[1,2,3]} : f32[1,2,3]
           return %y""",
        """input %x : f32[2,3]
           %y = expand(%x) {shape=[2,2,3]} : f32[2,2,3]
           return %y""",
    ),
    RuleCase(
        "slice-of-slice",
        """input %x : f32[2,12]
           %v = slice(%x) {dim=1, start=1, stop=10, step=2} : f32[2,5]
           %y = slice(%v) {dim=1, start=1, stop=5, step=3} : f32[2,2]
           return %y""",
        """input %x : f32[2,12]
           %y = slice(%x) {dim=1, start=3, stop=10, step=6} : f32[2,2]
           return %y""",
        """input %x : f32[4,12]
           %v = slice(%x) {dim=1, start=1, stop=10, step=2} : f32[4,5]
           %y = slice(%v) {dim=0, start=1, stop=3} : f32[2,5]
           return %y""",
    ),
    RuleCase(
        "select-of-slice",
        """input %x : f32[2,12]
           %v = slice(%x) {dim=1, start=1, stop=10, step=2} : f32[2,5]
           %y = select(%v) {dim=1, index=3} : f32[2]
           return %y""",
        """input %x : f32[2,12]
           %y = select(%x) {dim=1, index=7} : f32[2]
           return %y""",
        """input %x : f32[4,12]
           %v = slice(%x) {dim=1, start=1, stop=10, step=2} : f32[4,5]
           %y = select(%v) {dim=0, index=3} : f32[5]
           return %y""",
    ),
    RuleCase(
        "select-of-unit-dimension-to-view",
        """input %x : f32[2,1,3]
           %y = select(%x) {dim=1, index=0} : f32[2,3]
           return %y""",
        """input %x : f32[2,1,3]
           %y = view(%x) {shape=[2,3]} : f32[2,3]
           return %y""",
        """input %x : f32[2,1,3]
           %y = select(%x) {dim=0, index=0} : f32[1,3]
           return %y""",
    ),
    RuleCase(
        "slice-of-cat",
        """input %a : f32[2,3]
           input %b : f32[2,4]
           %c = cat(%a, %b) {dim=1} : f32[2,7]
           %y = slice(%c) {dim=1, start=4, stop=7} : f32[2,3]
           return %y, %c""",
        """input %a : f32[2,3]
           input %b : f32[2,4]
           %c = cat(%a, %b) {dim=1} : f32[2,7]
           %y = slice(%b) {dim=1, start=1, stop=4} : f32[2,3]
           return %y, %c""",
        """input %a : f32[2,3]
           input %b : f32[2,4]
           %c = cat(%a, %b) {dim=1} : f32[2,7]
           %y = slice(%c) {dim=1, start=2, stop=7} : f32[2,5]
           return %y""",
    ),
    RuleCase(
        "select-of-cat",
        """input %a : f32[2,3]
           input %b : f32[2,4]
           %c = cat(%a, %b) {dim=1} : f32[2,7]
           %y = select(%c) {dim=1, index=3} : f32[2]
           return %y""",
        """input %a : f32[2,3]
           input %b : f32[2,4]
           %y = select(%b) {dim=1, index=0} : f32[2]
           return %y""",
        """input %a : f32[2,3]
           input %b : f32[2,4]
           %c = cat(%a, %b) {dim=1} : f32[2,7]
           %y = select(%c) {dim=0, index=1} : f32[7]
           return %y""",
    ),
    RuleCase(
        "cat-of-adjacent-slices",
        """input %x : f32[2,7]
           %a = slice(%x) {dim=1, start=1, stop=3} : f32[2,2]
           %b = slice(%x) {dim=1, start=3, stop=6} : f32[2,3]
           %y = cat(%x, %a, %b) {dim=1} : f32[2,12]
           return %y""",
        """input %x : f32[2,7]
           %slice = slice(%x) {dim=1, start=1, stop=6} : f32[2,5]
           %y = cat(%x, %slice) {dim=1} : f32[2,12]
           return %y""",
        """input %x : f32[2,7]
           %a = slice(%x) {dim=1, start=1, stop=3} : f32[2,2]
           %b = slice(%x) {dim=1, start=3, stop=6} : f32[2,3]
           %y = cat(%b, %a) {dim=1} : f32[2,5]
           return %y""",
    ),
    RuleCase(
        "cat-of-cat",
        """input %x : f32[2,3]
           input %y : f32[2,1]
           %c = cat(%y, %y) {dim=1} : f32[2,2]
           %z = cat(%x, %c, %x) {dim=1} : f32[2,8]
           return %z""",
        """input %x : f32[2,3]
           input %y : f32[2,1]
           %z = cat(%x, %y, %y, %x) {dim=1} : f32[2,8]
           return %z""",
        """input %x : f32[2,3]
           input %y : f32[1,3]
           %c = cat(%y, %y) {dim=0} : f32[2,3]
           %z = cat(%x, %c, %x) {dim=1} : f32[2,9]
           return %z""",
    ),
    RuleCase(
        "flattened-cat-to-cat-of-flat",
        """input %x : f32[2,1,4]
           input %y : f32[2,2,4]
           %c = cat(%x, %y) {dim=1} : f32[2,3,4]
           %z = view(%c) {shape=[2,12]} : f32[2,12]
           return %z""",
        """input %x : f32[2,1,4]
           input %y : f32[2,2,4]
           %view = view(%x) {shape=[2,4]} : f32[2,4]
           %view_1 = view(%y) {shape=[2,8]} : f32[2,8]
           %z = cat(%view, %view_1) {dim=1} : f32[2,12]
           return %z""",
        """input %x : f32[2,3,1]
           input %y : f32[2,3,3]
           %c = cat(%x, %y) {dim=2} : f32[2,3,4]
           %z = view(%c) {shape=[2,12]} : f32[2,12]
           return %z""",
    ),
    RuleCase(
        "index-select-of-range-to-slice",
        """input %x : f32[2,7]
           const %i : i64[3] = [1,3,5]
           %y = index_select(%x, %i) {dim=1} : f32[2,3]
           return %y""",
        """input %x : f32[2,7]
           %y = slice(%x) {dim=1, start=1, stop=6, step=2} : f32[2,3]
           return %y""",
        """input %x : f32[2,7]
           const %i : i64[3] = [5,3,1]
           %y = index_select(%x, %i) {dim=1} : f32[2,3]
           return %y""",
    ),
    RuleCase(
        "index-of-each-row-to-gather",
        """input %x : f32[3,4,2]
           input %i : i64[3]
           const %r : i64[3] = [0,1,2]
           %y = index(%x, %r, %i) : f32[3,2]
           return %y""",
        """input %x : f32[3,4,2]
           input %i : i64[3]
           const %y_value : i64[] = 0
           const %y_value_1 : i64[] = 4
           %lt = lt(%i, %y_value) : bool[3]
           %add = add(%i, %y_value_1) : i64[3]
           %where = where(%lt, %add, %i) : i64[3]
           %view = view(%where) {shape=[3,1,1]} : i64[3,1,1]
           %expand = expand(%view) {shape=[3,1,2]} : i64[3,1,2]
           %gather = gather(%x, %expand) {dim=1} : f32[3,1,2]
           %y = view(%gather) {shape=[3,2]} : f32[3,2]
           return %y""",
        """input %x : f32[3,4,2]
           input %i : i64[3]
           const %r : i64[3] = [0,2,1]
           %y = index(%x, %r, %i) : f32[3,2]
           return %y""",
    ),
    RuleCase(
        "index-of-each-row-to-gather",
        """input %x : f32[3,4]
           const %r : i64[3,1] = [0,1,2]
           %i = argsort(%x) {dim=1, count=2} : i64[3,2]
           %y = index(%x, %r, %i) : f32[3,2]
           return %y""",
        """input %x : f32[3,4]
           %i = argsort(%x) {dim=1, count=2} : i64[3,2]
           %y = gather(%x, %i) {dim=1} : f32[3,2]
           return %y""",
        """input %x : f32[3,4]
           input %i : i64[2]
           const %r : i64[3,1] = [0,1,2]
           %y = index(%x, %r, %i) : f32[3,2]
           return %y""",
    ),
    *(_index_range(dim) for dim in range(3)),
)
