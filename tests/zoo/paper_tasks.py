"""Models of several tasks, domains and towers as papers define them, and of what feeds them."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from tests.zoo.model import Example, Maker, Sizes
from tests.zoo.paper_layers import Fields, ids_of, mlp, numbers_of, of_ids, of_ids_and_numbers


class LayeredExtraction(nn.Module):
    """PLE (RecSys 2020): shared and own experts, a gate for each task and one for the shared ones."""

    def __init__(self, sizes: Sizes, tasks: int = 2, experts: int = 2, levels: int = 2) -> None:
        super().__init__()
        self.fields, self.tasks = Fields(sizes), tasks
        width, wide = sizes.hidden[-1], self.fields.count * sizes.width
        widths = [wide, *[width] * (levels - 1)]
        self.experts = nn.ModuleList(
            [
                nn.ModuleList(
                    [nn.ModuleList([mlp((w, 24, width)) for _ in range(experts)]) for _ in range(tasks + 1)]
                )
                for w in widths
            ]
        )
        self.gates = nn.ModuleList(
            [
                nn.ModuleList(
                    [
                        nn.Linear(w, experts * (2 if group < tasks else tasks + 1))
                        for group in range(tasks + 1)
                    ]
                )
                for w in widths
            ]
        )
        self.towers = nn.ModuleList([mlp((width, 8, 1)) for _ in range(tasks)])

    def forward(self, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        inputs = [self.fields(ids).flatten(1)] * (self.tasks + 1)
        for experts, gates in zip(self.experts, self.gates, strict=True):
            outputs = [[expert(x) for expert in own] for own, x in zip(experts, inputs, strict=True)]
            mixed = []
            for group, gate in enumerate(gates):
                if group < self.tasks:
                    seen = outputs[group] + outputs[-1]
                else:
                    seen = [each for own in outputs for each in own]
                weights = torch.softmax(gate(inputs[group]), dim=1).unsqueeze(1)
                mixed.append(torch.bmm(weights, torch.stack(seen, dim=1)).squeeze(1))
            inputs = mixed
        return {f"task_{k}": torch.sigmoid(tower(inputs[k])) for k, tower in enumerate(self.towers)}


class WholeSpace(nn.Module):
    """ESMM (arXiv 1804.07931): clicks, and conversions as a product; the conversion is cut off below."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        wide = self.fields.count * sizes.width
        self.click = mlp((wide, *sizes.hidden, 1), norm=True)
        self.convert = mlp((wide, *sizes.hidden, 1), norm=True)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.fields(ids).view(ids.shape[0], -1)
        click = torch.sigmoid(self.click(x))
        return click, torch.clamp(click * self.convert(x).sigmoid(), 1e-6, 1 - 1e-6)


class StarTopology(nn.Module):
    """STAR (arXiv 2101.11427): a sample's domain, its last id, scales shared weights."""

    def __init__(self, sizes: Sizes, domains: int = 3) -> None:
        super().__init__()
        self.fields, self.domains = Fields(sizes), domains
        widths = (self.fields.count * sizes.width, *sizes.hidden[-1:], 1)
        pairs = list(pairwise(widths))
        self.shared = nn.ParameterList([nn.Parameter(torch.randn(i, o) * 0.1) for i, o in pairs])
        self.own = nn.ParameterList([nn.Parameter(torch.randn(domains, i, o)) for i, o in pairs])
        self.bias = nn.ParameterList([nn.Parameter(torch.zeros(domains, o)) for _, o in pairs])
        self.scale = nn.Embedding(domains, widths[0])

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        domain = ids[:, -1] % self.domains
        x = F.layer_norm(self.fields(ids).flatten(1), (self.scale.embedding_dim,))
        x = (x * (1 + self.scale(domain))).unsqueeze(1)
        for number, (shared, own, bias) in enumerate(zip(self.shared, self.own, self.bias, strict=True)):
            x = torch.bmm(x, shared * own[domain]) + bias[domain].unsqueeze(1)
            x = torch.relu(x) if number == 0 else x
        return x.flatten().sigmoid()


