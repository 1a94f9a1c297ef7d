"""Cases of dlrmc/passes/peepholes/activation.py."""

from __future__ import annotations

from tests.passes.rule_case import RuleCase

_HEAD = """input %x : f32[5,3]
           weight %w : f32[1,3] = "w"
           weight %b : f32[1] = "b"
"""

# The activation, the op on %l or %v, and the attributes of the linear that has it.
_FORMS = (
    ("relu", "relu", "", "act=relu"),
    ("sigmoid", "sigmoid", "", "act=sigmoid"),
    ("tanh", "tanh", "", "act=tanh"),
    ("gelu", "gelu", "", "act=gelu"),
    ("gelu-tanh", "gelu", "{approximate=tanh}", "act=gelu_tanh"),
    ("silu", "silu", "", "act=silu"),
    ("leaky-relu", "leaky_relu", "{slope=0.25}", "act=leaky_relu"),
)


def _attributes(act: str, more: str) -> str:
    slope = ", slope=0.25" if act == "leaky-relu" else ""
    return f"{{{more}, alpha=2.0{slope}}}"


def _direct(act: str, op: str, attributes: str, linear: str) -> RuleCase:
    return RuleCase(
        f"{act}-into-linear",
        f"""{_HEAD}%l = linear(%x, %w, %b) {{alpha=2.0}} : f32[5,1]
            %z = {op}(%l) {attributes} : f32[5,1]
            return %z""",
        f"""{_HEAD}%z = linear(%x, %w, %b) {_attributes(act, linear)} : f32[5,1]
            return %z""",
        # The value before the activation is read, too.
        f"""{_HEAD}%l = linear(%x, %w, %b) : f32[5,1]
            %z = {op}(%l) {attributes} : f32[5,1]
            %y = add(%l, %z) : f32[5,1]
            return %y""",
    )


def _through_view(act: str, op: str, attributes: str, linear: str) -> RuleCase:
    return RuleCase(
        f"{act}-of-view-into-linear",
        f"""{_HEAD}%l = linear(%x, %w, %b) {{alpha=2.0}} : f32[5,1]
            %v = view(%l) {{shape=[5]}} : f32[5]
            %z = {op}(%v) {attributes} : f32[5]
            return %z""",
        f"""{_HEAD}%linear = linear(%x, %w, %b) {_attributes(act, linear)} : f32[5,1]
            %z = view(%linear) {{shape=[5]}} : f32[5]
            return %z""",
        # There is an activation already.
        f"""{_HEAD}%l = linear(%x, %w, %b) {{act=tanh}} : f32[5,1]
            %v = view(%l) {{shape=[5]}} : f32[5]
            %z = {op}(%v) {attributes} : f32[5]
            return %z""",
    )


CASES = (
    *(_direct(*form) for form in _FORMS),
    *(_through_view(*form) for form in _FORMS),
)
