"""Cases of dlrmc/passes/peepholes/identity.py."""

from __future__ import annotations

from tests.passes.rule_case import RuleCase


def _unary(rule: str, op: str, fires: str, misses: tuple[str, str]) -> RuleCase:
    """An op on %x : f32[2,3] that is the identity, and one that is not, with its shape."""
    return RuleCase(
        rule,
        f"""input %x : f32[2,3]
            %y = {op}(%x) {fires} : f32[2,3]
            %z = relu(%y) : f32[2,3]
            return %z""",
        """input %x : f32[2,3]
           %z = relu(%x) : f32[2,3]
           return %z""",
        f"""input %x : f32[2,3]
            %y = {op}(%x) {misses[0]} : {misses[1]}
            return %y""",
    )


def _by_one(rule: str, op: str) -> RuleCase:
    return RuleCase(
        rule,
        f"""input %x : f32[2,3]
            const %one : f32[3] = [1.0,1.0,1.0]
            %y = {op}(%x, %one) : f32[2,3]
            return %y""",
        """input %x : f32[2,3]
           return %x""",
        f"""input %x : f32[3]
            const %one : f32[2,3] = [1.0,1.0,1.0,1.0,1.0,1.0]
            %y = {op}(%x, %one) : f32[2,3]
            return %y""",
    )


def _unit_reduction(op: str) -> RuleCase:
    return RuleCase(
        f"{op}-of-unit-dimensions-to-view",
        f"""input %x : f32[2,1,3,1]
            %y = {op}(%x) {{dims=[1,3]}} : f32[2,3]
            return %y""",
        """input %x : f32[2,1,3,1]
           %y = view(%x) {shape=[2,3]} : f32[2,3]
           return %y""",
        f"""input %x : f32[2,1,3,1]
            %y = {op}(%x) {{dims=[1,2]}} : f32[2,1]
            return %y""",
    )


CASES = (
    _unary("view-of-same-shape", "view", "{shape=[2,3]}", ("{shape=[3,2]}", "f32[3,2]")),
    _unary("permute-in-order", "permute", "{perm=[0,1]}", ("{perm=[1,0]}", "f32[3,2]")),
    _unary("expand-to-same-shape", "expand", "{shape=[2,3]}", ("{shape=[1,2,3]}", "f32[1,2,3]")),
    _unary("cast-to-same-dtype", "cast", "{to=f32}", ("{to=f16}", "f16[2,3]")),
    _unary("slice-of-all", "slice", "{dim=1, start=0, stop=3}", ("{dim=1, start=0, stop=2}", "f32[2,2]")),
    RuleCase(
        "cat-of-one",
        """input %x : f32[2,3]
           %y = cat(%x) {dim=1} : f32[2,3]
           return %y""",
        """input %x : f32[2,3]
           return %x""",
        """input %x : f32[2,3]
           %y = cat(%x, %x) {dim=1} : f32[2,6]
           return %y""",
    ),
    _by_one("mul-by-one", "mul"),
    _by_one("div-by-one", "div"),
    RuleCase(
        "neg-of-neg",
        """input %x : f32[3]
           %n = neg(%x) : f32[3]
           %y = neg(%n) : f32[3]
           return %y""",
        """input %x : f32[3]
           return %x""",
        # The inner value is returned too.
        """input %x : f32[3]
           %n = neg(%x) : f32[3]
           %y = neg(%n) : f32[3]
           return %y, %n""",
    ),
    *(_unit_reduction(op) for op in ("sum", "mean", "amax", "amin", "prod")),
)
