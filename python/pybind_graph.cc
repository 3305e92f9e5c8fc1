// Passes of caffe2/graph over nets.
#include "caffe2/graph/data_parallel.h"
#include "caffe2/graph/memory_plan.h"
#include "caffe2/graph/transform.h"
#include "python/pybind_state.h"

namespace caffe2::python {
namespace {

using Replicas = std::vector<ReplicatedBlob>;

std::map<std::string, TensorShape> ParseShapes(const std::string& bytes) {
  const auto parsed = ParseProto<TensorShapes>(bytes);
  std::map<std::string, TensorShape> shapes;
  for (const TensorShape& shape : parsed.shapes()) shapes[shape.name()] = shape;
  return shapes;
}

}  // namespace

void AddGraphPasses(py::module_& m) {
  py::class_<DataParallelOptions>(m, "DataParallelOptions",
                                  "The devices and shards of a data-parallel model.")
      .def(py::init([](const std::vector<std::string>& devices) {
             DataParallelOptions options;
             options.devices.clear();
             for (const std::string& device : devices) {
               options.devices.push_back(ToDevice(ParseProto<DeviceOption>(device)));
             }
             return options;
           }),
           py::arg("devices"))
      .def_readwrite("num_shards", &DataParallelOptions::num_shards)
      .def_readwrite("shard_id", &DataParallelOptions::shard_id)
      .def_readwrite("store_handler", &DataParallelOptions::store_handler)
      .def_readwrite("engine", &DataParallelOptions::engine)
      .def_readwrite("transport", &DataParallelOptions::transport)
      .def_readwrite("interface", &DataParallelOptions::interface)
      .def_readwrite("timeout_ms", &DataParallelOptions::timeout_ms)
      .def_readwrite("bucket_bytes", &DataParallelOptions::bucket_bytes)
      .def_readwrite("first_bucket_bytes", &DataParallelOptions::first_bucket_bytes);
  m.def(
      "add_gradient_reduction",
      [](const std::string& bytes, const Replicas& gradients, const std::string& shapes,
         const DataParallelOptions& options) {
        auto net = ParseProto<NetDef>(bytes);
        AddGradientReduction(
            &net, PlanGradientBuckets(net, gradients, ParseShapes(shapes), options), options);
        return ProtoBytes(net);
      },
      py::arg("net"), py::arg("gradients"), py::arg("shapes"), py::arg("options"),
      "The net with the sums of the gradients over devices and shards; `gradients` holds the blobs "
      "of all devices of each, `shapes` (TensorShapes) those of the first device.");
  m.def(
      "add_common_worlds",
      [](const std::string& bytes, const DataParallelOptions& options) {
        auto net = ParseProto<NetDef>(bytes);
        AddCommonWorlds(&net, options);
        return ProtoBytes(net);
      },
      py::arg("init_net"), py::arg("options"));
  m.def(
      "add_blob_broadcast",
      [](const std::string& bytes, const Replicas& blobs, const DataParallelOptions& options) {
        auto net = ParseProto<NetDef>(bytes);
        AddBlobBroadcast(&net, blobs, options);
        return ProtoBytes(net);
      },
      py::arg("net"), py::arg("blobs"), py::arg("options"),
      "The net with the broadcast of the blobs from the first device of shard 0 to all others.");
  m.def(
      "plan_shared_blobs",
      [](const std::string& net, const std::set<std::string>& candidates,
         const std::string& shapes) {
        return PlanSharedBlobs(ParseProto<NetDef>(net), candidates, ParseShapes(shapes));
      },
      py::arg("net"), py::arg("candidates"), py::arg("shapes") = "",
      "{blob: blob it shares with}, of candidates that are not alive at the same time.");
  m.def(
      "rename_blobs",
      [](const std::string& bytes, const std::map<std::string, std::string>& renamed) {
        auto net = ParseProto<NetDef>(bytes);
        RenameBlobs(renamed, &net);
        return ProtoBytes(net);
      },
      py::arg("net"), py::arg("renamed"));
  m.def(
      "plan_memory",
      [](const std::string& net, const std::string& shapes, const std::set<std::string>& keep) {
        const MemoryPlan plan = PlanMemory(ParseProto<NetDef>(net), ParseShapes(shapes), keep);
        return std::make_pair(plan.arena_bytes, plan.unplanned_bytes);
      },
      py::arg("net"), py::arg("shapes"), py::arg("keep") = std::set<std::string>(),
      "(bytes that the blobs of a net need if they share memory, bytes without sharing).");
  m.def(
      "apply_transform",
      [](const std::string& name, const std::string& net) {
        return ProtoBytes(ApplyTransform(name, ParseProto<NetDef>(net)));
      },
      py::arg("name"), py::arg("net"), "The net after a transform.");
  m.def("transforms", &TransformNames, "The names of the transforms.");
}

}  // namespace caffe2::python
