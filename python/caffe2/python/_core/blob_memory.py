"""How much memory the tensors of a workspace hold."""

from __future__ import annotations

from dataclasses import dataclass

from caffe2.python import _import_c_extension as C

_MIB = 1 << 20
_MOST_LINES = 20


@dataclass(frozen=True)
class BlobMemory:
    """One tensor: `shape` and `type` are texts such as "[2, 3]" and "float", `nbytes` the size of
    its values, `shared_with` how many other blobs have bytes of its memory."""

    name: str
    shape: str
    type: str
    device: str
    nbytes: int
    shared_with: int

    def __str__(self) -> str:
        shared = f", shares memory with {self.shared_with} others" if self.shared_with else ""
        return (f"{self.nbytes / _MIB:.1f} MiB  {self.name} {self.type} {self.shape} on "
                f"{self.device}{shared}")


@dataclass(frozen=True)
class WorkspaceMemory:
    """All tensors with values, the largest first. `blob_bytes` is the sum of their sizes;
    `distinct_bytes` counts memory that several of them share once. print() shows a table."""

    blobs: list[BlobMemory]
    blob_bytes: int
    distinct_bytes: int

    def __str__(self) -> str:
        lines = [f"{len(self.blobs)} blobs of {self.blob_bytes / _MIB:.1f} MiB in "
                 f"{self.distinct_bytes / _MIB:.1f} MiB"]
        lines += [f"  {blob}" for blob in self.blobs[:_MOST_LINES]]
        if len(self.blobs) > _MOST_LINES:
            lines.append(f"  and {len(self.blobs) - _MOST_LINES} smaller ones")
        return "\n".join(lines)


def MemoryReport() -> WorkspaceMemory:
    """How much memory the tensors of the current workspace hold; print() shows a table. The text of
    strings is not counted. Do not call this while a net runs in another thread."""
    blobs, blob_bytes, distinct_bytes = C.measure_memory()
    return WorkspaceMemory([BlobMemory(*blob) for blob in blobs], blob_bytes, distinct_bytes)
