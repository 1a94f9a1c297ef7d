"""Cases of dlrmc/passes/peepholes/embedding.py."""

from __future__ import annotations

from tests.passes.rule_case import RuleCase

_TABLE = """weight %w : f32[9,4] = "w"
"""
# Rows of four codes, or of eight bytes of two, and a scale and a bias.
_BYTES = """weight %w : u8[9,12] = "w"
"""


def _pooled(mode: str) -> RuleCase:
    return RuleCase(
        f"{mode}-of-embedding-to-bag",
        f"""input %ids : i32[2,3,5]
            {_TABLE}%e = embedding(%w, %ids) : f32[2,3,5,4]
            %y = {mode}(%e) {{dims=[2], keepdim=true}} : f32[2,3,1,4]
            return %y""",
        f"""input %ids : i32[2,3,5]
            {_TABLE}%view = view(%ids) {{shape=[6,5]}} : i32[6,5]
            %embedding_bag = embedding_bag(%w, %view){_mode(mode)} : f32[6,4]
            %y = view(%embedding_bag) {{shape=[2,3,1,4]}} : f32[2,3,1,4]
            return %y""",
        f"""input %ids : i32[2,3,5]
            {_TABLE}%e = embedding(%w, %ids) : f32[2,3,5,4]
            %y = {mode}(%e) {{dims=[1]}} : f32[2,5,4]
            return %y""",
    )


def _pooled_view(mode: str) -> RuleCase:
    return RuleCase(
        f"{mode}-of-view-of-embedding-to-bag",
        f"""input %ids : i64[6]
            {_TABLE}%e = embedding(%w, %ids) : f32[6,4]
            %v = view(%e) {{shape=[2,3,4]}} : f32[2,3,4]
            %y = {mode}(%v) {{dims=[1]}} : f32[2,4]
            return %y""",
        f"""input %ids : i64[6]
            {_TABLE}%view = view(%ids) {{shape=[2,3]}} : i64[2,3]
            %y = embedding_bag(%w, %view){_mode(mode)} : f32[2,4]
            return %y""",
        # The view cuts the rows.
        f"""input %ids : i64[6]
            {_TABLE}%e = embedding(%w, %ids) : f32[6,4]
            %v = view(%e) {{shape=[2,6,2]}} : f32[2,6,2]
            %y = {mode}(%v) {{dims=[1]}} : f32[2,2]
            return %y""",
    )


def _mode(mode: str) -> str:
    return "" if mode == "sum" else f" {{mode={mode}}}"


def _narrow(op: str, attributes: str, result: str) -> RuleCase:
    head = """input %ids : i32[2,3]
              input %x : f32[9,4]
"""
    head = head if op != "index_select" else head.replace("i32[2,3]", "i32[6]")
    kept = "i64[6]" if op == "index_select" else "i64[2,3]"
    return RuleCase(
        f"cast-of-ids-of-{op.replace('_', '-')}",
        f"""{head}%i = cast(%ids) {{to=i64}} : {kept}
            %y = {op}(%x, %i) {attributes} : {result}
            return %y""",
        f"""{head}%y = {op}(%x, %ids) {attributes} : {result}
            return %y""",
        # Ids from a float are rounded by the cast.
        f"""{head.replace("%ids : i32", "%ids : f32")}%i = cast(%ids) {{to=i64}} : {kept}
            %y = {op}(%x, %i) {attributes} : {result}
            return %y""",
    )


