// The distributed runs that this process has joined.
#include "caffe2/core/usage_error.h"
#include "distributed/joined_runs.h"
#include "distributed/launch_environment.h"
#include "distributed/redis_store_handler.h"
#include "distributed/run_progress.h"
#include "python/pybind_state.h"
#include "train/shard_launch.h"
#include "train/shard_store.h"

namespace caffe2::python {

namespace {

// The place of this process in a launch.
struct ShardLaunch {
  Launch launch;
  ShardOptions shards;
};

void ThrowIfInterrupted() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

ShardLaunch ResolveShardLaunch(const std::optional<int>& num_shards,
                               const std::optional<int>& shard_id, const std::string& run_id,
                               const std::string& init_method, const std::string& redis_host,
                               int redis_port, const std::string& file_store_path,
                               double rendezvous_timeout) {
  const LaunchFlags flags{num_shards, shard_id, run_id, init_method, !redis_host.empty()};
  ShardLaunch result{ResolveLaunch(flags, ProcessEnvironment()), {}};
  result.shards.redis_host = redis_host;
  result.shards.redis_port = redis_port;
  result.shards.store_password = FindRedisPassword();
  result.shards.file_store_path = file_store_path;
  result.shards.rendezvous_timeout = rendezvous_timeout;
  result.shards.while_waiting = ThrowIfInterrupted;
  if (result.launch.size > 1 && result.launch.run_id.empty()) {
    ThrowUsage("--run_id is needed: a name for this run, the same on all ", result.launch.size,
               " shards");
  }
  ApplyLaunch(result.launch, &result.shards);
  return result;
}

void AddLaunches(py::module_& m) {
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const UsageError& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    }
  });
  py::class_<ShardLaunch>(m, "ShardLaunch", "The place of this process in a launch.")
      .def_property_readonly("num_shards", [](const ShardLaunch& l) { return l.shards.num_shards; })
      .def_property_readonly("shard_id", [](const ShardLaunch& l) { return l.shards.shard_id; })
      .def_property_readonly("run_id", [](const ShardLaunch& l) { return l.shards.run_id; })
      .def_property_readonly("local_rank", [](const ShardLaunch& l) { return l.shards.local_rank; })
      .def_property_readonly("local_size", [](const ShardLaunch& l) { return l.shards.local_size; })
      .def_property_readonly(
          "trains", [](const ShardLaunch& l) { return l.launch.role == Launch::Role::kWorker; },
          "False for a process that only serves the run, or takes no part in it.")
      .def(
          "describe",
          [](const ShardLaunch& l) { return l.launch.dialect.empty() ? "" : l.launch.Describe(); },
          "The settings of the launcher on one line; empty without a launcher.")
      .def(
          "serve", [](const ShardLaunch& l) { return ServeRun(l.launch, l.shards); },
          py::call_guard<py::gil_scoped_release>(),
          "Does the work of a process that does not train; returns its exit status.")
      .def(
          "make_store",
          [](const ShardLaunch& l, const std::string& blob) {
            std::unique_ptr<StoreHandler> store;
            {
              const py::gil_scoped_release release;
              store = NewRunStoreHandler(l.shards);
            }
            *CurrentWorkspace()->CreateBlob(blob)->GetMutable<std::unique_ptr<StoreHandler>>() =
                std::move(store);
          },
          py::arg("blob"),
          "Puts the store of the run into a blob, for CreateCommonWorld. Shard 0 starts the store "
          "of tcp://, others wait for it.");
  m.def(
      "launched_shards",
      [] {
        const auto launch = ReadLaunchEnvironment(ProcessEnvironment());
        return launch ? std::pair(launch->size, launch->Describe()) : std::pair(1, std::string());
      },
      "(number of shards, what the launcher says) by the environment; (1, \"\") without a "
      "launcher. "
      "Raises ValueError as resolve_launch does.");
  m.def("resolve_launch", &ResolveShardLaunch, py::arg("num_shards"), py::arg("shard_id"),
        py::arg("run_id"), py::arg("init_method"), py::arg("redis_host"), py::arg("redis_port"),
        py::arg("file_store_path"), py::arg("rendezvous_timeout"),
        py::call_guard<py::gil_scoped_release>(),
        "The place of this process among the shards, from these values and the variables of its "
        "launcher; the values take precedence. A shard without a number waits for the store and "
        "gets one from it. Raises ValueError for values that are wrong, missing or contradict each "
        "other.");
}

}  // namespace

void AddRuns(py::module_& m) {
  SetStopRequest(&MainThreadIsInterrupted);
  AddLaunches(m);
  m.def("show_progress_state", &ShowProgressState, py::arg("state"),
        "Shows this state in the status of the runs that the process has joined, until a net that "
        "trains or tests runs.");
  m.def("show_progress_epoch", &ShowProgressEpoch, py::arg("epoch"),
        "Shows this epoch in the status, like show_progress_state.");
  // Ending a run waits for other shards.
  m.def("leave_runs", &LeaveRuns, py::call_guard<py::gil_scoped_release>(),
        "Ends the runs successfully; waits for the other shards.");
  m.def("fail_runs", &FailRuns, py::arg("cause"), py::call_guard<py::gil_scoped_release>(),
        "Ends the runs because of a failure of this shard; the others print `cause`.");
}

}  // namespace caffe2::python
