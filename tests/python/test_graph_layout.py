"""Where boxes and lines of a drawn graph lie."""

import hypothesis
import pytest
from hypothesis import strategies

from caffe2.python._core import graph_layout


def check(sizes, edges):
    """Boxes lie apart and inside the picture; lines join the right boxes, lead downwards and
    keep away from the other boxes. Returns the layout."""
    layout = graph_layout.place(sizes, edges)
    assert set(layout.boxes) == set(sizes) and len(layout.lines) == len(edges)
    boxes = {}
    for name, (x, y) in layout.boxes.items():
        width, height = sizes[name]
        boxes[name] = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        assert min(boxes[name]) > -1e-6
        assert boxes[name][2] < layout.width + 1e-6 and boxes[name][3] < layout.height + 1e-6
    rows = sorted(boxes.values(), key=lambda box: box[1])
    for i, a in enumerate(rows):
        for b in rows[i + 1:]:
            if b[1] >= a[3]:
                break
            assert b[0] >= a[2] + 1 or a[0] >= b[2] + 1, (a, b)
    for (source, target), points in zip(edges, layout.lines):
        assert points[0] == pytest.approx((layout.boxes[source][0], boxes[source][3]))
        assert points[-1] == pytest.approx((layout.boxes[target][0], boxes[target][1]))
        assert all(a[1] <= b[1] for a, b in zip(points, points[1:]))
        assert points[0][1] < points[-1][1]
        for i, (a, b) in enumerate(zip(points, points[1:])):
            assert i % 2 == 1 or a[0] == b[0]  # every second part is vertical
            left, right = sorted((a[0], b[0]))
            for name, box in boxes.items():
                apart = (right <= box[0] or left >= box[2] or b[1] <= box[1] + 1e-6
                         or a[1] >= box[3] - 1e-6)
                assert apart or name in (source, target), (name, box, a, b)
    return layout


def boxes_of(count):
    return {i: (20 + 7 * i % 50, 10 + 3 * i % 20) for i in range(count)}


def test_a_chain_is_straight():
    layout = check(boxes_of(30), [(i, i + 1) for i in range(29)])
    assert len({round(x, 3) for x, _ in layout.boxes.values()}) == 1


def test_parameters_stand_beside_the_way_of_the_data():
    edges = [("x", "conv"), ("w", "conv"), ("conv", "y"), ("y", "fc"), ("fc_w", "fc")]
    layout = check(dict.fromkeys(("x", "w", "conv", "y", "fc_w", "fc"), (40, 20)), edges)
    assert layout.boxes["fc_w"][1] == layout.boxes["y"][1]  # not at the top
    assert abs(layout.boxes["fc"][0] - layout.boxes["conv"][0]) < 20


def test_a_long_line_goes_around_the_boxes_between():
    layout = check(boxes_of(6), [(i, i + 1) for i in range(5)] + [(0, 5)])
    passing = {x for x, _ in layout.lines[-1][2:-2]}
    assert passing and all(abs(x - layout.boxes[2][0]) > 15 for x in passing)


def test_branches_do_not_cross():
    ways = {name: [f"{name}{i}" for i in range(4)] for name in "abcde"}
    edges = [("top", way[0]) for way in ways.values()]
    edges += [pair for way in ways.values() for pair in zip(way, way[1:])]
    shuffled = [ways[name][i] for i, order in enumerate(("abcde", "dbeac", "ecadb", "badec"))
                for name in order]
    names = ["bottom", *shuffled, "top"]
    edges += [(way[-1], "bottom") for way in ways.values()]
    layout = check(dict.fromkeys(names, (30, 20)), edges)
    orders = [sorted(ways, key=lambda name: layout.boxes[f"{name}{i}"][0]) for i in range(4)]
    assert orders.count(orders[0]) == 4


@hypothesis.settings(deadline=None, max_examples=100, derandomize=True)
@hypothesis.given(strategies.integers(1, 25).flatmap(lambda count: strategies.tuples(
    strategies.just(count), strategies.lists(strategies.tuples(
        strategies.integers(0, count - 1), strategies.integers(0, count - 1))))))
def test_any_graph_without_cycles(graph):
    count, pairs = graph
    check(boxes_of(count), [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]])


def test_cycles_are_drawn_too():
    layout = graph_layout.place(boxes_of(3), [(0, 1), (1, 2), (2, 0), (1, 1)])
    down, _, up, loop = layout.lines
    assert down[0][1] < down[-1][1] and up[0][1] > up[-1][1] and loop == []
    assert up[-1][0] == layout.boxes[0][0]


def test_a_graph_without_boxes():
    assert graph_layout.place({}, []) == graph_layout.Layout({}, [], 0.0, 0.0)
