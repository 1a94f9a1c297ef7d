"""torch-rechub 0.9.0: ranking, multi-task and matching. Input: a dict of tensors by feature name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from tests.zoo.model import Example, ZooModel

LIBRARY = "torch-rechub"
WIDTH = 8
HISTORY = 6
ROWS = (1000, 300, 50, 5)
_MLP: Mapping[str, Any] = {"dims": [32, 16], "dropout": 0.2, "activation": "relu"}
_TOWERS = [{"dims": [8]}, {"dims": [8]}]
_TASKS = ["classification", "classification"]

# Features and the model that reads them.
Made = tuple[Sequence[Any], nn.Module]


def _features() -> Any:
    from torch_rechub.basic import features

    return features


def _ranking() -> Any:
    from torch_rechub.models import ranking

    return ranking


def _multi_task() -> Any:
    from torch_rechub.models import multi_task

    return multi_task


def _matching() -> Any:
    from torch_rechub.models import matching

    return matching


def _sparse() -> list[Any]:
    return [_features().SparseFeature(f"C{i}", rows, embed_dim=WIDTH) for i, rows in enumerate(ROWS)]


def _dense() -> list[Any]:
    return [_features().DenseFeature(f"I{i}") for i in range(3)]


def _one(name: str, rows: int, **options: Any) -> Any:
    return _features().SparseFeature(name, rows, embed_dim=WIDTH, **options)


def _list(name: str, rows: int, pooling: str = "concat", **options: Any) -> Any:
    return _features().SequenceFeature(name, rows, embed_dim=WIDTH, pooling=pooling, **options)


def inputs(features: Sequence[Any], batch: int) -> dict[str, torch.Tensor]:
    """A tensor for each feature: ids [B], numbers [B], or ids [B, history] padded with 0 at their end."""
    kinds = _features()
    generator = torch.Generator().manual_seed(5)
    made: dict[str, torch.Tensor] = {}
    for feature in features:
        if isinstance(feature, kinds.DenseFeature):
            made[feature.name] = torch.rand(batch, generator=generator)
        elif isinstance(feature, kinds.SparseFeature):
            made[feature.name] = torch.randint(1, feature.vocab_size, (batch,), generator=generator)
        else:
            ids = torch.randint(1, feature.vocab_size, (batch, HISTORY), generator=generator)
            lengths = HISTORY - torch.arange(batch).unsqueeze(1) % HISTORY
            made[feature.name] = ids * (torch.arange(HISTORY) < lengths)
    return made


def _maker(build: Callable[[], Made]) -> Callable[[int], Example]:
    def make(batch: int) -> Example:
        features, model = build()
        return Example(model, (inputs(features, batch),))

    return make


def _wide_deep() -> Made:
    sparse, dense = _sparse(), _dense()
    return [*sparse, *dense], _ranking().WideDeep(wide_features=dense, deep_features=sparse, mlp_params=_MLP)


def _deep_fm(activation: str = "relu") -> Made:
    sparse, dense = _sparse(), _dense()
    params = {**_MLP, "activation": activation}
    model = _ranking().DeepFM(deep_features=[*sparse, *dense], fm_features=sparse, mlp_params=params)
    return [*sparse, *dense], model


def _deep_fm_with_list(pooling: str) -> Made:
    features = [*_sparse(), _list("genres", 30, pooling, padding_idx=0)]
    return features, _ranking().DeepFM(features, features, _MLP)


def _dcn() -> Made:
    features = [*_sparse(), *_dense()]
    return features, _ranking().DCN(features, 2, _MLP)


def _dcn_v2(structure: str, *, is_mixture: bool) -> Made:
    features = [*_sparse(), *_dense()]
    options = {
        "model_structure": structure,
        "use_low_rank_mixture": is_mixture,
        "low_rank": 4,
        "num_experts": 2,
    }
    return features, _ranking().DCNv2(features, 2, _MLP, **options)


def _of_sparse(make: Callable[[Any, list[Any]], nn.Module]) -> Callable[[], Made]:
    """A ranking model of id features only."""

    def build() -> Made:
        features = _sparse()
        return features, make(_ranking(), features)

    return build


def _field_aware(kind: str, **options: Any) -> Callable[[], Made]:
    """Field-aware models: the tables of the crossed features have rows for each field."""

    def build() -> Made:
        feature = _features().SparseFeature
        linear = [feature(f"C{i}", rows, embed_dim=1) for i, rows in enumerate(ROWS)]
        crossed = [feature(f"C{i}", rows * len(ROWS), embed_dim=WIDTH) for i, rows in enumerate(ROWS)]
        return linear, getattr(_ranking(), kind)(linear, crossed, embed_dim=WIDTH, mlp_params=_MLP, **options)

    return build


def _auto_int() -> Made:
    sparse, dense = _sparse(), _dense()
    model = _ranking().AutoInt(sparse, dense, num_layers=2, num_heads=2, mlp_params=_MLP)
    return [*sparse, *dense], model


def _sequences() -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """User, history, target and negative features of the sequential ranking models."""
    user = [_one("user", 200)]
    target = [_one("item", 100, padding_idx=0), _one("cate", 20, padding_idx=0)]
    history, negative = (
        [
            _list(f"{prefix}_{name}", rows, shared_with=name, padding_idx=0)
            for name, rows in (("item", 100), ("cate", 20))
        ]
        for prefix in ("h", "n")
    )
    return user, history, target, negative


def _din(*, use_softmax: bool) -> Made:
    user, history, target, _ = _sequences()
    attention = {"dims": [16], "activation": "dice", "use_softmax": use_softmax}
    return [*user, *history, *target], _ranking().DIN(user, history, target, {"dims": [32, 16]}, attention)


def _bst() -> Made:
    user, history, target, _ = _sequences()
    params = {"dims": [32, 16], "activation": "leakyrelu"}
    model = _ranking().BST(user, history, target, params, nhead=2, max_seq_len=HISTORY + 1)
    return [*user, *history, *target], model


def _dien() -> Made:
    user, history, target, negative = _sequences()
    model = _ranking().DIEN(user, history, negative, target, {"dims": [32, 16]})
    return [*user, *history, *target, *negative], model


def _shared_bottom() -> Made:
    features = [*_sparse(), *_dense()]
    return features, _multi_task().SharedBottom(features, _TASKS, {"dims": [32, 16]}, _TOWERS)


def _esmm() -> Made:
    features = _sparse()
    return features, _multi_task().ESMM(features[:2], features[2:], {"dims": [16]}, {"dims": [16]})


def _mmoe() -> Made:
    features = [*_sparse(), *_dense()]
    return features, _multi_task().MMOE(features, _TASKS, 3, {"dims": [32, 16]}, _TOWERS)


def _ple() -> Made:
    features = [*_sparse(), *_dense()]
    return features, _multi_task().PLE(features, _TASKS, 2, 2, 1, {"dims": [32, 16]}, _TOWERS)


def _aitm() -> Made:
    features = [*_sparse(), *_dense()]
    return features, _multi_task().AITM(features, 2, {"dims": [32, 16]}, _TOWERS)


def _user_side() -> list[Any]:
    return [_one("user", 200), _one("gender", 3), _list("hist", 100, "mean", shared_with="item")]


def _item_side() -> list[Any]:
    return [_one("item", 100)]


_UP = {"dims": [32, WIDTH]}


def _dssm(mode: str | None = None) -> Made:
    model = _matching().DSSM(_user_side(), _item_side(), _UP, _UP)
    if mode is not None:
        model.mode = mode
    return [*_user_side(), *_item_side()], model


def _dssm_senet() -> Made:
    from torch_rechub.models.matching import dssm_senet

    kinds = [
        kind for kind in vars(dssm_senet).values() if isinstance(kind, type) and issubclass(kind, nn.Module)
    ]
    kind = next(kind for kind in kinds if kind.__module__ == dssm_senet.__name__)
    return [*_user_side(), *_item_side()], kind(_user_side(), _item_side(), _UP, _UP)


def _facebook_dssm() -> Made:
    model = _matching().FaceBookDSSM(
        _user_side(), _item_side(), [_one("negative", 100, shared_with="item")], _UP, _UP
    )
    return [*_user_side(), *_item_side(), _one("negative", 100)], model


def _negative() -> list[Any]:
    return [_list("negative", 100, shared_with="item")]


def _youtube_dnn() -> Made:
    model = _matching().YoutubeDNN(_user_side(), _item_side(), _negative(), _UP)
    return [*_user_side(), *_item_side(), *_negative()], model


def _youtube_sbc(batch: int) -> Example:
    weight = [_features().DenseFeature("weight")]
    model = _matching().YoutubeSBC(_user_side(), _item_side(), weight, _UP, _UP, batch_size=batch)
    return Example(model, (inputs([*_user_side(), *_item_side(), *weight], batch),))


def _sequential(kind: str, *arguments: Any, **options: Any) -> Callable[[], Made]:
    """A matching model of user, history, item and negatives."""

    def build() -> Made:
        user, history = [_one("user", 200)], [_list("hist", 100, shared_with="item")]
        model = getattr(_matching(), kind)(user, history, _item_side(), _negative(), *arguments, **options)
        return [*user, *history, *_item_side(), *_negative()], model

    return build


def _user_tower(kind: str, *arguments: Any) -> Callable[[], Made]:
    """A model of the history alone, exported as its user tower."""

    def build() -> Made:
        history = _features().SequenceFeature("hist", 100, embed_dim=WIDTH)
        model = getattr(_matching(), kind)(history, *arguments)
        model.mode = "user"
        return [history], model

    return build


def _sasrec() -> Made:
    features = [
        _list(name, 100, shared_with=None if name == "seq" else "seq") for name in ("seq", "pos", "neg")
    ]
    return features, _matching().SASRec(features, max_len=HISTORY, num_blocks=2)


def _sine(batch: int) -> Example:
    generator = torch.Generator().manual_seed(5)
    model = _matching().SINE(["hist"], ["item"], ["neg"], 100, WIDTH, 16, 8, 3, HISTORY)
    history = inputs([_list("hist", 100)], batch)
    item = torch.randint(1, 100, (batch,), generator=generator)
    negative = torch.randint(1, 100, (batch, 5), generator=generator)
    return Example(model, ({**history, "item": item, "neg": negative},))


def _hstu(batch: int) -> Example:
    from torch_rechub.models.generative.hstu import HSTUModel

    model = HSTUModel(vocab_size=100, d_model=32, n_heads=2, n_layers=2, dqk=8, dv=8, max_seq_len=HISTORY)
    seconds = torch.arange(HISTORY).repeat(batch, 1) * 60
    return Example(model, (inputs([_list("hist", 100)], batch)["hist"], seconds))


_BUILDERS: tuple[tuple[str, Callable[[], Made]], ...] = (
    ("WideDeep", _wide_deep),
    ("DeepFM", _deep_fm),
    *(
        (f"DeepFM {name}", lambda name=name: _deep_fm(name))
        for name in ("prelu", "dice", "sigmoid", "leakyrelu")
    ),
    *((f"DeepFM list {name}", lambda name=name: _deep_fm_with_list(name)) for name in ("mean", "sum")),
    ("DCN", _dcn),
    *(
        (
            f"DCNv2 {structure} {'mixture' if is_mixture else 'matrix'}",
            lambda structure=structure, is_mixture=is_mixture: _dcn_v2(structure, is_mixture=is_mixture),
        )
        for structure in ("crossnet_only", "stacked", "parallel")
        for is_mixture in (True, False)
    ),
    *(
        (
            f"EDCN {bridge}",
            _of_sparse(lambda kinds, fs, bridge=bridge: kinds.EDCN(fs, 2, _MLP, bridge_type=bridge)),
        )
        for bridge in ("hadamard_product", "pointwise_addition", "concatenation", "attention_pooling")
    ),
    ("AFM", _of_sparse(lambda kinds, features: kinds.AFM(features, WIDTH, t=16))),
    *(
        (
            f"FiBiNet {bilinear}",
            _of_sparse(lambda kinds, fs, bilinear=bilinear: kinds.FiBiNet(fs, _MLP, bilinear_type=bilinear)),
        )
        for bilinear in ("field_all", "field_each", "field_interaction")
    ),
    ("DeepFFM", _field_aware("DeepFFM")),
    ("FatDeepFFM", _field_aware("FatDeepFFM", reduction_ratio=1)),
    ("AutoInt", _auto_int),
    ("DIN", lambda: _din(use_softmax=False)),
    ("DIN softmax", lambda: _din(use_softmax=True)),
    ("BST", _bst),
    ("DIEN", _dien),
    ("SharedBottom", _shared_bottom),
    ("ESMM", _esmm),
    ("MMOE", _mmoe),
    ("PLE", _ple),
    ("AITM", _aitm),
    ("DSSM", _dssm),
    ("DSSM user tower", lambda: _dssm("user")),
    ("DSSM item tower", lambda: _dssm("item")),
    ("DSSM-SENet", _dssm_senet),
    ("FaceBookDSSM", _facebook_dssm),
    ("YoutubeDNN", _youtube_dnn),
    ("GRU4Rec", _sequential("GRU4Rec", {"dims": [32, WIDTH]})),
    ("MIND", _sequential("MIND", max_length=HISTORY)),
    ("ComirecSA", _sequential("ComirecSA")),
    ("ComirecDR", _sequential("ComirecDR", max_length=HISTORY)),
    ("STAMP", _user_tower("STAMP", 0.05, 0.002)),
    ("NARM", _user_tower("NARM", 16, 0.1, 0.1)),
    ("SASRec", _sasrec),
)

MODELS: tuple[ZooModel, ...] = (
    *(ZooModel(LIBRARY, name, _maker(build), name.split()[0]) for name, build in _BUILDERS),
    ZooModel(LIBRARY, "YoutubeSBC", _youtube_sbc, "YoutubeSBC"),
    ZooModel(LIBRARY, "SINE", _sine, "SINE"),
    ZooModel(LIBRARY, "HSTU", _hstu, "HSTU"),
)
