// Images per second of training: forward, backward, weight decay and momentum SGD.
//
//   net_training --model resnet50 --image_size 224 --batch 16 --dtype bfloat16
//
// Prints one JSON line, as torch_gpu.py does; --profile adds the time of each type of operator
// to stderr, --table 40 what each operator takes beside what memory and arithmetic allow.
// OMP_NUM_THREADS sets the number of threads.

#include <gflags/gflags.h>

#include <map>
#include <string>
#include <vector>

#include "benchmarks/host_ceilings.h"
#include "benchmarks/operator_table.h"
#include "caffe2/core/device_backend.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/training_pipeline.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/loss_scale.h"
#include "caffe2/model/networks.h"
#include "caffe2/model/optimizer.h"
#include "caffe2/utils/program.h"

DEFINE_string(model, "resnet50", "a network of caffe2/model");
DEFINE_int32(batch, 16, "images a step");
DEFINE_int32(image_size, 224, "height and width");
DEFINE_int32(channels, 3, "channels of an image");
DEFINE_int32(labels, 1000, "classes");
DEFINE_string(dtype, "float", "float, bfloat16 or float16 activations");
DEFINE_string(order, "NHWC", "NHWC or NCHW");
DEFINE_string(device, "cpu", "cpu or cuda");
DEFINE_string(fuse, "all", "off, bn or all");
DEFINE_string(fuse_conv, "auto", "none, stats, prologue, residual; auto: what the trainers choose");
DEFINE_bool(half_gradients, false, "16-bit gradients of filters, as --half_gradients of trainers");
DEFINE_bool(memory_plan, true, "share memory between blobs");
DEFINE_bool(cuda_graph, false,
            "record a step and start it by one call, as --cuda_graph of trainers");
DEFINE_double(min_seconds, 10, "measured at least this long");
DEFINE_bool(profile, false, "print milliseconds by operator type");
DEFINE_int32(table, 0, "print so many lines of the table of operators beside their floors");
// The ceilings of that table. On the CPU they are measured; the defaults of a device were measured
// on an H200.
DEFINE_double(memory_gbs, 0, "memory, GB/s read and written; 0: 4300 of a device");
DEFINE_double(tflops, 0, "products, TFLOP/s; 0: on a device 790 for 16-bit types, 67 for float");

namespace caffe2 {
namespace {

std::vector<int64_t> ImageShape() {
  if (FLAGS_order == "NHWC") {
    return {FLAGS_batch, FLAGS_image_size, FLAGS_image_size, FLAGS_channels};
  }
  return {FLAGS_batch, FLAGS_channels, FLAGS_image_size, FLAGS_image_size};
}

void FeedInputs(Workspace* ws) {
  benchmark::FeedImages(ImageShape(), ws);
  Tensor* label = BlobGetMutableTensor(ws->CreateBlob("label"), Device{});
  label->Resize(FLAGS_batch);
  for (int i = 0; i < FLAGS_batch; ++i) {
    label->mutable_data<int>()[i] = i % FLAGS_labels;
  }
}

constexpr char kLoss[] = "loss";

// What the flags ask for.
TrainingPasses PassesOf(const ModelHelper::Options& model) {
  TrainingPasses passes =
      ChooseTrainingPasses(ToDevice(model.device).type, model.order, model.compute_type);
  passes.fuse = ParseFusionLevel(FLAGS_fuse);
  if (FLAGS_fuse_conv != "auto") passes.fuse_conv = ParseConvNormFusion(FLAGS_fuse_conv);
  passes.half_gradients = FLAGS_half_gradients;
  passes.memory_plan = FLAGS_memory_plan;
  return passes;
}

PreparedTraining BuildModel(ModelHelper* model) {
  std::string data = "data";
  if (model->options().compute_type != TensorProto::FLOAT) {
    data = brew::CastTo(model, data, "data_cast", model->options().compute_type);
  }
  NetworkOptions network;
  network.image_size = FLAGS_image_size;
  network.small_stem = FLAGS_image_size < 64;
  network.num_channels = FLAGS_channels;
  network.num_labels = FLAGS_labels;
  const std::string scores = AddNetwork(model, FLAGS_model, data, network);
  brew::SoftmaxWithLoss(model, scores, "label", "softmax", kLoss);
  const TrainingPasses passes = PassesOf(model->options());
  PrepareForward(passes, {kLoss}, model->net());
  const bool half = model->options().compute_type == TensorProto::FLOAT16;
  model->AddGradientOperators({{kLoss, half ? AddLossScale(model, {}) : ""}});
  AddGradientUnscaling(model, {});
  AddWeightDecay(model, 1e-4f);
  SgdOptions sgd;
  sgd.learning_rate.base = 1e-3f;
  sgd.nesterov = false;
  BuildSgd(model, sgd);
  if (FLAGS_cuda_graph) model->net()->set_type("cuda_graph");
  return PrepareTraining(*model->param_init_net(), passes, {kLoss}, model->net());
}

int Run() {
  const std::map<std::string, TensorProto::DataType> types = {{"float", TensorProto::FLOAT},
                                                              {"bfloat16", TensorProto::BFLOAT16},
                                                              {"float16", TensorProto::FLOAT16}};
  CAFFE_ENFORCE(types.count(FLAGS_dtype), "dtype is ", FLAGS_dtype);
  CAFFE_ENFORCE(FLAGS_batch > 0 && FLAGS_labels > 0, "batch and labels must be positive");
  CAFFE_ENFORCE(FLAGS_device == "cpu" || FLAGS_device == "cuda", "device is ", FLAGS_device);
  const Device device{FLAGS_device == "cuda" ? CUDA : CPU, 0};
  CheckDevice(device);
  ModelHelper::Options options;
  options.order = FLAGS_order;
  options.device = ToDeviceOption(device);
  options.compute_type = types.at(FLAGS_dtype);
  ModelHelper model("training", options);
  const PreparedTraining prepared = BuildModel(&model);
  CAFFE_ENFORCE(!FLAGS_half_gradients || prepared.half_gradients > 0,
                "--half_gradients: no gradient of a filter of ", FLAGS_model,
                " can be in 16 bits with --device ", FLAGS_device, " --dtype ", FLAGS_dtype);

  Workspace ws;
  CAFFE_ENFORCE(ws.RunNetOnce(*model.param_init_net()));
  FeedInputs(&ws);
  for (const char* name : {"data", "label"}) benchmark::MoveTo(device, name, &ws);
  for (const auto& [planned, plan] : PlaceTraining(*model.net(), prepared, {kLoss}, &ws)) {
    benchmark::PrintPlan(plan);
  }
  NetBase* net = ws.CreateNet(*model.net());
  const auto rates = benchmark::MeasureRates(net, FLAGS_batch, FLAGS_min_seconds);
  benchmark::PrintRates(
      MakeString(FLAGS_model, "/train/b", FLAGS_batch, "/", FLAGS_dtype, "/", FLAGS_order, "/fuse=",
                 FLAGS_fuse, "/fuse_conv=", FLAGS_fuse_conv, device.type == CPU ? "" : "/cuda"),
      rates, device);
  if (FLAGS_profile) benchmark::PrintOperatorTimes(*net, 3);
  if (FLAGS_table > 0) {
    const benchmark::Ceilings given = {FLAGS_memory_gbs * 1e9, FLAGS_tflops * 1e12};
    benchmark::PrintOperatorTable(
        *net, ws, benchmark::CeilingsOf(device, options.compute_type, given), FLAGS_table);
  }
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Times training steps of a network.", caffe2::Run);
}
