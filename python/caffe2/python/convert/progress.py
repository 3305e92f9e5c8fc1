"""The progress of a long command, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterable, Mapping

import numpy as np

# Seconds between two states, as in `doppio data prepare`.
_PAUSE_ON_A_TERMINAL, _PAUSE = 0.2, 10


def with_progress(
    what: str, batches: Iterable[Mapping[str, np.ndarray]], total: int
) -> Generator[Mapping[str, np.ndarray], None, None]:
    """Yields the batches, which have `total` images in all, and says how many are done: on a
    terminal in one line that changes and disappears, elsewhere in a line every ten seconds.
    Closing it clears the line."""
    terminal = sys.stderr.isatty()
    begin = last = time.monotonic()
    done, shown = 0, False
    try:
        for batch in batches:
            yield batch
            done += len(next(iter(batch.values())))
            now = time.monotonic()
            if now - last < (_PAUSE_ON_A_TERMINAL if terminal else _PAUSE):
                continue
            last, shown, speed = now, True, done / (now - begin)
            text = (
                f"{what}: {done:,} of {total:,} images ({100 * done // total} %), "
                f"{speed:,.0f}/s, {(total - done) / speed:.0f} s left"
            )
            print(f"\r\x1b[K{text}" if terminal else text, end="" if terminal else "\n",
                  file=sys.stderr, flush=True)
    finally:
        if shown and terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
