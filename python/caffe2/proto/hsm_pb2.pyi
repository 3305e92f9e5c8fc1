"""Message classes made at import; their fields are not described here."""

from typing import Any

def __getattr__(name: str) -> Any: ...
