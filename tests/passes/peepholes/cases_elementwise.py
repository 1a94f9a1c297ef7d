"""Cases of dlrmc/passes/peepholes/elementwise.py."""

from __future__ import annotations

from tests.passes.rule_case import RuleCase

_NUMBERS = ("add", "sub", "mul", "div", "pow", "maximum", "minimum")
_TRUTHS = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or")


def _expand(op: str, result: str, side: str) -> RuleCase:
    operands = "%e, %y" if side == "left" else "%y, %e"
    left = "%x, %y" if side == "left" else "%y, %x"
    return RuleCase(
        f"expand-on-the-{side}-of-{op.replace('_', '-')}",
        f"""input %x : f32[1,3]
            input %y : f32[2,3]
            %e = expand(%x) {{shape=[2,3]}} : f32[2,3]
            %z = {op}({operands}) : {result}[2,3]
            return %z""",
        f"""input %x : f32[1,3]
            input %y : f32[2,3]
            %z = {op}({left}) : {result}[2,3]
            return %z""",
        # The result has the expanded shape, which the other operand lacks.
        f"""input %x : f32[1,3]
            input %y : f32[3]
            %e = expand(%x) {{shape=[2,3]}} : f32[2,3]
            %z = {op}({operands}) : {result}[2,3]
            return %z""",
    )


CASES = (
    RuleCase(
        "mul-by-own-sigmoid-to-silu",
        """input %x : f32[3]
           %s = sigmoid(%x) : f32[3]
           %y = mul(%s, %x) : f32[3]
           return %y""",
        """input %x : f32[3]
           %y = silu(%x) : f32[3]
           return %y""",
        """input %x : f32[3]
           input %z : f32[3]
           %s = sigmoid(%x) : f32[3]
           %y = mul(%s, %z) : f32[3]
           return %y""",
    ),
    RuleCase(
        "where-positive-to-leaky-relu",
        """input %x : f32[3]
           const %zero : f32[] = 0.0
           const %slope : f32[] = 0.25
           %c = gt(%x, %zero) : bool[3]
           %n = mul(%x, %slope) : f32[3]
           %y = where(%c, %x, %n) : f32[3]
           return %y""",
        """input %x : f32[3]
           %y = leaky_relu(%x) {slope=0.25} : f32[3]
           return %y""",
        """input %x : f32[3]
           const %zero : f32[] = 0.5
           const %slope : f32[] = 0.25
           %c = gt(%x, %zero) : bool[3]
           %n = mul(%x, %slope) : f32[3]
           %y = where(%c, %x, %n) : f32[3]
           return %y""",
    ),
    RuleCase(
        "clamp-at-zero-to-relu",
        """input %x : f32[3]
           %y = clamp(%x) {min=0.0} : f32[3]
           return %y""",
        """input %x : f32[3]
           %y = relu(%x) : f32[3]
           return %y""",
        """input %x : f32[3]
           %y = clamp(%x) {min=0.0, max=6.0} : f32[3]
           return %y""",
    ),
    RuleCase(
        "maximum-with-zero-to-relu",
        """input %x : f32[3]
           const %zero : f32[] = 0.0
           %y = maximum(%zero, %x) : f32[3]
           return %y""",
        """input %x : f32[3]
           %y = relu(%x) : f32[3]
           return %y""",
        """input %x : f32[3]
           const %zero : f32[3] = [0.0,0.0,1.0]
           %y = maximum(%zero, %x) : f32[3]
           return %y""",
    ),
    RuleCase(
        "square-to-mul",
        """input %x : f32[3]
           const %two : f32[] = 2.0
           %y = pow(%x, %two) : f32[3]
           return %y""",
        """input %x : f32[3]
           %y = mul(%x, %x) : f32[3]
           return %y""",
        """input %x : f32[3]
           const %two : f32[] = 2.0
           %y = pow(%two, %x) : f32[3]
           return %y""",
    ),
    RuleCase(
        "cast-of-widening-cast",
        """input %x : bf16[3]
           %c = cast(%x) {to=f32} : f32[3]
           %y = cast(%c) {to=f64} : f64[3]
           return %y""",
        """input %x : bf16[3]
           %y = cast(%x) {to=f64} : f64[3]
           return %y""",
        # f32 to f16 rounds.
        """input %x : f32[3]
           %c = cast(%x) {to=f16} : f16[3]
           %y = cast(%c) {to=f64} : f64[3]
           return %y""",
    ),
    *(_expand(op, "f32", side) for op in _NUMBERS for side in ("left", "right")),
    *(_expand(op, "bool", side) for op in _TRUTHS for side in ("left", "right")),
)