CASES = (
    RuleCase(
        "index-select-of-rows-to-embedding",
        f"""input %ids : i64[6]
            {_TABLE}%y = index_select(%w, %ids) {{dim=0}} : f32[6,4]
            return %y""",
        f"""input %ids : i64[6]
            {_TABLE}%y = embedding(%w, %ids) : f32[6,4]
            return %y""",
        f"""input %ids : i64[6]
            {_TABLE}%y = index_select(%w, %ids) {{dim=1}} : f32[9,6]
            return %y""",
    ),
    *(_pooled(mode) for mode in ("sum", "mean")),
    *(_pooled_view(mode) for mode in ("sum", "mean")),
    RuleCase(
        "weighted-sum-of-embedding-to-bag",
        f"""input %ids : i64[2,3]
            input %s : f32[2,3]
            {_TABLE}%e = embedding(%w, %ids) : f32[2,3,4]
            %v = view(%s) {{shape=[2,3,1]}} : f32[2,3,1]
            %m = mul(%v, %e) : f32[2,3,4]
            %y = sum(%m) {{dims=[1]}} : f32[2,4]
            return %y""",
        f"""input %ids : i64[2,3]
            input %s : f32[2,3]
            {_TABLE}%y = embedding_bag(%w, %ids, _, %s) : f32[2,4]
            return %y""",
        # Each column has a weight of its own.
        f"""input %ids : i64[2,3]
            input %s : f32[2,3,4]
            {_TABLE}%e = embedding(%w, %ids) : f32[2,3,4]
            %m = mul(%s, %e) : f32[2,3,4]
            %y = sum(%m) {{dims=[1]}} : f32[2,4]
            return %y""",
    ),
    RuleCase(
        "bag-sum-over-length-to-mean",
        f"""input %ids : i64[2,3]
            {_TABLE}const %n : f32[] = 3.0
            %s = embedding_bag(%w, %ids) : f32[2,4]
            %y = div(%s, %n) : f32[2,4]
            return %y""",
        f"""input %ids : i64[2,3]
            {_TABLE}%y = embedding_bag(%w, %ids) {{mode=mean}} : f32[2,4]
            return %y""",
        # Padding is not counted by a mean.
        f"""input %ids : i64[2,3]
            {_TABLE}const %n : f32[] = 3.0
            %s = embedding_bag(%w, %ids) {{padding_idx=1}} : f32[2,4]
            %y = div(%s, %n) : f32[2,4]
            return %y""",
    ),
    RuleCase(
        "bag-of-constant-offsets-to-fixed-length",
        f"""input %ids : i32[6]
            input %s : f32[6]
            {_TABLE}const %o : i64[2] = [0,3]
            const %p : i64[4] = [0,2,4,6]
            %y = embedding_bag(%w, %ids, %o, %s) {{padding_idx=2}} : f32[2,4]
            %z = embedding_bag(%w, %ids, %p) {{mode=max, include_last_offset=true}} : f32[3,4]
            return %y, %z""",
        f"""input %ids : i32[6]
            input %s : f32[6]
            {_TABLE}%view = view(%s) {{shape=[2,3]}} : f32[2,3]
            %view_1 = view(%ids) {{shape=[2,3]}} : i32[2,3]
            %y = embedding_bag(%w, %view_1, _, %view) {{padding_idx=2}} : f32[2,4]
            %view_2 = view(%ids) {{shape=[3,2]}} : i32[3,2]
            %z = embedding_bag(%w, %view_2) {{mode=max}} : f32[3,4]
            return %y, %z""",
        # The first bag holds two ids, the second four.
        f"""input %ids : i32[6]
            {_TABLE}const %o : i64[2] = [0,2]
            %y = embedding_bag(%w, %ids, %o) : f32[2,4]
            return %y""",
        fired=2,
    ),
    RuleCase(
        "cast-of-ids-of-bag",
        f"""input %ids : i32[6]
            input %o : i64[2]
            {_TABLE}%i = cast(%ids) {{to=i64}} : i64[6]
            %y = embedding_bag(%w, %i, %o) {{mode=max}} : f32[2,4]
            return %y""",
        f"""input %ids : i32[6]
            input %o : i64[2]
            {_TABLE}%y = embedding_bag(%w, %ids, %o) {{mode=max}} : f32[2,4]
            return %y""",
        f"""input %ids : u8[6]
            input %o : i64[2]
            {_TABLE}%i = cast(%ids) {{to=i64}} : i64[6]
            %y = embedding_bag(%w, %i, %o) {{mode=max}} : f32[2,4]
            return %y""",
    ),
    RuleCase(
        "cast-of-offsets-of-bag",
        f"""input %ids : i64[6]
            input %o : i32[3]
            {_TABLE}%c = cast(%o) {{to=i64}} : i64[3]
            %y = embedding_bag(%w, %ids, %c) {{include_last_offset=true}} : f32[2,4]
            return %y""",
        f"""input %ids : i64[6]
            input %o : i32[3]
            {_TABLE}%y = embedding_bag(%w, %ids, %o) {{include_last_offset=true}} : f32[2,4]
            return %y""",
        # A narrowing cast may change the value.
        f"""input %ids : i64[6]
            input %o : i64[3]
            {_TABLE}%c = cast(%o) {{to=i32}} : i32[3]
            %y = embedding_bag(%w, %ids, %c) {{include_last_offset=true}} : f32[2,4]
            return %y""",
    ),
    RuleCase(
        "quantized-bag-of-constant-offsets-to-fixed-length",
        f"""input %ids : i32[6]
            {_BYTES}const %o : i64[3] = [0,3,6]
            %y = quantized_embedding_bag(%w, %ids, %o) {{bits=4, include_last_offset=true}} : f32[2,16]
            return %y""",
        f"""input %ids : i32[6]
            {_BYTES}%view = view(%ids) {{shape=[2,3]}} : i32[2,3]
            %y = quantized_embedding_bag(%w, %view) {{bits=4}} : f32[2,16]
            return %y""",
        f"""input %ids : i32[6]
            {_BYTES}const %o : i64[3] = [0,2,6]
            %y = quantized_embedding_bag(%w, %ids, %o) {{bits=4, include_last_offset=true}} : f32[2,16]
            return %y""",
    ),
    RuleCase(
        "cast-of-ids-of-quantized-bag",
        f"""input %ids : i32[6]
            input %o : i64[2]
            input %s : f32[6]
            {_BYTES}%i = cast(%ids) {{to=i64}} : i64[6]
            %y = quantized_embedding_bag(%w, %i, %o, %s) : f32[2,4]
            return %y""",
        f"""input %ids : i32[6]
            input %o : i64[2]
            input %s : f32[6]
            {_BYTES}%y = quantized_embedding_bag(%w, %ids, %o, %s) : f32[2,4]
            return %y""",
        f"""input %ids : u8[6]
            input %o : i64[2]
            {_BYTES}%i = cast(%ids) {{to=i64}} : i64[6]
            %y = quantized_embedding_bag(%w, %i, %o) : f32[2,4]
            return %y""",
    ),
    RuleCase(
        "cast-of-offsets-of-quantized-bag",
        f"""input %ids : i64[6]
            input %o : i32[3]
            {_BYTES}%c = cast(%o) {{to=i64}} : i64[3]
            %y = quantized_embedding_bag(%w, %ids, %c) {{include_last_offset=true}} : f32[2,4]
            return %y""",
        f"""input %ids : i64[6]
            input %o : i32[3]
            {_BYTES}%y = quantized_embedding_bag(%w, %ids, %o) {{include_last_offset=true}} : f32[2,4]
            return %y""",
        # A narrowing cast may change the value.
        f"""input %ids : i64[6]
            input %o : i64[3]
            {_BYTES}%c = cast(%o) {{to=i32}} : i32[3]
            %y = quantized_embedding_bag(%w, %ids, %c) {{include_last_offset=true}} : f32[2,4]
            return %y""",
    ),
    _narrow("embedding", "", "f32[2,3,4]"),
    _narrow("index_select", "{dim=0}", "f32[6,4]"),
    _narrow("gather", "{dim=0}", "f32[2,3]"),
)
