// The distributed runs that this process has joined.
#include "distributed/joined_runs.h"
#include "distributed/run_progress.h"
#include "python/pybind_state.h"

namespace caffe2::python {

void AddRuns(py::module_& m) {
  m.def("show_progress_state", &ShowProgressState, py::arg("state"),
        "Shows this state in the status of the runs that the process has joined, until a net that "
        "trains or tests runs.");
  m.def("show_progress_epoch", &ShowProgressEpoch, py::arg("epoch"), "Likewise the epoch.");
  // Ending a run waits for other shards.
  m.def("leave_runs", &LeaveRuns, py::call_guard<py::gil_scoped_release>(),
        "Ends the runs well; waits for the other shards.");
  m.def("fail_runs", &FailRuns, py::arg("cause"), py::call_guard<py::gil_scoped_release>(),
        "Ends the runs because of a failure of this shard, which the others print.");
}

}  // namespace caffe2::python
