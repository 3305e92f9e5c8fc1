// Passes of caffe2/graph over nets.
#include "caffe2/graph/data_parallel.h"
#include "caffe2/graph/memory_plan.h"
#include "caffe2/graph/quantization.h"
#include "caffe2/graph/training_pipeline.h"
#include "caffe2/graph/transform.h"
#include "python/pybind_state.h"
#include "train/model_file.h"
#include "train/options.h"
#include "train/restrict_model.h"

namespace caffe2::python {
namespace {

using Replicas = std::vector<ReplicatedBlob>;

std::map<std::string, TensorShape> ParseShapes(const std::string& bytes) {
  const auto parsed = ParseProto<TensorShapes>(bytes);
  std::map<std::string, TensorShape> shapes;
  for (const TensorShape& shape : parsed.shapes()) shapes[shape.name()] = shape;
  return shapes;
}

std::string WordOf(FusionLevel level) {
  for (const char* word : {"off", "bn", "all"}) {
    if (ParseFusionLevel(word) == level) return word;
  }
  CAFFE_THROW("no word for fusion level ", static_cast<int>(level));
}

std::string WordOf(ConvNormFusion fusion) {
  for (const char* word : {"none", "stats", "prologue", "residual"}) {
    if (ParseConvNormFusion(word) == fusion) return word;
  }
  CAFFE_THROW("no word for fusion of convolutions ", static_cast<int>(fusion));
}

TensorProto::DataType DataTypeOf(int number) {
  CAFFE_ENFORCE(TensorProto::DataType_IsValid(number), number, " is no TensorProto.DataType");
  return static_cast<TensorProto::DataType>(number);
}

void AddTrainingPasses(py::module_& m) {
  const TrainingPasses defaults;
  py::class_<TrainingPasses>(
      m, "TrainingPasses",
      "The passes that prepare a training net: caffe2/graph/training_pipeline.h. They change "
      "results by rounding only, unused_gradients and memory_plan not at all.")
      .def(py::init([](const std::string& fuse, const std::string& fuse_conv, bool unused_gradients,
                       bool gradient_sums, bool fused_updates, int filter_copies,
                       bool half_gradients, bool memory_plan) {
             return TrainingPasses{ParseFusionLevel(fuse), ParseConvNormFusion(fuse_conv),
                                   unused_gradients,       gradient_sums,
                                   fused_updates,          DataTypeOf(filter_copies),
                                   half_gradients,         memory_plan};
           }),
           py::kw_only(), py::arg("fuse") = WordOf(defaults.fuse),
           py::arg("fuse_conv") = WordOf(defaults.fuse_conv),
           py::arg("unused_gradients") = defaults.unused_gradients,
           py::arg("gradient_sums") = defaults.gradient_sums,
           py::arg("fused_updates") = defaults.fused_updates,
           py::arg("filter_copies") = static_cast<int>(defaults.filter_copies),
           py::arg("half_gradients") = defaults.half_gradients,
           py::arg("memory_plan") = defaults.memory_plan)
      .def_property(
          "fuse", [](const TrainingPasses& passes) { return WordOf(passes.fuse); },
          [](TrainingPasses& passes, const std::string& word) {
            passes.fuse = ParseFusionLevel(word);
          },
          "Layers that become one operator: off, bn (batch normalization) or all.")
      .def_property(
          "fuse_conv", [](const TrainingPasses& passes) { return WordOf(passes.fuse_conv); },
          [](TrainingPasses& passes, const std::string& word) {
            passes.fuse_conv = ParseConvNormFusion(word);
          },
          "Batch normalization inside convolutions: none, stats, prologue or residual.")
      .def_property(
          "filter_copies",
          [](const TrainingPasses& passes) { return static_cast<int>(passes.filter_copies); },
          [](TrainingPasses& passes, int type) { passes.filter_copies = DataTypeOf(type); },
          "TensorProto.DataType of copies of filters that fused updates write; FLOAT: none.")
      .def_readwrite("unused_gradients", &TrainingPasses::unused_gradients)
      .def_readwrite("gradient_sums", &TrainingPasses::gradient_sums)
      .def_readwrite("fused_updates", &TrainingPasses::fused_updates)
      .def_readwrite("half_gradients", &TrainingPasses::half_gradients)
      .def_readwrite("memory_plan", &TrainingPasses::memory_plan);
  m.def(
      "choose_training_passes",
      [](int device_type, const std::string& order, int type) {
        DeviceOption option;
        option.set_device_type(device_type);
        return ChooseTrainingPasses(ToDevice(option).type, order, DataTypeOf(type));
      },
      py::arg("device_type"), py::arg("order"), py::arg("type"),
      "The passes that make training faster on a type of devices, for activations of this order "
      "and TensorProto.DataType.");
}

// The stages of caffe2/graph/training_pipeline.h.
void AddTrainingPipeline(py::module_& m) {
  using Names = std::set<std::string>;
  py::class_<PreparedTraining>(m, "PreparedTraining",
                               "The data about a prepared net that place_training needs.")
      .def_readonly("filter_copies", &PreparedTraining::filter_copies)
      .def_readonly("half_gradients", &PreparedTraining::half_gradients);
  m.def(
      "prepare_forward",
      [](const std::string& bytes, const TrainingPasses& passes, const Names& keep) {
        auto net = ParseProto<NetDef>(bytes);
        PrepareForward(passes, keep, &net);
        return ProtoBytes(net);
      },
      py::arg("net"), py::arg("passes"), py::arg("keep"),
      "The net before its backward pass, after the passes that belong there.");
  m.def(
      "prepare_training",
      [](const std::string& bytes, const std::string& init_net, const TrainingPasses& passes,
         const Names& keep) {
        auto net = ParseProto<NetDef>(bytes);
        PreparedTraining prepared =
            PrepareTraining(ParseProto<NetDef>(init_net), passes, keep, &net);
        return std::make_pair(ProtoBytes(net), std::move(prepared));
      },
      py::arg("net"), py::arg("init_net"), py::arg("passes"), py::arg("keep"),
      "(The net after the passes that follow its updates, the argument of place_training.)");
  m.def(
      "place_training",
      [](const std::string& net, const PreparedTraining& prepared, const Names& keep) {
        std::vector<std::tuple<std::string, int64_t, int64_t>> sizes;
        for (const auto& [device, plan] :
             PlaceTraining(ParseProto<NetDef>(net), prepared, keep, CurrentWorkspace())) {
          sizes.emplace_back(device.ToString(), plan.arena_bytes, plan.unplanned_bytes);
        }
        return sizes;
      },
      py::arg("net"), py::arg("prepared"), py::arg("keep"),
      "Places the blobs of a net in the workspace. [(device, bytes of planned memory, bytes of the "
      "same blobs without sharing)].");
}

void AddQuantizer(py::module_& m) {
  py::class_<StaticQuantizer>(m, "StaticQuantizer",
                              "Static quantization of a net (caffe2/graph/quantization.h).")
      .def(py::init([](const std::string& net, const std::vector<std::string>& inputs,
                       Workspace* ws, const std::string& ranges, bool per_channel) {
             return std::make_unique<StaticQuantizer>(
                 ParseProto<NetDef>(net), inputs, ws,
                 QuantizationOptions{ParseRangeMethod(ranges), per_channel});
           }),
           py::arg("net"), py::arg("inputs"), py::arg("workspace"), py::arg("ranges"),
           py::arg("per_channel"), py::keep_alive<1, 4>())
      .def("observe", &StaticQuantizer::Observe, py::call_guard<py::gil_scoped_release>(),
           "Runs the float net on the inputs in the workspace and notes the values of its blobs.")
      .def(
          "finish", [](StaticQuantizer& self) { return ProtoBytes(self.Finish()); },
          "The quantized net, whose new parameters are in the workspace.");
}

}  // namespace

void AddGraphPasses(py::module_& m) {
  AddTrainingPasses(m);
  AddTrainingPipeline(m);
  AddQuantizer(m);
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
      .def_readwrite("port_range", &DataParallelOptions::port_range)
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
      "The net with the sums of the gradients over devices and shards; `gradients` holds for "
      "each its blobs on all devices, `shapes` (TensorShapes) its shape on the first device.");
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
  m.def(
      "restrict_model",
      [](const std::string& name, const std::string& bytes, const std::string& trust_setting) {
        auto net = ParseProto<NetDef>(bytes);
        RestrictModel(name, {.trust_setting = trust_setting}, &net);
        return ProtoBytes(net);
      },
      py::arg("name"), py::arg("net"), py::arg("trust_setting"),
      "The net with limits on its loops. Throws if it is too large for a model that is not "
      "trusted, or has an operator that such a model may not use (train/restrict_model.h). "
      "`trust_setting` is what lifts the limits, for errors; \"\" if nothing does.");
  m.def("default_image_scale", &DefaultImageScale, py::arg("image_size"),
        "The shorter side of images before the crop to image_size, as the trainers choose it.");
  m.def(
      "check_is_model", &CheckIsModel, py::arg("path"),
      "Throws if the file is evidently no exported model; the message says what it is and what to "
      "do (train/model_file.h).");
}

}  // namespace caffe2::python
