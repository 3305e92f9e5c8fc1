// Declarations that the files of the Python module share.
//
// The module is thin: it converts arguments, holds the named workspaces and calls the library.
// Messages are passed as serialized bytes, so that any protobuf runtime of Python works.
//
// Blobs, nets and operators are made and removed with the GIL held, which serializes these changes
// of a workspace. The GIL is released while a net, plan or operator runs, while the elements of a
// large tensor are copied, and while a process waits for other shards. pybind_active_runs.h refuses
// what must not be done meanwhile to the blobs and nets of a run.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <functional>
#include <string>

#include "caffe2/core/workspace.h"

namespace caffe2::python {

namespace py = pybind11;

// Each adds its part to the module.
void AddBlobs(py::module_& m);
void AddDatabases(py::module_& m);
void AddGlobals(py::module_& m);
void AddGradients(py::module_& m);
void AddGraphPasses(py::module_& m);
void AddNets(py::module_& m);
void AddObservers(py::module_& m);
void AddPythonOperators(py::module_& m);
void AddRuns(py::module_& m);
void AddSchemas(py::module_& m);
void AddSerialization(py::module_& m);  // after AddBlobs
void AddTensors(py::module_& m);
void AddWorkspaces(py::module_& m);

// The workspace that the functions of the module work on; made on first use.
Workspace* CurrentWorkspace();

// Raises ValueError, naming the message type, for bytes that are no such message.
template <typename Proto>
Proto ParseProto(const std::string& bytes) {
  Proto proto;
  if (!proto.ParseFromString(bytes)) {
    throw py::value_error("these " + std::to_string(bytes.size()) + " bytes are no serialized " +
                          proto.GetTypeName());
  }
  return proto;
}

template <typename Proto>
py::bytes ProtoBytes(const Proto& proto) {
  return proto.SerializeAsString();
}

// Runs `body` with the GIL released. Meanwhile an interrupt (Ctrl-C) of the main thread stops the
// nets and plans of `ws`. Python's signal handler then raises its exception, usually
// KeyboardInterrupt. The caller holds an ActiveRun (pybind_active_runs.h).
bool RunInterruptible(Workspace* ws, const std::function<bool()>& body);
// True if Ctrl-C has come during the current run of the main thread. Thread-safe.
bool MainThreadIsInterrupted();

// Waits, with the GIL released, until no run is active. Returns false after `timeout`.
bool WaitForRuns(std::chrono::milliseconds timeout);

// A net in its workspace, under which Python holds it: a name, as the net may be deleted.
struct CreatedNet {
  std::shared_ptr<Workspace> ws;
  std::string name;
};
// Throws EnforceNotMet if there is no such net.
NetBase* GetNetOrThrow(Workspace* ws, const std::string& name);
// Workspace::CreateNet. Throws EnforceNotMet if the net to overwrite runs.
CreatedNet CreateNetIn(Workspace* ws, const NetDef& net, bool overwrite);

// These make a net, plan or operator and run it, as RunInterruptible. They throw EnforceNotMet if
// it fails. `max_seconds` as in RunWithin (train/run_time_limit.h).
void RunNetOnce(const NetDef& def, double max_seconds, Workspace* ws);
// Also throws if one of the plan's nets, which it makes anew, runs already.
void RunPlan(const PlanDef& plan, Workspace* ws);
// Errors name the operator.
void RunOperator(const OperatorDef& def, Workspace* ws);

// Copies the content: to a numpy array, a tuple (array, scale, zero point) of a quantized tensor,
// or bytes; for other C++ objects, returns a line that names the type.
py::object FetchBlob(const Blob& blob, const std::string& name);

}  // namespace caffe2::python
