"""deepctr-torch 0.3.0: every model class. Input: one float matrix [B, columns] that holds ids as floats."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, Final

import pytest
import torch

from tests.zoo.model import Example, Maker, Sizes, ZooModel

LIBRARY = "deepctr-torch"
# Stands for the widths of the MLP, which the sizes say.
HIDDEN: Final = object()
_MLP: Final[Mapping[str, Any]] = MappingProxyType({"dnn_hidden_units": HIDDEN})


def _library() -> Any:
    """The package; on import it asks a package index for its newest version, which is not wanted here."""
    answer = SimpleNamespace(status_code=404)
    stand_in = ModuleType("requests")
    vars(stand_in).update(get=lambda url: answer, codes=SimpleNamespace(ok=200))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "requests", stand_in)
        import deepctr_torch.inputs
        import deepctr_torch.models

    return deepctr_torch


def _columns(sizes: Sizes, pooling: str = "", *, has_length: bool = False) -> list[Any]:
    """Columns of ids, of numbers, and a padded list of ids where there is a pooling."""
    inputs = _library().inputs
    columns = [
        inputs.SparseFeat(f"C{i + 1}", rows, embedding_dim=sizes.width) for i, rows in enumerate(sizes.rows)
    ]
    columns += [inputs.DenseFeat(f"I{i + 1}", 1) for i in range(sizes.dense)]
    if pooling:
        genres = inputs.SparseFeat("genres", 30, embedding_dim=sizes.width)
        length = "genres_length" if has_length else None
        columns.append(inputs.VarLenSparseFeat(genres, maxlen=5, combiner=pooling, length_name=length))
    return columns


def _history_columns(sizes: Sizes) -> list[Any]:
    """The feature set of the library's own DIN example."""
    inputs = _library().inputs
    one = [
        inputs.SparseFeat("user", sizes.users, embedding_dim=sizes.width),
        inputs.SparseFeat("gender", 2, embedding_dim=4),
        inputs.SparseFeat("item_id", sizes.items, embedding_dim=sizes.width),
        inputs.SparseFeat("cate_id", 10, embedding_dim=4),
        inputs.DenseFeat("pay_score", 1),
    ]
    for name, rows, width in (("item_id", sizes.items, sizes.width), ("cate_id", 10, 4)):
        feature = inputs.SparseFeat(f"hist_{name}", rows, embedding_dim=width, embedding_name=name)
        one.append(inputs.VarLenSparseFeat(feature, maxlen=sizes.history, length_name="seq_length"))
    return one


def _matrix(columns: Sequence[Any], batch: int) -> torch.Tensor:
    """The input matrix: list columns are padded with 0, more so in later rows."""
    inputs = _library().inputs
    generator = torch.Generator().manual_seed(3)
    places = inputs.build_input_features(columns)
    x = torch.zeros(batch, max(stop for _, stop in places.values()))
    rows = torch.arange(batch).unsqueeze(1)
    for column in columns:
        start, stop = places[column.name]
        if isinstance(column, inputs.DenseFeat):
            x[:, start:stop] = torch.rand(batch, stop - start, generator=generator)
            continue
        shape = (batch, stop - start)
        drawn = torch.randint(1, column.vocabulary_size, shape, generator=generator).float()
        if isinstance(column, inputs.VarLenSparseFeat):
            lengths = 1 + rows % (stop - start)
            drawn = drawn * (torch.arange(stop - start) < lengths)
            if column.length_name:
                x[:, places[column.length_name][0]] = lengths.squeeze(1).float()
        x[:, start:stop] = drawn
    return x


