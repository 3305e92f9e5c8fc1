"""The choice of an implementation, for all helpers."""


def with_engine(use_cudnn, kwargs):
    """The arguments, with the engine CUDNN if it is wanted (on the CPU it is passed over)."""
    if use_cudnn:
        kwargs["engine"] = "CUDNN"
    return kwargs
