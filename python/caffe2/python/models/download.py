"""Fetches models of Caffe2's zoo.

    python -m caffe2.python.models.download squeezenet

makes the folder squeezenet with predict_net.pb and init_net.pb. An existing folder is only replaced
with --force. With --install, `from caffe2.python.models import squeezenet` gives the two nets as
squeezenet.init_net and squeezenet.predict_net. Without a network, install a folder that holds the
two files:

    python -m caffe2.python.models.download --install ./squeezenet
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.message import DecodeError

from caffe2.proto import caffe2_pb2
from caffe2.python.models import INSTALL

DOWNLOAD_BASE_URL = "https://s3.amazonaws.com/download.caffe2.ai/models/"
_NETS = ("predict_net.pb", "init_net.pb")
_TIMEOUT_SECONDS = 60
_PACKAGE = os.path.dirname(__file__)
# The module of an installed model.
_INSTALLED = '''"""A model: init_net and predict_net, NetDefs."""

import os

from caffe2.python.models.download import readNets

init_net, predict_net = readNets(os.path.dirname(__file__))
'''


def getURLFromName(name: str, filename: str) -> str:
    """The address of a file of a model."""
    return f"{DOWNLOAD_BASE_URL}{name}/{filename}"


def validModelName(name: str) -> bool:
    """True for the name of a model: letters, digits, "_", "-" and "/", no leading "/"."""
    return name != "__init__" and bool(re.fullmatch(r"[0-9a-zA-Z_-]+(/[0-9a-zA-Z_-]+)*", name))


def downloadFromURLToFile(url: str, filename: str, show_progress: bool = True) -> None:
    """Downloads an address to a file. Raises RuntimeError, which names the address, if it cannot be
    read completely."""
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response, \
                open(filename, "wb") as file:
            shutil.copyfileobj(response, file)
            expected = response.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{url}: HTTP error {error.code}: {error.reason}") from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError,
            ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise RuntimeError(f"{url} cannot be read: {reason!r}") from error
    size = os.path.getsize(filename)
    if expected is not None and size != int(expected):
        raise RuntimeError(f"{url}: received {size} of {expected} bytes")
    if show_progress:
        print(f"{filename}: {size} bytes")


def deleteDirectory(top_dir: str) -> None:
    """Deletes a folder and all that is in it. A link is not followed."""
    shutil.rmtree(top_dir)


def readNets(folder: str) -> tuple[caffe2_pb2.NetDef, caffe2_pb2.NetDef]:
    """(init NetDef, predict NetDef) of the folder of a model. Raises ValueError for a file that is
    no NetDef."""
    nets = {}
    for name in _NETS:
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            try:
                nets[name] = caffe2_pb2.NetDef.FromString(file.read())
            except DecodeError as error:
                raise ValueError(f"{path} is not a NetDef: {error}") from error
    return nets["init_net.pb"], nets["predict_net.pb"]


def _make_folder(folder, fill):
    """Makes a complete folder by `fill(path)`, or nothing; replaces an existing folder."""
    folder = os.path.abspath(folder)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as staging:
        new = os.path.join(staging, "model")
        os.mkdir(new)
        fill(new)
        if os.path.exists(folder):
            os.rename(folder, os.path.join(staging, "old"))
        os.rename(new, folder)


def _from_zoo(model, files, show_progress) -> Callable[[str], None]:
    """A function that fills a folder with files of the zoo."""
    if not validModelName(model):
        raise ValueError(f"{model!r} is not a valid model name")

    def fill(folder):
        for name in files:
            downloadFromURLToFile(
                getURLFromName(model, name), os.path.join(folder, name), show_progress)
    return fill


def _from_folder(source) -> Callable[[str], None]:
    """A function that fills a folder with the nets of another one."""
    readNets(source)

    def fill(folder):
        for name in _NETS:
            shutil.copyfile(os.path.join(source, name), os.path.join(folder, name))
    return fill


def _install(model, force):
    local = model.startswith((os.sep, os.curdir))
    name = os.path.basename(os.path.normpath(model)) if local else model
    if local and not validModelName(name):
        raise ValueError(f"{name!r} is not a valid model name")
    if os.path.exists(os.path.join(_PACKAGE, f"{name}.py")):
        raise ValueError(f"{name} is a module of caffe2.python.models already: leave out --install")
    folder = os.path.join(_PACKAGE, name)
    _check_new(folder, force)
    get = _from_folder(model) if local else _from_zoo(model, _NETS, show_progress=True)

    def fill(new):
        get(new)
        with open(os.path.join(new, "__init__.py"), "w") as file:
            file.write(_INSTALLED)
    _make_folder(folder, fill)


def _check_new(folder, force):
    if os.path.exists(folder) and not force:
        raise FileExistsError(f"{folder} exists; --force replaces it")


def downloadModel(model: str, args: Any) -> None:
    """Makes a folder with the two nets of a model.

    Args:
      model: the name; with `install` also the path of a folder that holds the two files, which
        begins with "/" or ".".
      args: has `install`, True for a module of caffe2.python.models instead of a folder in the
        current folder, and `force`, True to replace what is there.

    Raises FileExistsError without `force`, ValueError for a bad name, RuntimeError if the model
    cannot be fetched.
    """
    if args.install:
        _install(model, args.force)
        return
    fill = _from_zoo(model, _NETS, show_progress=True)
    _check_new(model, args.force)
    _make_folder(model, fill)


class ModelDownloader:
    """Models with the shapes of their inputs, kept in a folder: the one that the environment
    variable `model_env_name` names, else $CAFFE2_HOME/models, else ~/.caffe2/models."""

    def __init__(self, model_env_name: str = "CAFFE2_MODELS") -> None:
        self.model_env_name = model_env_name

    def _model_dir(self, model):
        home = os.path.expanduser(os.getenv("CAFFE2_HOME", "~/.caffe2"))
        return os.path.join(os.getenv(self.model_env_name, os.path.join(home, "models")), model)

    def get_c2_model(
            self, model_name: str) -> tuple[caffe2_pb2.NetDef, caffe2_pb2.NetDef, dict[str, Any]]:
        """(init NetDef, predict NetDef, {input: [type, shape]}) of a model, downloaded if it is
        not in the folder. Raises ValueError for a bad name, RuntimeError if it cannot be
        fetched."""
        if not validModelName(model_name):
            raise ValueError(f"{model_name!r} is not a valid model name")
        folder = self._model_dir(model_name)
        if not os.path.exists(folder):
            _make_folder(folder, _from_zoo(
                model_name, [*_NETS, "value_info.json"], show_progress=False))
        init_net, predict_net = readNets(folder)
        predict_net.name = model_name
        init_net.name = model_name + "_init"
        with open(os.path.join(folder, "value_info.json")) as file:
            return init_net, predict_net, json.load(file)

    def get_c2_model_dbg(self, model_name: str) -> tuple[
            caffe2_pb2.NetDef, caffe2_pb2.NetDef, dict[str, Any], str]:
        """The result of get_c2_model, and a text that names its source."""
        return (*self.get_c2_model(model_name), f"{model_name} of {self._model_dir(model_name)}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetches the models named on the command line; returns 1 if one failed."""
    parser = argparse.ArgumentParser(description="Fetches models of the Caffe2 model zoo.")
    parser.add_argument("model", nargs="+", help="names of models, such as squeezenet; with "
                        "--install also folders, such as ./squeezenet")
    parser.add_argument("-i", "--install", action="store_true",
                        help="as a module of caffe2.python.models")
    parser.add_argument("-f", "--force", action="store_true", help="replace what is there")
    args = parser.parse_args(arguments)
    failed = False
    for model in args.model:
        try:
            downloadModel(model, args)
        except (OSError, RuntimeError, ValueError) as error:
            print(f"{model}: {error}", file=sys.stderr)
            if isinstance(error, RuntimeError):
                print(f"If you have predict_net.pb and init_net.pb of this model: {INSTALL} "
                      f"./{os.path.basename(model)}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
