"""THE list of passes, in order, with the reason of each."""

from __future__ import annotations

from collections.abc import Sequence

from dlrmc.ir.graph import Graph
from dlrmc.passes import (
    absorb_consumers,
    align_weights,
    assemble,
    batch_first,
    cse,
    dce,
    derive_weights,
    fold_constants,
    group_embeddings,
    spread_constants,
    wide_lists,
)
from dlrmc.passes.engine import apply_rules
from dlrmc.passes.form_kernels import form_kernels
from dlrmc.passes.fuse_rows import fuse_rows
from dlrmc.passes.pass_types import Pass, PassResult
from dlrmc.passes.peepholes import ALL_RULES, THEMES
from dlrmc.passes.rule import Rule


def _peepholes(graph: Graph) -> PassResult:
    return apply_rules(graph, ALL_RULES)


def _form_kernels(graph: Graph) -> PassResult:
    return PassResult.of({"kernels": form_kernels(graph)})


def _theme(name: str, rules: Sequence[Rule]) -> Pass:
    return Pass(
        f"peepholes-{name}", f"Only the peepholes about {name}.", lambda graph: apply_rules(graph, rules)
    )


PIPELINE: tuple[Pass, ...] = (
    Pass("dce", "What the importer read but no output needs is not worth looking at.", dce.run),
    Pass(
        "fold-constants",
        "Pair tables and offsets become values that the peepholes can compare.",
        fold_constants.run,
    ),
    Pass(
        "spread-constants",
        "A constant that is the same for every row of the batch needs no rows.",
        spread_constants.run,
    ),
    Pass("cse", "Equal operands are one node, so that a pattern's repeated name matches them.", cse.run),
    Pass(
        "peepholes", "Every form of an op becomes the one that has a kernel; views and copies go.", _peepholes
    ),
    Pass(
        "batch-first",
        "Attention by heads and layers with time in front become ops on rows of the batch.",
        batch_first.run,
    ),
    Pass("peepholes", "The views between the two layouts go.", _peepholes),
    Pass(
        "derive-weights",
        "What depends on weights only is computed at load, not in a request.",
        derive_weights.run,
    ),
    Pass("group-embeddings", "One launch serves all tables of equal width.", group_embeddings.run),
    Pass(
        "absorb-consumers",
        "Readers of the bags read the group's buffer, so that no cat copies it.",
        absorb_consumers.run,
    ),
    Pass("dce", "Selects and consts that nothing reads any more belong into no kernel.", dce.run),
    Pass("wide-lists", "A kernel takes some hundred pointers.", wide_lists.run),
    Pass(
        "fuse-rows",
        "What depends on one row of the batch only becomes one kernel over tiles of rows.",
        fuse_rows,
    ),
    Pass(
        "align-weights",
        "Rows of the weights of large products start where 16-byte copies can take them.",
        align_weights.run,
    ),
    Pass(
        "assemble",
        "The cats that are left are written by the kernels of their parts where these can.",
        assemble.run,
    ),
    Pass(
        "form-kernels",
        "Every op that computes goes into a kernel with the views on its operands.",
        _form_kernels,
    ),
)

# One kernel an op: what the fused program is compared with, and what a kernel of its own is tested by.
UNFUSED_PIPELINE: tuple[Pass, ...] = tuple(each for each in PIPELINE if each.name != "fuse-rows")

# What `dlrmc opt --passes` knows besides.
THEME_PASSES: tuple[Pass, ...] = tuple(_theme(name, rules) for name, rules in THEMES.items())