def _options(sizes: Sizes, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a class; those that hold HIDDEN get the widths of the sizes."""
    return {name: sizes.hidden if value is HIDDEN else value for name, value in given.items()}


def _wide_and_deep(kind: str, pooling: str = "", *, has_length: bool = False, **options: Any) -> Any:
    """A class that takes the columns of its linear and of its deep part."""

    def make(batch: int, sizes: Sizes) -> Example:
        columns = _columns(sizes, pooling, has_length=has_length)
        model = getattr(_library().models, kind)(columns, columns, device="cpu", **_options(sizes, options))
        return Example(model, (_matrix(columns, batch),))

    return make


def _sparse_only(kind: str, **options: Any) -> Maker:
    """A class whose deep part takes id columns only."""

    def make(batch: int, sizes: Sizes) -> Example:
        columns = _columns(sizes)
        sparse = columns[: len(sizes.rows)]
        model = getattr(_library().models, kind)(columns, sparse, device="cpu", **_options(sizes, options))
        return Example(model, (_matrix(columns, batch),))

    return make


def _one_list(kind: str, **options: Any) -> Maker:
    """A class that takes all columns once."""

    def make(batch: int, sizes: Sizes) -> Example:
        columns = _columns(sizes)
        model = getattr(_library().models, kind)(columns, device="cpu", **_options(sizes, options))
        return Example(model, (_matrix(columns, batch),))

    return make


def _history(kind: str, **options: Any) -> Maker:
    """A class that attends to a list of earlier items."""

    def make(batch: int, sizes: Sizes) -> Example:
        columns = _history_columns(sizes)
        names = ["item_id", "cate_id"]
        model = getattr(_library().models, kind)(columns, names, device="cpu", **_options(sizes, options))
        return Example(model, (_matrix(columns, batch),))

    return make


_TASKS: Mapping[str, Any] = {"task_types": ["binary", "binary"], "task_names": ["ctr", "ctcvr"]}
_PLAIN = ("WDL", "DeepFM", "xDeepFM", "AutoInt", "DCN", "DCNMix", "FiBiNET", "NFM", "ONN", "IFM", "DIFM")

_MAKERS: tuple[tuple[str, Maker], ...] = (
    *((kind, _wide_and_deep(kind, **_MLP)) for kind in _PLAIN),
    ("CCPM", _sparse_only("CCPM", **_MLP)),
    ("AFM", _sparse_only("AFM")),
    ("AFN", _wide_and_deep("AFN", ltl_hidden_size=16, afn_dnn_hidden_units=HIDDEN)),
    ("MLR", _one_list("MLR")),
    ("PNN inner", _one_list("PNN", use_inner=True, use_outter=False, **_MLP)),
    ("PNN outer", _one_list("PNN", use_inner=False, use_outter=True, kernel_type="mat", **_MLP)),
    ("DCN matrix", _wide_and_deep("DCN", cross_parameterization="matrix", **_MLP)),
    (
        "DeepFM batch norm, prelu",
        _wide_and_deep("DeepFM", dnn_use_bn=True, dnn_dropout=0.5, dnn_activation="prelu", **_MLP),
    ),
    ("DeepFM dice", _wide_and_deep("DeepFM", dnn_activation="dice", **_MLP)),
    ("FiBiNET all", _wide_and_deep("FiBiNET", bilinear_type="all", **_MLP)),
    ("FiBiNET each", _wide_and_deep("FiBiNET", bilinear_type="each", **_MLP)),
    *(
        (f"DeepFM list {pooling}", _wide_and_deep("DeepFM", pooling, **_MLP))
        for pooling in ("mean", "sum", "max")
    ),
    *(
        (f"DeepFM list {pooling} by length", _wide_and_deep("DeepFM", pooling, has_length=True, **_MLP))
        for pooling in ("mean", "sum", "max")
    ),
    ("DIN dice", _history("DIN", att_activation="dice", **_MLP)),
    ("DIN sigmoid", _history("DIN", att_activation="sigmoid", att_weight_normalization=True, **_MLP)),
    ("DIN relu", _history("DIN", att_activation="relu", **_MLP)),
    ("DIEN", _history("DIEN", gru_type="GRU", use_negsampling=False, **_MLP)),
    ("SharedBottom", _one_list("SharedBottom", **_TASKS)),
    ("ESMM", _one_list("ESMM", **_TASKS)),
    ("MMOE", _one_list("MMOE", num_experts=3, **_TASKS)),
    ("PLE", _one_list("PLE", **_TASKS)),
)

MODELS: tuple[ZooModel, ...] = tuple(
    ZooModel(LIBRARY, name, maker, name.split()[0]) for name, maker in _MAKERS
)