class Towers(nn.Module):
    """Two towers (DSSM; RecSys 2019): normalised, scored against the whole batch with a temperature."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        self.split = self.fields.count // 2
        self.user = mlp((self.split * sizes.width, *sizes.hidden))
        self.item = mlp(((self.fields.count - self.split) * sizes.width, *sizes.hidden))
        self.temperature = nn.Parameter(torch.tensor(0.07))

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.fields(ids)
        user = F.normalize(self.user(x[:, : self.split].flatten(1)), p=2, dim=-1)
        item = F.normalize(self.item(x[:, self.split :].flatten(1)), p=2, dim=-1)
        scores = (user @ item.t()) / self.temperature.clamp(min=0.01)
        return torch.log_softmax(scores, dim=-1), torch.cosine_similarity(user, item)


class ParameterGates(nn.Module):
    """PEPNet and LHUC (arXiv 2302.01115): gates of 0 to 2, made of a few fields, on every layer."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        wide, prior = self.fields.count * sizes.width, 2 * sizes.width
        widths = (wide, *sizes.hidden)
        self.gates = nn.ModuleList([mlp((prior + w, 12, w)) for w in widths])
        self.layers = nn.ModuleList([nn.Linear(i, o) for i, o in pairwise(widths)])
        self.out = nn.Linear(widths[-1], 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.fields(ids)
        prior, h = x[:, :2].flatten(1), x.flatten(1)
        h = h * 2 * torch.sigmoid(self.gates[0](torch.cat([prior, h.detach()], 1)))
        for gate, layer in zip(self.gates[1:], self.layers, strict=True):
            h = F.silu(layer(h))
            h = h * 2 * torch.sigmoid(gate(torch.cat([prior, h.detach()], 1)))
        return torch.sigmoid(self.out(h))[:, 0]


class NumbersAsFields(nn.Module):
    """Numbers made fields: buckets, AutoDis (arXiv 2012.08986), and the Criteo winners' log square."""

    def __init__(self, sizes: Sizes, buckets: int = 6) -> None:
        super().__init__()
        self.register_buffer("edges", torch.linspace(-1.5, 1.5, buckets - 1))
        self.tables = nn.ModuleList([nn.Embedding(buckets, sizes.width) for _ in range(sizes.dense)])
        self.logs = nn.Embedding(20, sizes.width)
        self.shared = nn.Parameter(torch.randn(sizes.dense, buckets, sizes.width))
        self.first = nn.Parameter(torch.randn(sizes.dense, buckets))
        self.second = nn.Parameter(torch.randn(sizes.dense, buckets, buckets) * 0.3)
        self.fields = Fields(sizes)
        self.head = mlp(((3 * sizes.dense + self.fields.count) * sizes.width, *sizes.hidden, 1))

    def forward(self, ids: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        places = torch.bucketize(numbers, self.edges)
        coarse = torch.stack([table(places[:, k]) for k, table in enumerate(self.tables)], 1)
        h = F.leaky_relu(numbers.unsqueeze(-1) * self.first)
        h = torch.einsum("bnh,nhk->bnk", h, self.second) + 0.1 * h
        soft = torch.einsum("bnk,nkd->bnd", torch.softmax(h / 0.5, -1), self.shared)
        large = numbers.abs() * 10
        logs = torch.where(large > 2, torch.floor(torch.log(large + 1) ** 2), large).long().clamp(0, 19)
        x = torch.cat([coarse, soft, self.logs(logs), self.fields(ids)], dim=1)
        return torch.sigmoid(self.head(x.flatten(1)))


class HashedBags(nn.Module):
    """Hash embeddings (arXiv 1709.03933): ids of lists are multiplied, folded and pooled by weight."""

    def __init__(self, sizes: Sizes, buckets: int = 37) -> None:
        super().__init__()
        self.buckets = buckets
        self.small = nn.ModuleList([nn.EmbeddingBag(buckets, sizes.width, mode="sum") for _ in range(2)])
        self.importance = nn.Embedding(sizes.items, 2)
        self.mean = nn.EmbeddingBag(sizes.items, sizes.width, mode="mean", padding_idx=0)
        self.head = mlp((3 * sizes.width + sizes.dense, *sizes.hidden, 1), activation=nn.ELU)

    def forward(self, lists: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        weights = self.importance(lists) * (lists != 0).unsqueeze(-1)
        hashed = [
            bag((lists * factor + shift) % self.buckets, per_sample_weights=weights[..., k])
            for k, (bag, factor, shift) in enumerate(
                zip(self.small, (2654435761, 40503), (7, 3), strict=True)
            )
        ]
        x = torch.cat([*hashed, self.mean(lists), torch.asinh(numbers)], dim=1)
        return self.head(x).sigmoid()


def _hashed_bags(batch: int, sizes: Sizes) -> Example:
    generator = torch.Generator().manual_seed(3)
    lists = torch.randint(0, sizes.items, (batch, sizes.history), generator=generator)
    return Example(HashedBags(sizes), (lists, numbers_of(batch, sizes)))


def _by_name(batch: int, sizes: Sizes) -> Example:
    """A model that takes one dict of columns, as data loaders give them."""
    columns = {f"C{k}": ids for k, ids in enumerate(ids_of(batch, sizes).unbind(1))}
    numbers = {f"I{k}": value for k, value in enumerate(numbers_of(batch, sizes).unbind(1))}
    return Example(ByName(sizes), ({**columns, **numbers},))


class ByName(nn.Module):
    """DeepFM (arXiv 1703.04247) over a dict of columns, those of numbers beside those of ids."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.tables = nn.ModuleDict({f"C{k}": nn.Embedding(n, sizes.width) for k, n in enumerate(sizes.rows)})
        self.first = nn.ModuleDict({f"C{k}": nn.Embedding(n, 1) for k, n in enumerate(sizes.rows)})
        for table in self.tables.values():
            nn.init.normal_(table.weight, std=0.1)
        self.numbers = [f"I{k}" for k in range(sizes.dense)]
        self.deep = mlp((len(sizes.rows) * sizes.width + sizes.dense, *sizes.hidden, 1), norm=True)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        vectors = [table(batch[name].unsqueeze(1)) for name, table in self.tables.items()]
        x = torch.cat(vectors, dim=1)
        numbers = torch.stack([batch[name].float() for name in self.numbers], dim=-1)
        linear = sum(table(batch[name]) for name, table in self.first.items())
        square, squares = x.sum(dim=1, keepdim=True) ** 2, (x * x).sum(dim=1, keepdim=True)
        pairs = 0.5 * (square - squares).sum(dim=2)
        return torch.sigmoid(linear + pairs + self.deep(torch.cat([x.flatten(1), numbers], -1)) + self.bias)


MAKERS: tuple[tuple[str, Maker], ...] = (
    ("LayeredExtraction", of_ids(LayeredExtraction)),
    ("WholeSpace", of_ids(WholeSpace)),
    ("StarTopology", of_ids(StarTopology)),
    ("Towers", of_ids(Towers)),
    ("ParameterGates", of_ids(ParameterGates)),
    ("NumbersAsFields", of_ids_and_numbers(NumbersAsFields)),
    ("HashedBags", _hashed_bags),
    ("ByName", _by_name),
)
