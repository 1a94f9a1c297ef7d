"""torch-rechub 0.9.0: models that rank, and those of several tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from tests.zoo.rechub_features import TASKS, Builder, Features, Made


def _ranking() -> Any:
    from torch_rechub.models import ranking

    return ranking


def _multi_task() -> Any:
    from torch_rechub.models import multi_task

    return multi_task


def _wide_deep(f: Features) -> Made:
    sparse, dense = f.sparse(), f.dense()
    return [*sparse, *dense], _ranking().WideDeep(wide_features=dense, deep_features=sparse, mlp_params=f.mlp)


def _deep_fm(f: Features, activation: str = "relu") -> Made:
    sparse, dense = f.sparse(), f.dense()
    params = {**f.mlp, "activation": activation}
    model = _ranking().DeepFM(deep_features=[*sparse, *dense], fm_features=sparse, mlp_params=params)
    return [*sparse, *dense], model


def _deep_fm_with_list(f: Features, pooling: str) -> Made:
    features = [*f.sparse(), f.several("genres", 30, pooling, padding_idx=0)]
    return features, _ranking().DeepFM(features, features, f.mlp)


def _dcn(f: Features) -> Made:
    features = [*f.sparse(), *f.dense()]
    return features, _ranking().DCN(features, 2, f.mlp)


def _dcn_v2(f: Features, structure: str, *, is_mixture: bool) -> Made:
    features = [*f.sparse(), *f.dense()]
    options = {
        "model_structure": structure,
        "use_low_rank_mixture": is_mixture,
        "low_rank": 4,
        "num_experts": 2,
    }
    return features, _ranking().DCNv2(features, 2, f.mlp, **options)


def _of_sparse(make: Callable[[Any, Features, list[Any]], nn.Module]) -> Builder:
    """A ranking model of id features only."""

    def build(f: Features) -> Made:
        features = f.sparse()
        return features, make(_ranking(), f, features)

    return build


def _field_aware(kind: str, **options: Any) -> Builder:
    """Field-aware models: the tables of the crossed features have rows for each field."""

    def build(f: Features) -> Made:
        rows, width = f.sizes.rows, f.sizes.width
        linear = [f.one(f"C{i}", n, embed_dim=1) for i, n in enumerate(rows)]
        crossed = [f.one(f"C{i}", n * len(rows)) for i, n in enumerate(rows)]
        model = getattr(_ranking(), kind)(linear, crossed, embed_dim=width, mlp_params=f.mlp, **options)
        return linear, model

    return build


def _auto_int(f: Features) -> Made:
    sparse, dense = f.sparse(), f.dense()
    model = _ranking().AutoInt(sparse, dense, num_layers=2, num_heads=2, mlp_params=f.mlp)
    return [*sparse, *dense], model


def _sequences(f: Features) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """User, history, target and negative features of the sequential ranking models."""
    user = [f.one("user", f.sizes.users)]
    target = [f.one("item", f.sizes.items, padding_idx=0), f.one("cate", 20, padding_idx=0)]
    history, negative = (
        [
            f.several(f"{prefix}_{name}", rows, shared_with=name, padding_idx=0)
            for name, rows in (("item", f.sizes.items), ("cate", 20))
        ]
        for prefix in ("h", "n")
    )
    return user, history, target, negative


def _din(f: Features, *, use_softmax: bool) -> Made:
    user, history, target, _ = _sequences(f)
    attention = {"dims": [16], "activation": "dice", "use_softmax": use_softmax}
    return [*user, *history, *target], _ranking().DIN(user, history, target, f.hidden, attention)


def _bst(f: Features) -> Made:
    user, history, target, _ = _sequences(f)
    params = {**f.hidden, "activation": "leakyrelu"}
    model = _ranking().BST(user, history, target, params, nhead=2, max_seq_len=f.sizes.history + 1)
    return [*user, *history, *target], model


def _dien(f: Features) -> Made:
    user, history, target, negative = _sequences(f)
    model = _ranking().DIEN(user, history, negative, target, f.hidden)
    return [*user, *history, *target, *negative], model


def _shared_bottom(f: Features) -> Made:
    features = [*f.sparse(), *f.dense()]
    return features, _multi_task().SharedBottom(features, TASKS, f.hidden, f.heads)


def _esmm(f: Features) -> Made:
    features = f.sparse()
    return features, _multi_task().ESMM(features[:2], features[2:], {"dims": [16]}, {"dims": [16]})


def _mmoe(f: Features) -> Made:
    features = [*f.sparse(), *f.dense()]
    return features, _multi_task().MMOE(features, TASKS, 3, f.hidden, f.heads)


def _ple(f: Features) -> Made:
    features = [*f.sparse(), *f.dense()]
    return features, _multi_task().PLE(features, TASKS, 2, 2, 1, f.hidden, f.heads)


def _aitm(f: Features) -> Made:
    features = [*f.sparse(), *f.dense()]
    return features, _multi_task().AITM(features, 2, f.hidden, f.heads)


BUILDERS: tuple[tuple[str, Builder], ...] = (
    ("WideDeep", _wide_deep),
    ("DeepFM", _deep_fm),
    *(
        (f"DeepFM {name}", partial(_deep_fm, activation=name))
        for name in ("prelu", "dice", "sigmoid", "leakyrelu")
    ),
    *((f"DeepFM list {name}", partial(_deep_fm_with_list, pooling=name)) for name in ("mean", "sum")),
    ("DCN", _dcn),
    *(
        (
            f"DCNv2 {structure} {'mixture' if is_mixture else 'matrix'}",
            partial(_dcn_v2, structure=structure, is_mixture=is_mixture),
        )
        for structure in ("crossnet_only", "stacked", "parallel")
        for is_mixture in (True, False)
    ),
    *(
        (
            f"EDCN {bridge}",
            _of_sparse(lambda kinds, f, fs, bridge=bridge: kinds.EDCN(fs, 2, f.mlp, bridge_type=bridge)),
        )
        for bridge in ("hadamard_product", "pointwise_addition", "concatenation", "attention_pooling")
    ),
    ("AFM", _of_sparse(lambda kinds, f, fs: kinds.AFM(fs, f.sizes.width, t=16))),
    *(
        (
            f"FiBiNet {bilinear}",
            _of_sparse(
                lambda kinds, f, fs, bilinear=bilinear: kinds.FiBiNet(fs, f.mlp, bilinear_type=bilinear)
            ),
        )
        for bilinear in ("field_all", "field_each", "field_interaction")
    ),
    ("DeepFFM", _field_aware("DeepFFM")),
    ("FatDeepFFM", _field_aware("FatDeepFFM", reduction_ratio=1)),
    ("AutoInt", _auto_int),
    ("DIN", partial(_din, use_softmax=False)),
    ("DIN softmax", partial(_din, use_softmax=True)),
    ("BST", _bst),
    ("DIEN", _dien),
    ("SharedBottom", _shared_bottom),
    ("ESMM", _esmm),
    ("MMOE", _mmoe),
    ("PLE", _ple),
    ("AITM", _aitm),
)
