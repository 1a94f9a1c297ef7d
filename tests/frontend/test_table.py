"""The table of importers and the canon table."""

from __future__ import annotations

import pytest

from dlrmc.frontend.aten import IMPORTERS
from dlrmc.frontend.canon import KEPT_WHOLE, canon_table, find_overload

# The operators of the measured tiers T0 to T2 in canon, and of T3, which every public CTR library uses.
TIERS = (
    *(
        "linear.default",
        "relu.default",
        "sigmoid.default",
        "embedding_bag.padding_idx",
        "cat.default",
        "view.default",
    ),
    *("permute.default", "unsqueeze.default", "squeeze.dims", "slice.Tensor", "select.int", "bmm.default"),
    *(
        "index.Tensor",
        "clone.default",
        "embedding.default",
        "add.Tensor",
        "sub.Tensor",
        "mul.Tensor",
        "div.Tensor",
    ),
    *(
        "pow.Tensor_Scalar",
        "sum.dim_IntList",
        "mean.dim",
        "_to_copy.default",
        "expand.default",
        "softmax.int",
    ),
    *(
        "_native_batch_norm_legit_no_training.default",
        "mm.default",
        "split_with_sizes.default",
        "full.default",
    ),
    *("ne.Scalar", "layer_norm.default", "tanh.default", "clamp.default", "linalg_vector_norm.default"),
    *("gather.default", "index_select.default", "sqrt.default", "repeat.default", "addmm.default"),
)
# What a program holds that was already decomposed to core.
CORE = (
    "_embedding_bag.default",
    "_embedding_bag_forward_only.default",
    "native_layer_norm.default",
    "_softmax.default",
)


@pytest.mark.parametrize("name", [*TIERS, *CORE])
def test_the_tiers_are_in_the_table(name: str) -> None:
    assert f"aten.{name}" in IMPORTERS


def test_every_target_of_the_table_is_an_operator_of_torch() -> None:
    unknown = [target for target in IMPORTERS if target != "getitem" and find_overload(target) is None]
    # Operators that only some versions of torch have.
    assert set(unknown) <= {"aten._batch_norm_no_update.default", "aten.alpha_dropout.default"}


def test_the_units_kept_whole_are_not_decomposed() -> None:
    table = canon_table()
    for name in KEPT_WHOLE:
        overload = find_overload(name)
        assert overload is None or overload not in table
    assert len(table) > 100
