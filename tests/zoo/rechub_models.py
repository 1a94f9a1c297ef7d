"""torch-rechub 0.9.0: every model. Input: a dict of tensors by feature name."""

from __future__ import annotations

from tests.zoo import rechub_matching, rechub_ranking
from tests.zoo.model import ZooModel
from tests.zoo.rechub_features import LIBRARY, maker

_MAKERS = (
    *((name, maker(build)) for name, build in (*rechub_ranking.BUILDERS, *rechub_matching.BUILDERS)),
    *rechub_matching.MAKERS,
)

MODELS: tuple[ZooModel, ...] = tuple(ZooModel(LIBRARY, name, make, name.split()[0]) for name, make in _MAKERS)
