"""Makes names of nets, steps and tasks unique within a process."""

from __future__ import annotations


class UniqueNames:
    """The names that one kind of object has taken in this process."""

    def __init__(self, separator: str = "_") -> None:
        """`separator` stands between a name that is taken and the number that makes it unique."""
        self._separator = separator
        self._taken: set[str] = set()

    def take(self, base: str) -> str:
        """Takes `base`, or the first free name of "<base>_1", "<base>_2", ..., and returns it."""
        name, index = base, 1
        while name in self._taken:
            name = f"{base}{self._separator}{index}"
            index += 1
        self._taken.add(name)
        return name

    def clear(self) -> None:
        """Makes all names free again."""
        self._taken.clear()
