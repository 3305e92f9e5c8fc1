// The module caffe2.python.caffe2_pybind11_state: flags and the table of its parts.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include "caffe2/core/device_backend.h"
#include "caffe2/utils/signal_stack.h"
#include "python/pybind_state.h"

namespace caffe2::python {
namespace {

constexpr char kPrefix[] = "--caffe2_";

// "--caffe2_log_level=2" sets the least severity that is logged; any flag of the library may be
// set by name. Others that Caffe2 had are noted and left alone.
void SetFlag(const std::string& word) {
  const size_t equal = word.find('=');
  const size_t begin = word.find_first_not_of('-');
  if (begin == std::string::npos || begin == 0 || begin > 2) {
    throw py::value_error("not a flag of the form --name=value: " + word);
  }
  const std::string name = word.substr(begin, equal == std::string::npos ? equal : equal - begin);
  const std::string value = equal == std::string::npos ? "true" : word.substr(equal + 1);
  if (name == "caffe2_log_level") {
    if (gflags::SetCommandLineOption("minloglevel", value.c_str()).empty()) {
      throw py::value_error("caffe2_log_level must be a number: " + value);
    }
    return;
  }
  gflags::CommandLineFlagInfo info;
  if (!gflags::GetCommandLineFlagInfo(name.c_str(), &info)) {
    if (word.rfind(kPrefix, 0) != 0) throw py::value_error("unknown flag: " + word);
    LOG(WARNING) << "flag " << name << " has no meaning here and is ignored";
    return;
  }
  if (gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) {
    throw py::value_error("flag --" + name + " cannot take the value " + value);
  }
}

void StartLog() {
  if (google::IsGoogleLoggingInitialized()) return;
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging("caffe2");
}

}  // namespace

void AddGlobals(py::module_& m) {
  m.def(
      "global_init",
      [](const std::vector<std::string>& args) {
        for (size_t i = 1; i < args.size(); ++i) SetFlag(args[i]);
      },
      py::arg("args"), "Sets flags; the first word is the program's name.");
  m.attr("define_caffe2_no_operator_schema") = false;
  m.attr("has_mkldnn") = true;
  m.attr("is_asan") =
#ifdef __SANITIZE_ADDRESS__
      true;
#else
      false;
#endif
  m.def("num_cuda_devices", [] { return NumDevices(CUDA); });
}

}  // namespace caffe2::python

PYBIND11_MODULE(caffe2_pybind11_state, m) {
  using namespace caffe2::python;
  m.doc() = "The C++ library, as caffe2.python uses it. Not for direct use.";
  StartLog();
  caffe2::UseSignalStack();
  AddGlobals(m);
  AddTensors(m);
  AddBlobs(m);
  AddSerialization(m);
  AddNets(m);
  AddObservers(m);
  AddWorkspaces(m);
  AddRuns(m);
  AddDatabases(m);
  AddSchemas(m);
  AddGradients(m);
  AddGraphPasses(m);
  AddPythonOperators(m);
}
