"""Logs of training runs: one CSV line per epoch."""

from __future__ import annotations

import abc
import datetime
import logging
import numbers
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from caffe2.python import _import_c_extension as C

logger = logging.getLogger("experiment_logger")


class ExternalLogger(abc.ABC):
    """The base of further destinations of logs."""

    @abc.abstractmethod
    def set_runtime_args(self, runtime_args: Any) -> None:
        """Logs the arguments of the run."""

    @abc.abstractmethod
    def log(self, log_dict: Mapping[str, Any]) -> None:
        """Logs {key: value}."""


class ModelTrainerLog:
    """Writes "<expname>_<date>_<time>.log" in the current directory: the arguments, a header and a
    line for each call of `log`."""

    def __init__(self, expname: str, runtime_args: Any,
                 external_loggers: Sequence[ExternalLogger] | None = None) -> None:
        now = datetime.datetime.fromtimestamp(time.time())
        self.experiment_id = now.strftime("%Y%m%d_%H%M%S")
        self.filename = f"{expname}_{self.experiment_id}.log"
        self.headers: list[str] | None = None
        self.start_time = self.last_time = time.time()
        self.last_input_count = 0
        self.cumulative_batch_count = 0
        self.external_loggers = external_loggers or []
        for external in self.external_loggers:
            external.set_runtime_args(runtime_args)
        self.logstr(f"# {runtime_args}")

    def logstr(self, str: str) -> None:
        """Writes a line to the file and the logger."""
        with open(self.filename, "a") as file:
            file.write(str + "\n")
        logger.info(str)

    def log(self, input_count: int, batch_count: int, additional_values: Mapping[str, Any]) -> None:
        """Logs a line.

        Args:
          input_count: examples so far.
          batch_count: batches since the last call.
          additional_values: {key: value} of further columns. "epoch" is the number, from 0, of the
            epoch that has just ended; the status of distributed runs shows the next one.
        """
        epoch = additional_values.get("epoch")
        if isinstance(epoch, numbers.Integral):
            C.show_progress_epoch(int(epoch) + 1)
        now = time.time()
        seconds = now - self.last_time
        inputs = input_count - self.last_input_count
        self.cumulative_batch_count += batch_count
        values = OrderedDict([
            ("time_spent", seconds),
            ("cumulative_time_spent", now - self.start_time),
            ("input_count", inputs),
            ("cumulative_input_count", input_count),
            ("cumulative_batch_count", self.cumulative_batch_count),
            ("inputs_per_sec", inputs / seconds if seconds > 0 else 0),
        ])
        values.update(sorted(additional_values.items()))
        for external in self.external_loggers:
            external.log(values)
        if self.headers is None:
            self.headers = list(values)
            self.logstr(",".join(self.headers))
        self.logstr(",".join(str(value) for value in values.values()))
        self.last_time, self.last_input_count = now, input_count
