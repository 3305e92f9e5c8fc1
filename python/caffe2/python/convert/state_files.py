"""Parameters alone: safetensors files and PyTorch's state dicts, which name no net."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping

import numpy as np

from caffe2.python.convert import resnet
from caffe2.python.convert.errors import ConvertError, needs, one_line
from caffe2.python.convert.files import check_readable, whole_file
from caffe2.python.convert.model import Model, float_values, with_values


def read_safetensors(path: str) -> dict[str, np.ndarray]:
    """{name: array} of a file; raises ConvertError."""
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:
        raise needs("safetensors", "safetensors files", error) from error
    check_readable(path)
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ConvertError(
            f"{path} is not a safetensors file, or is damaged: {one_line(error)}"
        ) from error
    except (AttributeError, KeyError, TypeError) as error:
        raise ConvertError(
            f"{path} has tensors of a type that numpy does not have "
            f"({one_line(error)}): store them as float32"
        ) from error


def _import_torch():
    try:
        import torch
    except ImportError as error:
        raise needs("torch", "PyTorch's files", error) from error
    return torch


def read_torch(path: str) -> dict[str, np.ndarray]:
    """{name: array} of a state dict, also one in a checkpoint ("state_dict" or "model") and with
    the names of DataParallel. Runs nothing that the file holds. Raises ConvertError."""
    torch = _import_torch()
    check_readable(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ConvertError(
            f"{path} is damaged or has more than tensors: save the state dict alone, by "
            "torch.save(model.state_dict(), path)"
        ) from error
    except (RuntimeError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise ConvertError(
            f"{path} is not a file of PyTorch, or is damaged: {one_line(error)}"
        ) from error
    for key in ("state_dict", "model"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if (
        not isinstance(content, dict)
        or not content
        or not all(isinstance(value, torch.Tensor) for value in content.values())
    ):
        raise ConvertError(
            f"{path} has no state dict: save it by " "torch.save(model.state_dict(), path)"
        )
    return {
        name.removeprefix("module."): (
            value.float() if value.is_floating_point() else value
        ).detach().numpy()
        for name, value in content.items()
    }


def write_safetensors(state: Mapping[str, np.ndarray], path: str) -> None:
    """Writes {name: array}; raises ConvertError."""
    try:
        from safetensors.numpy import save_file
    except ImportError as error:
        raise needs("safetensors", "safetensors files", error) from error
    with whole_file(path) as temporary:
        save_file(
            {name: np.ascontiguousarray(value) for name, value in state.items()},
            temporary,
            metadata={"format": "pt"},
        )


def write_torch(state: Mapping[str, np.ndarray], path: str) -> None:
    """Writes {name: array} as torch.save does; raises ConvertError."""
    torch = _import_torch()
    with whole_file(path) as temporary:
        torch.save(
            {name: torch.from_numpy(np.array(value)) for name, value in state.items()}, temporary
        )


def model_of_state(state: Mapping[str, np.ndarray], like: Model | None) -> Model:
    """The model of parameters.

    Args:
      state: by torchvision's names of a ResNet, or by the names of blobs.
      like: a model with the same parameters, whose net the result has; None for torchvision's
        ResNets, which need none.

    Raises ConvertError.
    """
    if like is None:
        return resnet.model_of_state(state)
    if resnet.is_state(state):
        return resnet.model_like(state, like)
    return with_values(like, state)


def state_of_model(model: Model, names: str | None) -> dict[str, np.ndarray]:
    """The parameters of a model.

    Args:
      names: "torchvision", which only ResNets have, or "caffe2"; default: the first that fits.

    Raises ConvertError.
    """
    values = float_values(model, "a file of parameters")
    if names == "torchvision" or (names is None and resnet.is_resnet(model)):
        return resnet.state_of_model(model)
    return values
