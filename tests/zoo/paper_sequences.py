"""Models of histories as papers define them, written for this project: item ids [B, L], 0 is padding."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.zoo.model import Maker, Sizes
from tests.zoo.paper_layers import mlp, of_history


class TargetAttention(nn.Module):
    """DIN (arXiv 1706.06978): an MLP weighs each earlier item by the target; dice is its activation."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.items = nn.Embedding(sizes.items, sizes.width, padding_idx=0)
        self.score = mlp((4 * sizes.width, 16, 1), activation=nn.Sigmoid)
        self.alpha = nn.Parameter(torch.full((sizes.hidden[0],), 0.25))
        self.norm = nn.BatchNorm1d(sizes.hidden[0], affine=False)
        self.first = nn.Linear(3 * sizes.width, sizes.hidden[0])
        self.out = nn.Linear(sizes.hidden[0], 1)

    def forward(self, history: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        mask = history > 0
        keys, query = self.items(history), self.items(target)
        wide = query.unsqueeze(1).repeat(1, history.size(1), 1)
        scores = self.score(torch.cat([wide, keys, wide - keys, wide * keys], dim=-1)).squeeze(-1)
        scores = scores.masked_fill(~mask, -(2**32) + 1) / math.sqrt(keys.size(-1))
        interest = torch.bmm(F.softmax(scores, dim=-1).unsqueeze(1), keys).squeeze(1)
        h = self.first(torch.cat([interest, query, interest * query], dim=-1))
        p = torch.sigmoid(self.norm(h))
        return torch.sigmoid(self.out(p * h + (1 - p) * self.alpha * h)).squeeze(1)


class EvolvingInterest(nn.Module):
    """DIEN (arXiv 1809.03672) over whole lists: a GRU, then a GRU whose update gate attention scales."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.width
        self.items = nn.Embedding(sizes.items, width, padding_idx=0)
        self.extract = nn.GRU(width, width, batch_first=True)
        self.match = nn.Parameter(torch.randn(width, width) * 0.1)
        self.gates = nn.Linear(2 * width, 2 * width)
        self.candidate = nn.Linear(2 * width, width)
        self.head = mlp((3 * width, *sizes.hidden, 1), activation=nn.PReLU)

    def forward(self, history: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        query = self.items(target)
        states, last = self.extract(self.items(history))
        logits = torch.einsum("bld,de,be->bl", states, self.match, query)
        weights = torch.softmax(torch.where(history > 0, logits, torch.full_like(logits, -1e9)), -1)
        h = torch.zeros_like(query)
        for step, x in enumerate(states.unbind(1)):
            update, reset = torch.sigmoid(self.gates(torch.cat([x, h], -1))).chunk(2, -1)
            new = torch.tanh(self.candidate(torch.cat([x, reset * h], -1)))
            update = update * weights[:, step : step + 1]
            h = torch.lerp(h, new, update)
        return self.head(torch.cat([h, query, last[-1]], 1)).sigmoid()


class TransformerOfBehaviour(nn.Module):
    """BST (arXiv 1905.06874): torch's encoder over the history and the target, padding masked."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.items = nn.Embedding(sizes.items, sizes.width, padding_idx=0)
        self.places = nn.Parameter(torch.randn(sizes.history + 1, sizes.width))
        layer = nn.TransformerEncoderLayer(
            sizes.width, 2, 2 * sizes.width, activation=F.leaky_relu, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = mlp(((sizes.history + 1) * sizes.width, *sizes.hidden, 1), activation=nn.LeakyReLU)

    def forward(self, history: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        ids = torch.cat([history, target.unsqueeze(1)], dim=1)
        x = self.encoder(self.items(ids) + self.places, src_key_padding_mask=ids.eq(0))
        return torch.sigmoid(self.head(x.flatten(1)))


class CausalAttention(nn.Module):
    """SASRec (arXiv 1808.09781): causal attention; the last item's state scores the target."""

    def __init__(self, sizes: Sizes, layers: int = 2, heads: int = 2) -> None:
        super().__init__()
        width = sizes.width
        self.heads = heads
        self.items = nn.Embedding(sizes.items, width, padding_idx=0)
        self.places = nn.Embedding(sizes.history, width)
        self.qkv = nn.ModuleList([nn.Linear(width, 3 * width) for _ in range(layers)])
        self.out = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.feed = nn.ModuleList(
            [
                nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
                for _ in range(layers)
            ]
        )
        self.norms = nn.ModuleList([nn.LayerNorm(width, eps=1e-8) for _ in range(2 * layers + 1)])

    def forward(self, history: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        batch, length = history.shape
        x = self.items(history) * self.items.embedding_dim**0.5
        x = x + self.places(torch.arange(length, device=history.device))
        x = x * (history != 0).unsqueeze(-1)
        for layer, (qkv, out, feed) in enumerate(zip(self.qkv, self.out, self.feed, strict=True)):
            parts = qkv(self.norms[2 * layer](x)).view(batch, length, 3, self.heads, -1)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + out(mixed.transpose(1, 2).reshape(batch, length, -1))
            x = x + feed(self.norms[2 * layer + 1](x))
        last = (history != 0).sum(1).sub(1)
        state = self.norms[-1](x).gather(1, last[:, None, None].expand(-1, 1, x.size(-1))).squeeze(1)
        return (state * self.items(target)).sum(-1)


class SearchedInterest(nn.Module):
    """SIM (arXiv 2006.05639): the most similar items of the history, then attention over these few."""

    def __init__(self, sizes: Sizes, kept: int = 3) -> None:
        super().__init__()
        self.kept = kept
        self.items = nn.Embedding(sizes.items, sizes.width, padding_idx=0)
        self.attention = nn.MultiheadAttention(sizes.width, 2, batch_first=True)
        self.head = mlp((2 * sizes.width, *sizes.hidden, 1))

    def forward(self, history: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        keys, query = self.items(history), self.items(target)
        similar = torch.matmul(keys, query.unsqueeze(-1)).squeeze(-1)
        similar = similar.masked_fill(history == 0, float("-inf"))
        scores, places = torch.topk(similar, self.kept, dim=1)
        chosen = torch.gather(keys, 1, places.unsqueeze(-1).expand(-1, -1, keys.size(-1)))
        chosen = torch.where(torch.isfinite(scores).unsqueeze(-1), chosen, 0.0)
        interest, _ = self.attention(query.unsqueeze(1), chosen, chosen)
        return self.head(torch.cat([interest.squeeze(1), query], 1)).sigmoid()


class Convolutions(nn.Module):
    """Caser (arXiv 1809.07426) and NextItNet (arXiv 1808.05163): filters over the list of items."""

    def __init__(self, sizes: Sizes, maps: int = 4) -> None:
        super().__init__()
        width, length = sizes.width, sizes.history
        self.items = nn.Embedding(sizes.items, width)
        self.down = nn.Conv2d(1, maps, (length, 1))
        self.across = nn.ModuleList([nn.Conv2d(1, maps, (height, width)) for height in (2, 3)])
        self.dilated = nn.ModuleList([nn.Conv1d(width, width, 2, dilation=2**k) for k in range(2)])
        self.norm = nn.ModuleList([nn.GroupNorm(1, width) for _ in range(2)])
        self.out = nn.Linear(maps * width + 2 * maps + width, width)

    def forward(self, history: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        x = self.items(history)
        image = x.unsqueeze(1)
        parts = [self.down(image).flatten(1)]
        for filters in self.across:
            row = F.relu(filters(image)).squeeze(3)
            parts.append(F.max_pool1d(row, row.size(2)).squeeze(2))
        h = x.transpose(1, 2)
        for level, (filters, norm) in enumerate(zip(self.dilated, self.norm, strict=True)):
            h = h + F.relu(norm(filters(F.pad(h, (2**level, 0)))))
        parts.append(h[:, :, -1])
        return (self.out(torch.cat(parts, 1)) * self.items(target)).sum(1)


class Capsules(nn.Module):
    """MIND (arXiv 1904.08030) with fixed first logits: routing to interests, label-aware attention."""

    def __init__(self, sizes: Sizes, interests: int = 3) -> None:
        super().__init__()
        self.items = nn.Embedding(sizes.items, sizes.width, padding_idx=0)
        self.turn = nn.Linear(sizes.width, sizes.width, bias=False)
        self.register_buffer("logits", torch.randn(1, interests, sizes.history))

    def forward(self, history: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        mask = (history != 0).unsqueeze(1)
        x = self.turn(self.items(history))
        logits = self.logits.expand(x.shape[0], -1, -1)
        capsules = x[:, :1]
        for step in range(3):
            weights = torch.where(mask, torch.softmax(logits, dim=1), 0.0)
            capsules = torch.matmul(weights, x)
            square = capsules.square().sum(-1, keepdim=True)
            capsules = square / (1 + square) * capsules / torch.sqrt(square + 1e-9)
            if step < 2:
                logits = logits + torch.matmul(capsules, x.transpose(1, 2))
        query = self.items(target)
        attention = torch.softmax(
            torch.pow((capsules @ query.unsqueeze(2)).squeeze(2).abs() + 1e-6, 2), dim=1
        )
        user = F.normalize((attention.unsqueeze(2) * capsules).sum(1), dim=1)
        return F.cosine_similarity(user, query, dim=-1) / 0.05


class SessionGates(nn.Module):
    """NARM and STAMP (arXiv 1711.04725) over whole lists: LSTM states pooled by length, gated memory."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.width
        self.items = nn.Embedding(sizes.items, width, padding_idx=0)
        self.recurrent = nn.LSTM(width, width, num_layers=1, batch_first=True, bidirectional=True)
        self.query, self.key = nn.Linear(width, width), nn.Linear(2 * width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        self.join = nn.Bilinear(2 * width, width, width)

    def forward(self, history: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        lengths = history.ne(0).sum(1, keepdim=True).clamp(min=1)
        x = self.items(history)
        states, _ = self.recurrent(x)
        mean = x.sum(1) / lengths
        logits = self.score(torch.sigmoid(self.key(states) + self.query(mean).unsqueeze(1))).squeeze(2)
        weights = F.softmax(logits.masked_fill(history.eq(0), -1e9), 1)
        memory = torch.einsum("bl,ble->be", weights, states)
        return (torch.tanh(self.join(memory, mean)) * self.items(target)).sum(1).sigmoid()


MAKERS: tuple[tuple[str, Maker], ...] = (
    ("TargetAttention", of_history(TargetAttention)),
    ("EvolvingInterest", of_history(EvolvingInterest)),
    ("TransformerOfBehaviour", of_history(TransformerOfBehaviour)),
    ("CausalAttention", of_history(CausalAttention)),
    ("SearchedInterest", of_history(SearchedInterest)),
    ("Convolutions", of_history(Convolutions)),
    ("Capsules", of_history(Capsules)),
    ("SessionGates", of_history(SessionGates)),
)
