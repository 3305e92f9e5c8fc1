"""Errors of the translation between nets and ONNX models."""


class BaseException(Exception):
    """The base of these errors."""


class Unsupported(BaseException, NotImplementedError):
    """A model, operator or device that cannot be translated or run; the message names it."""
