"""The plain DLRM in its variants and import forms equals eager."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from dlrmc.frontend import import_program
from dlrmc.ir.printer import print_graph
from tests.frontend.imported import assert_equals_eager, evaluate_imported
from tests.models.plain import (
    FORMS,
    PlainConfig,
    StackedTableDlrm,
    build,
    example_inputs,
    export,
    seed_inputs,
)

VARIANTS = (
    PlainConfig(),
    PlainConfig(interaction="dot_diag", index_form="buffer"),
    PlainConfig(interaction="upper", index_form="mask_list", join="stack"),
    PlainConfig(interaction="cat", mode="mean"),
    PlainConfig(inputs="dict", join="view"),
    PlainConfig(inputs="stacked"),
    PlainConfig(inputs="keywords", dtype=torch.bfloat16),
)


def variant_id(config: PlainConfig) -> str:
    default = PlainConfig()
    changed = [
        f.name for f in dataclasses.fields(config) if getattr(config, f.name) != getattr(default, f.name)
    ]
    return "-".join(str(getattr(config, name)) for name in changed) or "default"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("config", VARIANTS, ids=variant_id)
def test_equals_eager(config: PlainConfig, form: str) -> None:
    model = build(config)
    args, kwargs = example_inputs(config)
    imported = import_program(export(model, args, kwargs, form))
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, args, kwargs), model(*args, **kwargs))


def test_undecomposed_and_canon_give_the_same_text() -> None:
    model = build()
    args, _kwargs = example_inputs(PlainConfig())
    texts = [
        print_graph(import_program(export(model, args, form=form)).graph)
        for form in ("undecomposed", "canon")
    ]
    assert texts[0] == texts[1]


def test_the_core_form_differs_only_where_linear_is_taken_apart() -> None:
    model = build()
    args, _kwargs = example_inputs(PlainConfig())
    whole, core = (import_program(export(model, args, form=form)).graph for form in ("canon", "core"))
    names = [[n.name for n in graph.nodes if not n.name.endswith("_weight_t")] for graph in (whole, core)]
    assert names[0] == names[1]
    ops = [[n.op.name for n in graph.nodes if not n.name.endswith("_weight_t")] for graph in (whole, core)]
    assert [("linear" if op == "addmm" else op) for op in ops[1]] == ops[0]


def test_shuffled_offsets_empty_bags_and_unequal_lengths() -> None:
    config = PlainConfig(num_cat=2)
    model = build(config)
    args, _kwargs = example_inputs(config, batch=4)
    program = export(model, args)
    imported = import_program(program)
    args = (args[0], [torch.tensor([0, 0, 5, 8]), torch.tensor([0, 3, 3, 4])], args[2])
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, args, {}), model(*args))


def test_the_stacked_table_form() -> None:
    config = PlainConfig(num_cat=2)
    torch.manual_seed(0)
    model = StackedTableDlrm(config).eval()
    dense, _offsets, ids = seed_inputs(config, batch=3)
    stacked = torch.stack([i.view(3, 2) + k * config.rows for k, i in enumerate(ids)], 1).flatten()
    imported = import_program(export(model, (dense, stacked)))
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, (dense, stacked), {}), model(dense, stacked))
