"""deepctr-torch 0.3.0: every model class. Input: one float matrix [B, columns] that holds ids as floats."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch

from tests.zoo.model import Example, ZooModel

LIBRARY = "deepctr-torch"
WIDTH = 8
ROWS = (1000, 300, 50, 5, 12, 24)
HISTORY = 6
_MLP: Mapping[str, Any] = {"dnn_hidden_units": (32, 16)}


def _library() -> Any:
    """The package; on import it asks a package index for its newest version, which is not wanted here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "requests", types.ModuleType("requests"))
        import deepctr_torch.inputs
        import deepctr_torch.models

    return deepctr_torch


def _columns(pooling: str = "", *, has_length: bool = False) -> list[Any]:
    """Six id columns, four dense ones, and a padded list of ids where there is a pooling."""
    inputs = _library().inputs
    columns = [inputs.SparseFeat(f"C{i + 1}", rows, embedding_dim=WIDTH) for i, rows in enumerate(ROWS)]
    columns += [inputs.DenseFeat(f"I{i + 1}", 1) for i in range(4)]
    if pooling:
        genres = inputs.SparseFeat("genres", 30, embedding_dim=WIDTH)
        length = "genres_length" if has_length else None
        columns.append(inputs.VarLenSparseFeat(genres, maxlen=5, combiner=pooling, length_name=length))
    return columns


def _history_columns() -> list[Any]:
    """The feature set of the library's own DIN example."""
    inputs = _library().inputs
    one = [
        inputs.SparseFeat("user", 30, embedding_dim=WIDTH),
        inputs.SparseFeat("gender", 2, embedding_dim=4),
        inputs.SparseFeat("item_id", 30, embedding_dim=WIDTH),
        inputs.SparseFeat("cate_id", 10, embedding_dim=4),
        inputs.DenseFeat("pay_score", 1),
    ]
    for name, rows, width in (("item_id", 30, WIDTH), ("cate_id", 10, 4)):
        feature = inputs.SparseFeat(f"hist_{name}", rows, embedding_dim=width, embedding_name=name)
        one.append(inputs.VarLenSparseFeat(feature, maxlen=HISTORY, length_name="seq_length"))
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


def _wide_and_deep(kind: str, pooling: str = "", *, has_length: bool = False, **options: Any) -> Any:
    """A class that takes the columns of its linear and of its deep part."""

    def make(batch: int) -> Example:
        columns = _columns(pooling, has_length=has_length)
        model = getattr(_library().models, kind)(columns, columns, device="cpu", **options)
        return Example(model, (_matrix(columns, batch),))

    return make


def _sparse_only(kind: str, **options: Any) -> Callable[[int], Example]:
    """A class whose deep part takes id columns only."""

    def make(batch: int) -> Example:
        columns = _columns()
        sparse = columns[: len(ROWS)]
        model = getattr(_library().models, kind)(columns, sparse, device="cpu", **options)
        return Example(model, (_matrix(columns, batch),))

    return make


def _one_list(kind: str, **options: Any) -> Callable[[int], Example]:
    """A class that takes all columns once."""

    def make(batch: int) -> Example:
        columns = _columns()
        model = getattr(_library().models, kind)(columns, device="cpu", **options)
        return Example(model, (_matrix(columns, batch),))

    return make


def _history(kind: str, **options: Any) -> Callable[[int], Example]:
    """A class that attends to a list of earlier items."""

    def make(batch: int) -> Example:
        columns = _history_columns()
        names = ["item_id", "cate_id"]
        model = getattr(_library().models, kind)(columns, names, device="cpu", **options)
        return Example(model, (_matrix(columns, batch),))

    return make


_TASKS: Mapping[str, Any] = {"task_types": ["binary", "binary"], "task_names": ["ctr", "ctcvr"]}
_PLAIN = ("WDL", "DeepFM", "xDeepFM", "AutoInt", "DCN", "DCNMix", "FiBiNET", "NFM", "ONN", "IFM", "DIFM")

_MAKERS: tuple[tuple[str, Callable[[int], Example]], ...] = (
    *((kind, _wide_and_deep(kind, **_MLP)) for kind in _PLAIN),
    ("CCPM", _sparse_only("CCPM", **_MLP)),
    ("AFM", _sparse_only("AFM")),
    ("AFN", _wide_and_deep("AFN", ltl_hidden_size=16, afn_dnn_hidden_units=(32, 16))),
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
