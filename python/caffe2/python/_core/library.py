"""Flags of the library, and the engines that it prefers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from caffe2.python import _import_c_extension as C

_global_init_args = None


def GlobalInit(args: str | Iterable[str]) -> None:
    """Sets flags of the library: a list whose first word is the program's name, for instance
    ``["caffe2", "--caffe2_log_level=2"]``.

    Raises ValueError for a flag without a value (--name=value).
    """
    global _global_init_args
    args = [args] if isinstance(args, str) else list(args)
    # Like Caffe2, leaves words that are no flags to the program.
    C.global_init(args[:1] + [arg for arg in args[1:] if arg.startswith("-")])
    _global_init_args = args[1:]


def GetGlobalInitArgs() -> list[str]:
    """The flags of the last GlobalInit."""
    return list(_global_init_args or [])


def SetGlobalEnginePref(global_engine_pref: Mapping[int, Sequence[str]]) -> None:
    """Sets {device type: engines to try for any operator that names none, best first}."""
    C.set_global_engine_pref(global_engine_pref)


def SetOpEnginePref(op_type: str, op_pref: Mapping[int, Sequence[str]]) -> None:
    """Sets {device type: engines to try for operators of this type, best first}."""
    C.set_op_engine_pref(op_type, op_pref)


def SetPerOpEnginePref(per_op_engine_pref: Mapping[int, Mapping[str, Sequence[str]]]) -> None:
    """Sets {device type: {operator type: engines to try, best first}}."""
    for device_type, preferences in per_op_engine_pref.items():
        for op_type, engines in preferences.items():
            C.set_op_engine_pref(op_type, {device_type: engines})


def SetEnginePref(per_op_engine_pref: Mapping[int, Mapping[str, Sequence[str]]],
                  global_engine_pref: Mapping[int, Sequence[str]]) -> None:
    """SetPerOpEnginePref and SetGlobalEnginePref."""
    SetPerOpEnginePref(per_op_engine_pref)
    SetGlobalEnginePref(global_engine_pref)
