"""Layers of layer models: each module defines one or a few, which caffe2.python.layer_model_helper
offers as methods of its models under the names of their classes."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from types import ModuleType
from typing import Any

from caffe2.python.layers import layers


def import_recursive(package: ModuleType) -> None:
    """Imports all modules of a package."""
    for module in pkgutil.iter_modules(package.__path__):
        imported = importlib.import_module(f"{package.__name__}.{module.name}")
        if module.ispkg:
            import_recursive(imported)


def find_subclasses_recursively(base_cls: type[Any], sub_cls: set[type[Any]]) -> None:
    """Adds all direct and indirect subclasses of a class to the set `sub_cls`."""
    for cls in base_cls.__subclasses__():
        sub_cls.add(cls)
        find_subclasses_recursively(cls, sub_cls)


import_recursive(sys.modules[__name__])

model_layer_subcls: set[type] = set()
find_subclasses_recursively(layers.ModelLayer, model_layer_subcls)

for _cls in model_layer_subcls:
    layers.register_layer(_cls.__name__, _cls)
