# SPDX-License-Identifier: BSD-3-Clause
"""When cards end whose blocks differ.

A card has pools of blocks that wear at one rate each, and it ends when one block more has failed
than it has spares:

    failed blocks   spares + 1 |- - - - - - - - - -x
                               |              x
                               |        x   x
                               +----------------------> bytes written by the host

So only the weakest blocks count, and they are drawn in their order: the k smallest of n uniform
numbers are sums of exponential ones, divided by the sum of n + 1 of them.  A thousand cards with
any number of blocks cost a thousand times the spares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import numpy as np
import numpy.typing as npt

from ..core.errors import module
from .asked import DRAWS
from .endurance import RATED_Z, Spread

Array = npt.NDArray[np.float64]

@dataclass(frozen=True)
class Pool:
    """Blocks that wear alike.

    name    in words
    blocks  how many
    rate    erases of each for a byte that the host writes
    cycles  that a block in the middle bears
    """

    name: str
    blocks: int
    rate: float
    cycles: float


@dataclass(frozen=True)
class Lives:
    """bytes   that the host can write, by card, sorted
    ends    the share of cards whose last failing block is of each pool, by its name
    """

    bytes: Array
    ends: dict[str, float]

    def quantile(self, share: float) -> float:
        """Bytes within which this share of the cards ends."""
        return float(np.quantile(self.bytes, share))


def _smallest(rng: np.random.Generator, cards: int, n: int, k: int) -> Array:
    """The k smallest of n uniform numbers for each card, in their order."""
    first = np.cumsum(rng.exponential(size=(cards, k)), axis=1)
    rest = rng.gamma(n + 1 - k, size=(cards, 1))
    found: Array = first / (first[:, -1:] + rest)
    return found


def _normal(share: Array) -> Array:
    """What this share of a standard normal distribution does not reach."""
    found: Array = module("scipy.special", "python3-scipy").ndtri(share)
    return found


def factor(spread: Spread, share: Array) -> Array:
    """The life of the block that this share of all blocks does not reach, in endurances."""
    if spread.block == 0:
        return np.ones_like(share)
    if spread.shape == "uniform":
        return 1 + spread.block * (2 * share - 1)
    above = RATED_Z if spread.shape == "rated" else 0.0
    found: Array = np.exp(spread.block * (_normal(share) + above))
    return found


def _failures(rng: np.random.Generator, cards: int, n: int, k: int, spread: Spread) -> Array:
    """When the first k of n blocks fail, in endurances; at least k numbers for each card.  A spare
    wears as fast as the block whose place it takes, so few places take one spare after the other.
    """
    if n >= k:
        return factor(spread, _smallest(rng, cards, n, k))
    each = factor(spread, rng.random((cards, -(-k // n), n)))
    found: Array = np.cumsum(each, axis=1).reshape(cards, -1)
    return found


def draw(pools: Sequence[Pool], spares: int, spread: Spread, seed: int = 1,
         cards: int = DRAWS) -> Lives:
    """The lives of so many cards; at least one pool wears."""
    rng = np.random.default_rng(seed)
    normal = _normal((np.arange(cards) + 0.5) / cards)  # evenly, so that few cards say much
    own = np.exp(spread.device * rng.permutation(normal)[:, None])
    ends, owners = [], []
    for i, pool in enumerate(pools):
        failures = _failures(rng, cards, pool.blocks, spares + 1, spread)
        ends.append(own * pool.cycles * failures / pool.rate)
        owners.append(np.full(failures.shape, i))
    all_ends, all_owners = np.concatenate(ends, axis=1), np.concatenate(owners, axis=1)
    last = min(spares, all_ends.shape[1] - 1)
    place = np.argpartition(all_ends, last, axis=1)[:, last:last + 1]
    bytes_ = np.take_along_axis(all_ends, place, axis=1)[:, 0]
    owner = np.take_along_axis(all_owners, place, axis=1)[:, 0]
    return Lives(np.sort(bytes_), {pool.name: float(np.mean(owner == i))
                                   for i, pool in enumerate(pools)})
