"""Interactions of features as papers define them, written for this project."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.zoo.model import Maker, Sizes
from tests.zoo.paper_layers import Fields, mlp, of_ids, of_ids_and_numbers, pair_rows


class CompressedInteraction(nn.Module):
    """xDeepFM (arXiv 1803.05170): outer products along each dimension, compressed; half goes on."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        count, maps = self.fields.count, 12
        self.weights = nn.ParameterList(
            [nn.Parameter(torch.randn(maps, n, count) * 0.1) for n in (count, maps // 2)]
        )
        self.deep = mlp((count * sizes.width, *sizes.hidden, 1))
        self.out = nn.Linear(maps // 2 + maps, 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x0 = self.fields(ids)
        x, pooled = x0, []
        for number, weight in enumerate(self.weights):
            x = torch.relu(torch.einsum("bhd,bmd,ohm->bod", x, x0, weight))
            if number == 0:
                x, kept = x.chunk(2, dim=1)
                pooled.append(kept.sum(-1))
            else:
                pooled.append(x.sum(dim=-1))
        return torch.sigmoid(self.out(torch.cat(pooled, 1)) + self.deep(x0.flatten(1))).squeeze(-1)


class SqueezedBilinear(nn.Module):
    """FiBiNET (arXiv 1905.09433): fields weighted by squeeze and excitation, bilinear pairs of both."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        count, width = self.fields.count, sizes.width
        self.excite = nn.Sequential(
            nn.Linear(count, 2, bias=False), nn.ReLU(), nn.Linear(2, count, bias=False), nn.ReLU()
        )
        self.bilinear = nn.Parameter(torch.randn(count, width, width) * 0.1)
        self.rows, self.columns = pair_rows(count)
        self.head = mlp((2 * len(self.rows) * width, *sizes.hidden, 1), norm=True)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.fields(ids)
        weighted = x * self.excite(x.mean(-1)).unsqueeze(2)
        return torch.sigmoid(self.head(torch.cat([self.pairs(x), self.pairs(weighted)], 1)))

    def pairs(self, x: torch.Tensor) -> torch.Tensor:
        turned = torch.einsum("bfd,fde->bfe", x, self.bilinear)
        return (turned[:, self.rows] * x[:, self.columns]).flatten(1)


class FieldMatrices(nn.Module):
    """FmFM and FwFM (arXiv 2102.12994, 1806.03514): a matrix for each pair of fields, pairs by a mask."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        count = self.fields.count
        self.rows, self.columns = pair_rows(count)
        self.matrices = nn.Parameter(torch.randn(len(self.rows), sizes.width, sizes.width) * 0.1)
        upper = torch.triu(torch.ones(count, count), 1).bool()
        self.upper = nn.Parameter(upper, requires_grad=False)
        self.weights = nn.Linear(len(self.rows), 1, bias=False)
        self.first = nn.ModuleList([nn.Embedding(rows, 1) for rows in sizes.rows])
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.fields(ids)
        turned = torch.matmul(x[:, self.rows].unsqueeze(2), self.matrices).squeeze(2)
        by_matrix = (turned * x[:, self.columns]).sum((1, 2)).unsqueeze(1)
        dots = torch.masked_select(torch.bmm(x, x.transpose(1, 2)), self.upper)
        by_weight = self.weights(dots.view(-1, len(self.rows)))
        first = torch.cat([table(ids[:, k]) for k, table in enumerate(self.first)], 1).sum(1, keepdim=True)
        return torch.sigmoid(by_matrix + by_weight + first + self.bias)


class MixtureOfCrosses(nn.Module):
    """DCN-Mix (arXiv 2008.13535): low-rank cross layers of several experts behind a gate."""

    def __init__(self, sizes: Sizes, layers: int = 2, experts: int = 3, rank: int = 5) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        width = self.fields.count * sizes.width + sizes.dense
        self.u = nn.Parameter(torch.randn(layers, experts, width, rank) * 0.1)
        self.v = nn.Parameter(torch.randn(layers, experts, width, rank) * 0.1)
        self.c = nn.Parameter(torch.randn(layers, experts, rank, rank) * 0.1)
        self.gates = nn.ModuleList([nn.Linear(width, experts, bias=False) for _ in range(layers)])
        self.bias = nn.Parameter(torch.zeros(layers, width))
        self.head = mlp((width, *sizes.hidden, 1))

    def forward(self, ids: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        x0 = torch.cat([self.fields(ids).flatten(1), torch.log1p(numbers.clamp(min=0))], dim=-1)
        x = x0
        for layer, gate in enumerate(self.gates):
            low = torch.tanh(torch.einsum("bw,ewr->ber", x, self.v[layer]))
            low = torch.tanh(torch.einsum("ber,ers->bes", low, self.c[layer]))
            high = torch.einsum("ber,ewr->bew", low, self.u[layer]) + self.bias[layer]
            crossed = x0.unsqueeze(1) * high
            x = x + torch.einsum("be,bew->bw", gate(x).softmax(-1), crossed)
        return self.head(x).sigmoid()


class GatedCross(nn.Module):
    """GDCN (arXiv 2311.04635) beside a deep part, joined by EDCN's bridge (KDD 2021)."""

    def __init__(self, sizes: Sizes, layers: int = 3) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        width = self.fields.count * sizes.width
        self.cross = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.gate = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(layers)])
        self.deep = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.regulate = nn.Parameter(torch.zeros(2, width // sizes.width))
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(3 * width, 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.fields(ids)
        gates = torch.softmax(self.regulate / 0.5, dim=-1)
        x0, h = ((x * gate[None, :, None]).flatten(1) for gate in gates.unbind(0))
        c = x0
        for cross, gate, deep in zip(self.cross, self.gate, self.deep, strict=True):
            c = x0 * cross(c) * torch.sigmoid(gate(c)) + c
            h = F.relu(deep(h))
            bridge = c * h
            c, h = self.norm(c + bridge), h + bridge
        return torch.sigmoid(self.out(torch.cat((c, h, bridge), -1)))


class InstanceMasks(nn.Module):
    """MaskNet (arXiv 2102.07619), serial: masks made of the embeddings multiply normalised layers."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        width = self.fields.count * sizes.width
        self.norms = nn.ModuleList([nn.LayerNorm(sizes.width) for _ in range(self.fields.count)])
        self.masks = nn.ModuleList([mlp((width, 2 * n, n)) for n in (width, 24)])
        self.layers = nn.ModuleList([nn.Linear(n, 24, bias=False) for n in (width, 24)])
        self.after = nn.ModuleList([nn.LayerNorm(24) for _ in range(2)])
        self.out = nn.Linear(24, 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.fields(ids)
        flat = x.reshape(x.size(0), -1)
        h = torch.cat([norm(x[:, k]) for k, norm in enumerate(self.norms)], 1)
        for mask, layer, norm in zip(self.masks, self.layers, self.after, strict=True):
            h = F.relu(norm(layer(h * mask(flat))))
        return torch.sigmoid(self.out(h))


class TwoStreams(nn.Module):
    """FinalMLP (arXiv 2304.00902): two gated MLPs, joined by a bilinear form with several heads."""

    def __init__(self, sizes: Sizes, heads: int = 2) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        width = self.fields.count * sizes.width
        self.context = nn.Parameter(torch.zeros(2, 1, 8))
        self.gates = nn.ModuleList([mlp((8, 16, width)) for _ in range(2)])
        self.streams = nn.ModuleList([mlp((width, *sizes.hidden), norm=True) for _ in range(2)])
        self.heads, last = heads, sizes.hidden[-1]
        self.linear = nn.ModuleList([nn.Linear(last, 1) for _ in range(2)])
        self.bilinear = nn.Parameter(torch.randn(heads, last // heads, last // heads, 1) * 0.1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.fields(ids).flatten(start_dim=1)
        pairs = zip(self.gates, self.context.unbind(0), strict=True)
        inputs = [x * 2 * gate(context.expand(x.shape[0], -1)).sigmoid() for gate, context in pairs]
        a, b = (stream(each) for stream, each in zip(self.streams, inputs, strict=True))
        first = self.linear[0](a) + self.linear[1](b)
        left = a.view(-1, self.heads, a.shape[1] // self.heads).unsqueeze(2)
        right = b.view(-1, self.heads, b.shape[1] // self.heads, 1)
        middle = torch.matmul(left, self.bilinear.squeeze(-1))
        return torch.sigmoid(first + torch.matmul(middle, right).sum(dim=1).squeeze(-1))


class Products(nn.Module):
    """PNN (arXiv 1611.00144), inner and outer, with the residual units of Deep Crossing (KDD 2016)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        count, width = self.fields.count, sizes.width
        self.rows, self.columns = pair_rows(count)
        self.kernel = nn.Parameter(torch.randn(width, len(self.rows), width) * 0.1)
        joined = count * width + 2 * len(self.rows)
        self.inner = nn.ModuleList([nn.Linear(joined, 24) for _ in range(2)])
        self.back = nn.ModuleList([nn.Linear(24, joined) for _ in range(2)])
        self.out = nn.Linear(joined, 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.fields(ids)
        p, q = x[:, self.rows], x[:, self.columns]
        inner = torch.sum(p * q, dim=2)
        outer = torch.sum((p.unsqueeze(1) * self.kernel).sum(-1).permute(0, 2, 1) * q, dim=-1)
        h = torch.cat([x.view(x.size(0), -1), inner, outer], dim=1)
        for down, up in zip(self.inner, self.back, strict=True):
            h = F.relu(h + up(F.relu(down(h))))
        return self.out(h).sigmoid().view(-1)


class AttentivePairs(nn.Module):
    """AFM and NFM (arXiv 1708.04617, 1708.05027): pooled pairs, by attention and by sums of squares."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        self.rows, self.columns = (each.tolist() for each in pair_rows(self.fields.count))
        self.attention = nn.Sequential(nn.Linear(sizes.width, 7), nn.ReLU(), nn.Linear(7, 1, bias=False))
        self.p = nn.Linear(sizes.width, 1, bias=False)
        self.norm = nn.BatchNorm1d(sizes.width)
        self.head = mlp((sizes.width, *sizes.hidden, 1), activation=nn.Tanh)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.fields(ids)
        pairs = x[:, self.rows] * x[:, self.columns]
        weights = F.softmax(self.attention(pairs), dim=1)
        attended = self.p((weights * pairs).sum(1))
        pooled = 0.5 * (x.sum(1).pow(2) - x.pow(2).sum(1))
        return torch.sigmoid(attended + self.head(self.norm(pooled)))


class FieldAware(nn.Module):
    """ONN and FFM (arXiv 1904.12579): a table for each pair of fields, products into an MLP."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.count = len(sizes.rows)
        self.tables = nn.ModuleDict(
            {
                f"{i}_{j}": nn.Embedding(rows, 4)
                for i, rows in enumerate(sizes.rows)
                for j in range(self.count)
                if i != j
            }
        )
        self.head = mlp((self.count * (self.count - 1) // 2, *sizes.hidden, 1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        dots = [
            (self.tables[f"{i}_{j}"](ids[:, i]) * self.tables[f"{j}_{i}"](ids[:, j])).sum(1, keepdim=True)
            for i in range(self.count)
            for j in range(i + 1, self.count)
        ]
        return self.head(torch.hstack(dots)).sigmoid()


class SelfAttention(nn.Module):
    """AutoInt (arXiv 1810.11921) on torch's own attention, numbers as fields of their own."""

    def __init__(self, sizes: Sizes, layers: int = 2) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        width, count = sizes.width, len(sizes.rows) + sizes.dense
        self.directions = nn.Parameter(torch.randn(sizes.dense, width))
        self.attention = nn.ModuleList(
            [nn.MultiheadAttention(width, 2, batch_first=True, bias=False) for _ in range(layers)]
        )
        self.residual = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(layers)])
        self.out = nn.Linear(count * width, 1)

    def forward(self, ids: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        x = torch.cat([self.fields(ids), numbers.unsqueeze(-1) * self.directions], 1)
        for attention, residual in zip(self.attention, self.residual, strict=True):
            mixed, _ = attention(x, x, x, need_weights=False)
            x = torch.relu(mixed + residual(x))
        return torch.sigmoid(self.out(x.flatten(1)))


class Wukong(nn.Module):
    """Wukong (arXiv 2403.02545): compressed FM blocks and linear compression, stacked, with residuals."""

    def __init__(self, sizes: Sizes, layers: int = 2) -> None:
        super().__init__()
        self.fields = Fields(sizes)
        n, d = self.fields.count, sizes.width
        self.compress = nn.ParameterList([nn.Parameter(torch.randn(n, 3) * 0.3) for _ in range(layers)])
        self.block = nn.ModuleList([mlp((n * 3, 16, 2 * d)) for _ in range(layers)])
        self.linear = nn.ParameterList([nn.Parameter(torch.randn(n - 2, n) * 0.3) for _ in range(layers)])
        self.norm = nn.ModuleList([nn.LayerNorm([n, d]) for _ in range(layers)])
        self.head = mlp((n * d, *sizes.hidden, 1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.fields(ids)
        for compress, block, linear, norm in zip(
            self.compress, self.block, self.linear, self.norm, strict=True
        ):
            interactions = x @ (x.mT @ compress)
            pooled = block(F.layer_norm(interactions.flatten(1), interactions.flatten(1).shape[1:]))
            x = norm(torch.cat([pooled.view(x.shape[0], 2, -1), linear @ x], 1) + x)
        return self.head(x.flatten(1)).squeeze(1).sigmoid()


MAKERS: tuple[tuple[str, Maker], ...] = (
    ("CompressedInteraction", of_ids(CompressedInteraction)),
    ("SqueezedBilinear", of_ids(SqueezedBilinear)),
    ("FieldMatrices", of_ids(FieldMatrices)),
    ("MixtureOfCrosses", of_ids_and_numbers(MixtureOfCrosses)),
    ("GatedCross", of_ids(GatedCross)),
    ("InstanceMasks", of_ids(InstanceMasks)),
    ("TwoStreams", of_ids(TwoStreams)),
    ("Products", of_ids(Products)),
    ("AttentivePairs", of_ids(AttentivePairs)),
    ("FieldAware", of_ids(FieldAware)),
    ("SelfAttention", of_ids_and_numbers(SelfAttention)),
    ("Wukong", of_ids(Wukong)),
)
