// Images per second of training: forward, backward, weight decay and momentum SGD.
//
//   net_training --model resnet50 --image_size 224 --batch 16 --dtype bfloat16
//
// Prints one JSON line, as torch_bench.py does; --profile adds a table of operators to stderr.
// OMP_NUM_THREADS sets the number of threads.

#include <gflags/gflags.h>

#include "benchmarks/net_measure.h"
#include "caffe2/core/device_backend.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/networks.h"
#include "caffe2/model/optimizer.h"
#include "caffe2/utils/program.h"

DEFINE_string(model, "resnet50", "a network of caffe2/model");
DEFINE_int32(batch, 16, "images a step");
DEFINE_int32(image_size, 224, "height and width");
DEFINE_int32(channels, 3, "channels of an image");
DEFINE_int32(labels, 1000, "classes");
DEFINE_string(dtype, "float", "float or bfloat16 activations");
DEFINE_string(order, "NHWC", "NHWC or NCHW");
DEFINE_string(device, "cpu", "cpu or cuda");
DEFINE_string(fuse, "all", "off, bn or all");
DEFINE_bool(memory_plan, true, "share memory between blobs");
DEFINE_double(min_seconds, 10, "measured at least this long");
DEFINE_bool(profile, false, "print milliseconds by operator type");

namespace caffe2 {
namespace {

void FeedInputs(Workspace* ws) {
  const std::vector<int64_t> shape =
      FLAGS_order == "NHWC"
          ? std::vector<int64_t>{FLAGS_batch, FLAGS_image_size, FLAGS_image_size, FLAGS_channels}
          : std::vector<int64_t>{FLAGS_batch, FLAGS_channels, FLAGS_image_size, FLAGS_image_size};
  benchmark::FeedImages(shape, ws);
  Tensor* label = BlobGetMutableTensor(ws->CreateBlob("label"), Device{});
  label->Resize(FLAGS_batch);
  for (int i = 0; i < FLAGS_batch; ++i) {
    label->mutable_data<int>()[i] = i % FLAGS_labels;
  }
}

void BuildModel(ModelHelper* model) {
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
  const auto loss = brew::SoftmaxWithLoss(model, scores, "label", "softmax", "loss");
  FuseOperators(model->net(), {ParseFusionLevel(FLAGS_fuse), {loss.loss}});
  model->AddGradientOperators({{loss.loss, ""}});
  AddWeightDecay(model, 1e-4f);
  SgdOptions sgd;
  sgd.learning_rate.base = 1e-3f;
  sgd.nesterov = false;
  BuildSgd(model, sgd);
}

int Run() {
  CAFFE_ENFORCE(FLAGS_dtype == "float" || FLAGS_dtype == "bfloat16", "dtype is ", FLAGS_dtype);
  CAFFE_ENFORCE(FLAGS_batch > 0 && FLAGS_labels > 0, "batch and labels must be positive");
  CAFFE_ENFORCE(FLAGS_device == "cpu" || FLAGS_device == "cuda", "device is ", FLAGS_device);
  const Device device{FLAGS_device == "cuda" ? CUDA : CPU, 0};
  CheckDevice(device);
  ModelHelper::Options options;
  options.order = FLAGS_order;
  options.device = ToDeviceOption(device);
  if (FLAGS_dtype == "bfloat16") options.compute_type = TensorProto::BFLOAT16;
  ModelHelper model("training", options);
  BuildModel(&model);

  Workspace ws;
  CAFFE_ENFORCE(ws.RunNetOnce(*model.param_init_net()));
  FeedInputs(&ws);
  for (const char* name : {"data", "label"}) benchmark::MoveTo(device, name, &ws);
  if (FLAGS_memory_plan) benchmark::ShareMemory(*model.net(), {"loss"}, &ws, device);
  NetBase* net = ws.CreateNet(*model.net());
  const auto rates = benchmark::MeasureRates(net, FLAGS_batch, FLAGS_min_seconds);
  benchmark::PrintRates(
      MakeString(FLAGS_model, "/train/b", FLAGS_batch, "/", FLAGS_dtype, "/", FLAGS_order,
                 "/fuse=", FLAGS_fuse, device.type == CPU ? "" : "/cuda"),
      rates);
  if (FLAGS_profile) benchmark::PrintOperatorTimes(*net, 3);
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Times training steps of a network.", caffe2::Run);
}
