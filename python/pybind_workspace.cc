// The named workspaces and the class Workspace.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "caffe2/graph/inference.h"
#include "caffe2/utils/blob_memory.h"
#include "distributed/common_world_op.h"
#include "distributed/joined_runs.h"
#include "python/pybind_active_runs.h"
#include "python/pybind_state.h"
#include "train/restrict_model.h"

namespace caffe2::python {
namespace {

// Destroyed when the interpreter ends (on_module_exit), while operators written in Python can
// still be.
struct Workspaces {
  std::map<std::string, std::shared_ptr<Workspace>> by_name;
  Workspace* current = nullptr;
  std::string current_name = "default";

  void Switch(const std::string& name, bool create) {
    auto it = by_name.find(name);
    if (it == by_name.end()) {
      CAFFE_ENFORCE(create, "there is no workspace ", name,
                    "; switch with create_if_missing=True to make it");
      it = by_name.emplace(name, std::make_shared<Workspace>()).first;
    }
    current = it->second.get();
    current_name = name;
  }
  // Programs may still hold the old workspace, which is then empty.
  void Reset(const std::string& root_folder) {
    constexpr std::chrono::seconds kPatience(5);
    const std::string name = current_name;
    std::shared_ptr<Workspace> ended;
    while (ended != by_name[name]) {  // other threads may reset it while this one waits
      ended = by_name[name];
      EndRuns(ended.get(), kPatience, "cannot reset workspace " + name);
    }
    by_name[name] = root_folder.empty() ? std::make_shared<Workspace>()
                                        : std::make_shared<Workspace>(root_folder);
    current = by_name[current_name].get();
    ended->Clear();
  }
};

Workspaces& State() {
  static auto* workspaces = new Workspaces;
  if (workspaces->current == nullptr) workspaces->Switch(workspaces->current_name, true);
  return *workspaces;
}

// The common worlds of all workspaces.
std::vector<CommonWorld> OpenWorlds() {
  std::vector<CommonWorld> worlds;
  for (auto& [name, ws] : State().by_name) {
    for (const std::string& blob_name : ws->Blobs()) {
      const Blob* blob = ws->GetBlob(blob_name);
      if (blob->IsType<CommonWorld>()) worlds.push_back(blob->Get<CommonWorld>());
    }
  }
  return worlds;
}

// Removes all workspaces. Runs of other threads, which nobody waited for, are stopped before; what
// does not stop keeps its workspaces. With a `cause` the distributed runs of the process have
// failed; without one that is left to its exit status.
void EndWorkspaces(const std::string& cause) {
  constexpr std::chrono::seconds kPatience(5);
  Workspaces& workspaces = State();
  if (cause.empty()) {
    KeepRunsUntilExit(OpenWorlds());
  } else {
    FailRuns(cause);
  }
  for (auto& entry : workspaces.by_name) entry.second->RequestStop();
  if (!WaitForRuns(kPatience)) {
    LOG(WARNING) << "a net still runs in another thread while Python ends";
    new auto(std::move(workspaces.by_name));
  }
  for (auto& entry : workspaces.by_name) entry.second->Clear();
  workspaces.by_name.clear();
  workspaces.current = nullptr;
}

Blob* GetBlobOrThrow(Workspace& ws, const std::string& name) {
  Blob* blob = ws.GetBlob(name);
  CAFFE_ENFORCE(blob != nullptr, "Can't find blob: ", name);
  return blob;
}

using BlobMemoryTuple =
    std::tuple<std::string, std::string, std::string, std::string, int64_t, int>;

std::tuple<std::vector<BlobMemoryTuple>, int64_t, int64_t> CurrentMemory() {
  const WorkspaceMemory memory = MeasureMemory(*CurrentWorkspace());
  std::vector<BlobMemoryTuple> blobs;
  for (const BlobMemory& blob : memory.blobs) {
    blobs.emplace_back(blob.name, blob.shape, blob.type, blob.device, blob.nbytes,
                       blob.shared_with);
  }
  return {blobs, memory.blob_bytes, memory.distinct_bytes};
}

void AddWorkspaceClass(py::module_& m) {
  constexpr auto kInside = py::return_value_policy::reference_internal;
  py::class_<Workspace, std::shared_ptr<Workspace>>(m, "Workspace", "Blobs and nets by name.")
      .def(py::init<>())
      .def(py::init([](Workspace* shared) { return std::make_shared<Workspace>(shared); }),
           py::arg("shared"), py::keep_alive<1, 2>(), "A child that sees the blobs of `shared`.")
      .def_property_readonly(
          "nets",
          [](Workspace& self) {
            std::map<std::string, CreatedNet> nets;
            for (const std::string& name : self.Nets()) {
              nets[name] = {self.shared_from_this(), name};
            }
            return nets;
          },
          "Name -> net.")
      .def_property_readonly(
          "blobs",
          [](py::object self) {
            auto& ws = self.cast<Workspace&>();
            py::dict blobs;
            for (const std::string& name : ws.Blobs()) {
              blobs[py::str(name)] = py::cast(ws.GetBlob(name), kInside, self);
            }
            return blobs;
          },
          "Name -> blob.")
      .def(
          "_create_net",
          [](Workspace& self, const std::string& net, bool overwrite) {
            return CreateNetIn(&self, ParseProto<NetDef>(net), overwrite);
          },
          py::arg("net"), py::arg("overwrite") = false)
      .def("create_blob", &Workspace::CreateBlob, py::arg("name"), kInside,
           "The blob of this name, made if there is none.")
      .def(
          "_optimize_for_inference",
          [](Workspace& self, const std::string& bytes, const std::set<std::string>& keep) {
            auto net = ParseProto<NetDef>(bytes);
            auto parameters = OptimizeForInference(&net, &self, {.keep = keep});
            return std::make_pair(ProtoBytes(net), parameters);
          },
          py::arg("net"), py::arg("keep"),
          "(the net made fast for inference, the blobs after whose change it must be made again).")
      .def(
          "_remove_blob",
          [](Workspace& self, const std::string& name) {
            EnforceBlobIsIdle(self.GetBlob(name), "cannot remove blob " + name);
            return self.RemoveBlob(name);
          },
          py::arg("name"))
      .def("check_finite", &CheckFinite, py::arg("blobs"), py::arg("trust_setting"),
           "Throws, naming the blob, if a tensor of floating-point numbers among the blobs holds "
           "NaN or an infinity. `trust_setting`: as in restrict_model.")
      .def("has_blob", &Workspace::HasBlob, py::arg("name"))
      .def("get_blob", &GetBlobOrThrow, py::arg("name"), kInside)
      .def(
          "fetch_blob",
          [](Workspace& self, const std::string& name) {
            return FetchBlob(*GetBlobOrThrow(self, name), name);
          },
          py::arg("name"))
      .def(
          "_run_net",
          [](Workspace& self, const std::string& bytes, double max_seconds) {
            RunNetOnce(ParseProto<NetDef>(bytes), max_seconds, &self);
          },
          py::arg("net"), py::arg("max_seconds") = 0.0)
      .def("_run_operator",
           [](Workspace& self, const std::string& bytes) {
             RunOperator(ParseProto<OperatorDef>(bytes), &self);
           })
      .def("_run_plan",
           [](Workspace& self, const std::string& bytes) {
             RunPlan(ParseProto<PlanDef>(bytes), &self);
           })
      .def_property_readonly_static(
          "current", [](const py::object& cls) { return CurrentWorkspace()->shared_from_this(); });
}

}  // namespace

Workspace* CurrentWorkspace() { return State().current; }

void AddWorkspaces(py::module_& m) {
  AddWorkspaceClass(m);
  m.def(
      "switch_workspace",
      [](const std::string& name, bool create) { State().Switch(name, create); }, py::arg("name"),
      py::arg("create_if_missing") = false);
  m.def(
      "reset_workspace",
      [](const std::string& root_folder) {
        State().Reset(root_folder);
        return true;
      },
      py::arg("root_folder") = "");
  m.def("current_workspace", [] { return State().current_name; });
  m.def("workspaces", [] {
    std::vector<std::string> names;
    for (const auto& entry : State().by_name) names.push_back(entry.first);
    return names;
  });
  m.def("measure_memory", &CurrentMemory,
        "(name, shape, type, device, bytes, blobs that it shares memory with) of each tensor, the "
        "sum of the bytes, and the bytes of memory that they lie in.");
  m.def("root_folder", [] { return CurrentWorkspace()->RootFolder(); });
  m.def("on_module_exit", &EndWorkspaces, py::arg("cause") = "");
}

}  // namespace caffe2::python
