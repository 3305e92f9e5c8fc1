"""Graphs as SVG."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from caffe2.python._core import graph_layout

FONT_SIZE = 13
LINE_HEIGHT = 16
PADDING = 8  # between the text and the border of a box
MARGIN = 10
LONGEST = 60  # characters of a line; the rest of a longer name is in the box's title

# Characters that XML does not allow.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _legal(text):
    """The text with a mark for each character that a line of XML cannot hold."""
    return _NOT_XML.sub("\ufffd", str(text))


def _lines(text):
    """The lines of a label, as they are drawn."""
    lines = [line.strip() for line in re.split("[\n\r]+", _legal(text))]
    return [line if len(line) <= LONGEST else line[:LONGEST - 1] + "…" for line in lines]


def _width(line):
    """About how wide a line of text is: the fonts of readers differ."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return FONT_SIZE * (0.6 * (len(line) - wide) + 1.05 * wide)


def _pair(point):
    return f"{point[0]:.1f},{point[1]:.1f}"


def _box(name, attributes, lines, centre, size):
    (x, y), (width, height) = centre, size
    colour = attributes.get("color", "black")
    fill = colour if attributes.get("style") == "filled" else "white"
    corner = 0 if attributes.get("shape") == "box" else height / 2 if len(lines) == 1 else 10
    ink = attributes.get("fontcolor", "black")
    middle = y - LINE_HEIGHT * (len(lines) - 1) / 2 + FONT_SIZE * 0.35
    text = "".join(
        f'<text x="{x:.1f}" y="{middle + LINE_HEIGHT * i:.1f}" fill={quoteattr(_legal(ink))}>'
        f"{escape(line)}</text>" for i, line in enumerate(lines))
    return (f'<g class="node"><title>{escape(_legal(name))}</title>'
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="{corner:g}" fill={quoteattr(_legal(fill))} '
            f'stroke={quoteattr(_legal(colour))}/>{text}</g>')


def _line(points, attributes, downwards):
    """A path through the points, two of each straight part, with an arrowhead at its end."""
    commands, before = [f"M{_pair(points[0])}"], points[0]
    for i, point in enumerate(points[1:]):
        if i % 2 == 0 or point[not downwards] == before[not downwards]:
            commands.append(f"L{_pair(point)}")
        else:
            (x, y), (to_x, to_y) = before, point
            bend = [(x, (y + to_y) / 2), (to_x, (y + to_y) / 2)]
            if not downwards:
                bend = [((x + to_x) / 2, y), ((x + to_x) / 2, to_y)]
            commands.append("C" + " ".join(map(_pair, [*bend, point])))
        before = point
    back = 6 if points[-1] < points[-2] or points[-1][1] < points[-2][1] else -6
    head = f"l-3,{back}h6z" if downwards else f"l{back},-3v6z"
    dashes = ' stroke-dasharray="5,3"' if attributes.get("style") == "dashed" else ""
    return (f'<g class="edge"><path d="{"".join(commands)}" fill="none" stroke="black"{dashes}/>'
            f'<path d="M{_pair(before)}{head}"/></g>')


def drawing_of(name: str, nodes: Mapping[str, Mapping[str, Any]],
               edges: Sequence[tuple[str, str]], edge_attributes: Sequence[Mapping[str, Any]],
               downwards: bool = True) -> str:
    """A picture of nodes and edges with Graphviz attributes, from the top to the bottom or from
    left to right. Of the attributes it shows color, fontcolor, label, shape (boxes have corners,
    others are round), and the styles filled and dashed."""
    nodes = {**{node: {} for edge in edges for node in edge}, **nodes}
    texts = {node: _lines(attributes.get("label", node)) for node, attributes in nodes.items()}
    sizes = {node: (max(map(_width, lines)) + 2 * PADDING, LINE_HEIGHT * len(lines) + PADDING)
             for node, lines in texts.items()}

    def turned(pair):
        return pair if downwards else pair[::-1]

    layout = graph_layout.place({node: turned(size) for node, size in sizes.items()}, edges)
    width, height = turned((layout.width, layout.height))
    frame = f"{width + 2 * MARGIN:.0f}", f"{height + 2 * MARGIN:.0f}"
    parts = [_line([turned(p) for p in points], attributes, downwards)
             for points, attributes in zip(layout.lines, edge_attributes) if points]
    parts += [_box(node, attributes, texts[node], turned(layout.boxes[node]), sizes[node])
              for node, attributes in nodes.items()]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{frame[0]}" height="{frame[1]}" '
        f'viewBox="{-MARGIN} {-MARGIN} {frame[0]} {frame[1]}" font-family="Helvetica, Arial, '
        f'sans-serif" font-size="{FONT_SIZE}" text-anchor="middle">',
        f"<title>{escape(_legal(name))}</title>",
        f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{frame[0]}" height="{frame[1]}" fill="white"/>',
        *parts, "</svg>"]) + "\n"
