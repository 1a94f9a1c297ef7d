"""torch-rechub 0.9.0: models that match users and items, and those of sequences."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from tests.zoo.model import Example, Maker, Sizes
from tests.zoo.rechub_features import Builder, Features, Made, kinds


def _matching() -> Any:
    from torch_rechub.models import matching

    return matching


def _user_side(f: Features) -> list[Any]:
    return [
        f.one("user", f.sizes.users),
        f.one("gender", 3),
        f.several("hist", f.sizes.items, "mean", shared_with="item"),
    ]


def _item_side(f: Features) -> list[Any]:
    return [f.one("item", f.sizes.items)]


def _dssm(f: Features, mode: str | None = None) -> Made:
    model = _matching().DSSM(_user_side(f), _item_side(f), f.tower, f.tower)
    if mode is not None:
        model.mode = mode
    return [*_user_side(f), *_item_side(f)], model


def _dssm_senet(f: Features) -> Made:
    from torch_rechub.models.matching import dssm_senet

    classes = [each for each in vars(dssm_senet).values() if isinstance(each, type)]
    kind = next(each for each in classes if each.__module__ == dssm_senet.__name__)
    return [*_user_side(f), *_item_side(f)], kind(_user_side(f), _item_side(f), f.tower, f.tower)


def _facebook_dssm(f: Features) -> Made:
    model = _matching().FaceBookDSSM(
        _user_side(f), _item_side(f), [f.one("negative", f.sizes.items, shared_with="item")], f.tower, f.tower
    )
    return [*_user_side(f), *_item_side(f), f.one("negative", f.sizes.items)], model


def _negative(f: Features) -> list[Any]:
    return [f.several("negative", f.sizes.items, shared_with="item")]


def _youtube_dnn(f: Features) -> Made:
    model = _matching().YoutubeDNN(_user_side(f), _item_side(f), _negative(f), f.tower)
    return [*_user_side(f), *_item_side(f), *_negative(f)], model


def _youtube_sbc(batch: int, sizes: Sizes) -> Example:
    f = Features(sizes)
    weight = [kinds().DenseFeature("weight")]
    model = _matching().YoutubeSBC(_user_side(f), _item_side(f), weight, f.tower, f.tower, batch_size=batch)
    return Example(model, (f.request([*_user_side(f), *_item_side(f), *weight], batch),))


def _sequential(kind: str, options: Callable[[Features], dict[str, Any]] = lambda f: {}) -> Builder:
    """A matching model of user, history, item and negatives."""

    def build(f: Features) -> Made:
        user, history = [f.one("user", f.sizes.users)], [f.several("hist", f.sizes.items, shared_with="item")]
        model = getattr(_matching(), kind)(user, history, _item_side(f), _negative(f), **options(f))
        return [*user, *history, *_item_side(f), *_negative(f)], model

    return build


def _user_tower(kind: str, *arguments: Any) -> Builder:
    """A model of the history alone, exported as its user tower."""

    def build(f: Features) -> Made:
        history = kinds().SequenceFeature("hist", f.sizes.items, embed_dim=f.sizes.width)
        model = getattr(_matching(), kind)(history, *arguments)
        model.mode = "user"
        return [history], model

    return build


def _sasrec(f: Features) -> Made:
    features = [
        f.several(name, f.sizes.items, shared_with=None if name == "seq" else "seq")
        for name in ("seq", "pos", "neg")
    ]
    return features, _matching().SASRec(features, max_len=f.sizes.history, num_blocks=2)


def _sine(batch: int, sizes: Sizes) -> Example:
    f = Features(sizes)
    generator = torch.Generator().manual_seed(5)
    model = _matching().SINE(
        ["hist"], ["item"], ["neg"], f.sizes.items, f.sizes.width, 16, 8, 3, f.sizes.history
    )
    history = f.request([f.several("hist", f.sizes.items)], batch)
    item = torch.randint(1, f.sizes.items, (batch,), generator=generator)
    negative = torch.randint(1, f.sizes.items, (batch, 5), generator=generator)
    return Example(model, ({**history, "item": item, "neg": negative},))


def _hstu(batch: int, sizes: Sizes) -> Example:
    from torch_rechub.models.generative.hstu import HSTUModel

    f = Features(sizes)
    model = HSTUModel(
        vocab_size=f.sizes.items, d_model=32, n_heads=2, n_layers=2, dqk=8, dv=8, max_seq_len=f.sizes.history
    )
    seconds = torch.arange(f.sizes.history).repeat(batch, 1) * 60
    return Example(model, (f.request([f.several("hist", f.sizes.items)], batch)["hist"], seconds))


BUILDERS: tuple[tuple[str, Builder], ...] = (
    ("DSSM", _dssm),
    ("DSSM user tower", partial(_dssm, mode="user")),
    ("DSSM item tower", partial(_dssm, mode="item")),
    ("DSSM-SENet", _dssm_senet),
    ("FaceBookDSSM", _facebook_dssm),
    ("YoutubeDNN", _youtube_dnn),
    ("GRU4Rec", _sequential("GRU4Rec", lambda f: {"user_params": f.tower})),
    ("MIND", _sequential("MIND", lambda f: {"max_length": f.sizes.history})),
    ("ComirecSA", _sequential("ComirecSA")),
    ("ComirecDR", _sequential("ComirecDR", lambda f: {"max_length": f.sizes.history})),
    ("STAMP", _user_tower("STAMP", 0.05, 0.002)),
    ("NARM", _user_tower("NARM", 16, 0.1, 0.1)),
    ("SASRec", _sasrec),
)

# Those that take something besides features.
MAKERS: tuple[tuple[str, Maker], ...] = (
    ("YoutubeSBC", _youtube_sbc),
    ("SINE", _sine),
    ("HSTU", _hstu),
)
