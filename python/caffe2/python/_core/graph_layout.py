"""Places for the boxes and lines of a directed graph, in ranks from the top to the bottom.

The method is Sugiyama's: a rank for each box, so that lines lead down; points where long lines pass
the ranks between their ends; an order in each rank with few crossings; then coordinates.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
from collections.abc import Hashable, Mapping, Sequence

BOX_GAP = 16.0  # between boxes of a rank
LINE_GAP = 8.0  # between lines that pass a rank
RANK_GAP = 28.0  # between ranks
ORDER_ROUNDS = 6  # sweeps down and up that look for an order with few crossings
PLACE_ROUNDS = 8  # sweeps down and up that draw neighbours together


@dataclasses.dataclass
class Layout:
    """Coordinates in the unit of the sizes; y grows downwards, the smallest coordinate is 0.

    boxes: the centre of each box.
    lines: for each edge the ends of its straight, vertical parts, two points for each part. Between
        the parts it may bend. No part or bend touches other boxes. Lines lead downwards, unless the
        graph has a cycle; an edge from a box to itself has no points.
    """

    boxes: dict[Hashable, tuple[float, float]]
    lines: list[list[tuple[float, float]]]
    width: float
    height: float


def _steps(count, edges):
    """The place of each node in an order in which edges lead on, as far as there are no cycles."""
    targets, missing = [[] for _ in range(count)], [0] * count
    for source, target in edges:
        targets[source].append(target)
        missing[target] += 1
    step: dict[int, int] = {}
    ready = collections.deque(node for node in range(count) if not missing[node])
    rest = iter(range(count))
    while len(step) < count:
        node = ready.popleft() if ready else next(node for node in rest if node not in step)
        if node in step:
            continue
        step[node] = len(step)
        for target in targets[node]:
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return step


def _ranks(step, edges):
    """Ranks by the longest path. A node with no more edges in than out, such as a parameter, then
    sinks towards the nodes that it leads to."""
    before, after = ([[] for _ in step] for _ in range(2))
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    rank = [0] * len(step)
    for node in step:
        rank[node] = max((rank[source] + 1 for source in before[node]), default=0)
    for node in reversed(step):
        if after[node] and len(before[node]) <= len(after[node]):
            rank[node] = min(rank[target] for target in after[node]) - 1
    return rank


class _Ranked:
    """Nodes in ranks: the boxes, and after them a node for each rank that a line passes."""

    def __init__(self, rank: Sequence[int], edges: Sequence[tuple[int, int]]) -> None:
        self.boxes = len(rank)
        self.layers: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
        self.up: list[list[int]] = []
        self.down: list[list[int]] = []
        for node_rank in rank:
            self._add(node_rank)
        self.paths = []
        for source, target in edges:
            passed = [self._add(r) for r in range(rank[source] + 1, rank[target])]
            self.paths.append([source, *passed, target])
            for above, below in zip(self.paths[-1], self.paths[-1][1:]):
                self.down[above].append(below)
                self.up[below].append(above)

    def _add(self, rank):
        self.layers[rank].append(len(self.up))
        self.up.append([])
        self.down.append([])
        return len(self.up) - 1

    def crossings(self) -> int:
        """How many pairs of lines cross."""
        count = 0
        for above, below in zip(self.layers, self.layers[1:]):
            place = {node: i for i, node in enumerate(below)}
            seen: list[int] = []
            for node in above:
                places = sorted(place[target] for target in self.down[node])
                count += sum(len(seen) - bisect.bisect_right(seen, p) for p in places)
                for p in places:
                    bisect.insort(seen, p)
        return count

    def order(self) -> None:
        """Orders each rank by the average places of its neighbours; keeps the best order seen."""
        best = [list(layer) for layer in self.layers]
        fewest = self.crossings()
        for _ in range(ORDER_ROUNDS):
            if not fewest:
                break
            self._sweep(self.layers, self.up)
            self._sweep(self.layers[::-1], self.down)
            crossings = self.crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best

    @staticmethod
    def _sweep(layers, neighbours):
        place: dict[int, float] = {}
        for layer in layers:
            for i, node in enumerate(layer):
                near = neighbours[node]
                place[node] = sum(place[n] for n in near) / len(near) if near else i
            layer.sort(key=place.__getitem__)
            place.update({node: i for i, node in enumerate(layer)})

    def weight(self, a: int, b: int) -> float:
        """How much the line from one node down to another should be straight."""
        if not self.up[a] and len(self.down[a]) == 1:
            return 0.05  # a parameter: it stands beside the way of the data
        if min(a, b) >= self.boxes or len(self.down[a]) == len(self.up[b]) == 1:
            return 8  # between points of a long line, or in a chain
        return 2 if max(a, b) >= self.boxes else 1


def _spread(wished, weights, distances):
    """Coordinates nearest to the wished ones, by squares, at these distances or more."""
    offset, blocks = 0.0, []  # a block: wish without the offset, weight, number of nodes
    offsets = []
    for wish, weight, distance in zip(wished, weights, [0.0, *distances]):
        offset += distance
        offsets.append(offset)
        blocks.append((wish - offset, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, weight_a, n_a), (b, weight_b, n_b) = blocks[-2:]
            total = weight_a + weight_b
            blocks[-2:] = [((a * weight_a + b * weight_b) / total, total, n_a + n_b)]
    shifts = [shift for shift, _, count in blocks for _ in range(count)]
    return [shift + offset for shift, offset in zip(shifts, offsets)]


def _across(ranked, widths):
    """The x of each node."""
    x = [0.0] * len(ranked.up)

    def distances(layer):
        for a, b in zip(layer, layer[1:]):
            gap = LINE_GAP if min(a, b) >= ranked.boxes else BOX_GAP
            yield (widths[a] + widths[b]) / 2 + gap

    def sweep(layers, *directions):
        for layer in layers:
            wished, weights = [], []
            for node in layer:
                near = [(n, ranked.weight(n, node) if d is ranked.up else ranked.weight(node, n))
                        for d in directions for n in d[node]]
                total = sum(weight for _, weight in near)
                wished.append(sum(x[n] * w for n, w in near) / total if total else x[node])
                weights.append(total or 0.1)
            for node, value in zip(layer, _spread(wished, weights, distances(layer))):
                x[node] = value

    for _ in range(PLACE_ROUNDS):
        sweep(ranked.layers, ranked.up)
        sweep(ranked.layers[::-1], ranked.down)
    sweep(ranked.layers, ranked.up, ranked.down)
    return x


def place(sizes: Mapping[Hashable, tuple[float, float]],
          edges: Sequence[tuple[Hashable, Hashable]]) -> Layout:
    """Places boxes with these widths and heights, and lines for the edges between them."""
    names = list(sizes)
    number = {name: i for i, name in enumerate(names)}
    pairs = [(number[source], number[target]) for source, target in edges]
    step = _steps(len(names), pairs)
    forward = [pair if step[pair[0]] <= step[pair[1]] else pair[::-1] for pair in pairs]
    drawn = [pair for pair in forward if pair[0] != pair[1]]
    ranked = _Ranked(_ranks(step, drawn), drawn)
    ranked.order()
    heights = [height for _, height in sizes.values()]
    widths = [width for width, _ in sizes.values()] + [0.0] * (len(ranked.up) - len(names))
    x = _across(ranked, widths)
    left = min((at - width / 2 for at, width in zip(x, widths)), default=0.0)
    x = [at - left for at in x]
    top, bands = 0.0, {}
    for layer in ranked.layers:
        bottom = top + max((heights[n] for n in layer if n < len(names)), default=0.0)
        bands.update(dict.fromkeys(layer, (top, bottom)))
        top = bottom + RANK_GAP

    def line(path):
        (_, begin), (end, _) = bands[path[0]], bands[path[-1]]
        bottom = (sum(bands[path[0]]) + heights[path[0]]) / 2
        top = (sum(bands[path[-1]]) - heights[path[-1]]) / 2
        passed = [(x[node], y) for node in path[1:-1] for y in bands[node]]
        return [(x[path[0]], bottom), (x[path[0]], begin), *passed,
                (x[path[-1]], end), (x[path[-1]], top)]

    paths = iter(ranked.paths)
    lines = [line(next(paths)) if a != b else [] for a, b in pairs]
    return Layout(
        {name: (x[i], sum(bands[i]) / 2) for i, name in enumerate(names)},
        [points if pair == turned else points[::-1]
         for points, pair, turned in zip(lines, pairs, forward)],
        max((at + width / 2 for at, width in zip(x, widths)), default=0.0),
        max(top - RANK_GAP, 0.0))
