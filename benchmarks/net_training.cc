// Images per second of training: forward, backward, weight decay and momentum SGD.
//
//   net_training --model resnet50 --image_size 224 --batch 16 --dtype bfloat16
//
// Prints one JSON line, as torch_gpu.py does; --profile adds the time of each type of operator
// to stderr, --table 40 what each operator takes beside what memory and arithmetic allow.
// OMP_NUM_THREADS sets the number of threads.

#include <gflags/gflags.h>

#include <memory>
#include <set>
#include <utility>

#include "benchmarks/operator_table.h"
#include "caffe2/core/device_backend.h"
#include "caffe2/graph/conv_norm_fusion.h"
#include "caffe2/graph/flat_update.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/graph/gradient_sum.h"
#include "caffe2/graph/half_gradients.h"
#include "caffe2/graph/side_stream.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/loss_scale.h"
#include "caffe2/model/networks.h"
#include "caffe2/model/optimizer.h"
#include "caffe2/utils/program.h"
#include "train/measured_forms.h"

DEFINE_string(model, "resnet50", "a network of caffe2/model");
DEFINE_int32(batch, 16, "images a step");
DEFINE_int32(image_size, 224, "height and width");
DEFINE_int32(channels, 3, "channels of an image");
DEFINE_int32(labels, 1000, "classes");
DEFINE_string(dtype, "float", "float, bfloat16 or float16 activations");
DEFINE_string(order, "NHWC", "NHWC or NCHW");
DEFINE_string(device, "cpu", "cpu or cuda");
DEFINE_string(fuse, "all", "off, bn or all");
DEFINE_string(fuse_conv, "auto",
              "none, stats, prologue, residual; auto: what the trainers choose without measuring; "
              "measured: what they measure, and keep in CAFFE2_CUDA_PLAN_CACHE");
DEFINE_bool(half_gradients, false, "16-bit gradients of filters, as --half_gradients of trainers");
DEFINE_bool(memory_plan, true, "share memory between blobs");
DEFINE_bool(cuda_graph, false,
            "record a step and start it by one call, as --cuda_graph of trainers");
DEFINE_bool(side_stream, false,
            "filter gradients on a second stream, as --side_stream of trainers");
DEFINE_int32(side_work, caffe2::kMostSideWork,
             "filter gradients that may be under way at a time with --side_stream");
DEFINE_double(min_seconds, 10, "measured at least this long");
DEFINE_bool(profile, false, "print milliseconds by operator type");
DEFINE_int32(table, 0, "print so many lines of the table of operators beside their floors");
// The ceilings of that table; the defaults were measured on an H200.
DEFINE_double(memory_gbs, 4300, "device memory, GB/s read and written");
DEFINE_double(tflops, 0, "products, TFLOP/s; 0: 790 for 16-bit types, 67 for float");

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

// Which form of a part of the net is faster, as the trainers measure it.
ChooseForm Measuring(const ModelHelper& model) {
  MeasuredFormsOptions options{.cache = PlanCache::Default(),
                               .executor = FLAGS_cuda_graph ? "cuda_graph" : "simple",
                               .shapes = InferBlobShapesAndTypes({}, {&model.param_init_net()}),
                               .share = nullptr};
  CAFFE_ENFORCE(options.cache.is_kept(), "--fuse_conv measured needs CAFFE2_CUDA_PLAN_CACHE");
  options.shapes["data"] = CreateTensorShape(ImageShape(), TensorProto::FLOAT);
  auto forms = std::make_shared<MeasuredForms>(std::move(options));
  return [forms](const FormSite& site) { return (*forms)(site); };
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
  const bool measured = FLAGS_fuse_conv == "measured";
  const ConvNormFusion fusion =
      measured || FLAGS_fuse_conv == "auto"
          ? ChooseConvNormFusion(ToDevice(model->options().device).type, FLAGS_order,
                                 model->options().compute_type)
          : ParseConvNormFusion(FLAGS_fuse_conv);
  FuseConvolutionsWithNorms(model->net(), fusion, {}, measured ? Measuring(*model) : nullptr);
  const bool half = model->options().compute_type == TensorProto::FLOAT16;
  model->AddGradientOperators({{loss.loss, half ? AddLossScale(model, {}) : ""}});
  if (FLAGS_device != "cpu") FuseGradientSums(model->net());
  AddGradientUnscaling(model, {});
  AddWeightDecay(model, 1e-4f);
  SgdOptions sgd;
  sgd.learning_rate.base = 1e-3f;
  sgd.nesterov = false;
  BuildSgd(model, sgd);
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
  BuildModel(&model);

  Workspace ws;
  // As the trainers do on GPUs.
  std::vector<FlatGroup> groups;
  if (device.type != CPU) groups = FuseUpdates(*model.param_init_net(), model.net());
  if (options.compute_type != TensorProto::FLOAT) {
    AddFilterCopies(options.compute_type, model.net(), &groups);
  }
  if (FLAGS_half_gradients) {
    CAFFE_ENFORCE_GT(HalveFilterGradients(model.net(), &groups), 0,
                     "--half_gradients: no gradient of a filter of ", FLAGS_model,
                     " can be in 16 bits with --device ", FLAGS_device, " --dtype ", FLAGS_dtype);
  }
  CAFFE_ENFORCE(ws.RunNetOnce(*model.param_init_net()));
  for (const FlatGroup& group : groups) PlaceFlat(group, &ws);
  FeedInputs(&ws);
  for (const char* name : {"data", "label"}) benchmark::MoveTo(device, name, &ws);
  std::set<std::string> placed = {"loss"};
  for (const FlatGroup& group : groups) {
    placed.insert(group.gradients.begin(), group.gradients.end());
    placed.insert(group.copies.begin(), group.copies.end());
  }
  if (FLAGS_side_stream) UseSideStreams(model.net(), FLAGS_side_work);
  if (FLAGS_memory_plan) benchmark::ShareMemory(*model.net(), placed, &ws, device);
  if (FLAGS_cuda_graph) model.net()->set_type("cuda_graph");
  NetBase* net = ws.CreateNet(*model.net());
  const auto rates = benchmark::MeasureRates(net, FLAGS_batch, FLAGS_min_seconds);
  benchmark::PrintRates(
      MakeString(FLAGS_model, "/train/b", FLAGS_batch, "/", FLAGS_dtype, "/", FLAGS_order, "/fuse=",
                 FLAGS_fuse, "/fuse_conv=", FLAGS_fuse_conv, device.type == CPU ? "" : "/cuda"),
      rates, device);
  if (FLAGS_profile) benchmark::PrintOperatorTimes(*net, 3);
  if (FLAGS_table > 0) {
    const double tflops = FLAGS_tflops > 0 ? FLAGS_tflops : FLAGS_dtype == "float" ? 67 : 790;
    benchmark::PrintOperatorTable(*net, ws, {FLAGS_memory_gbs * 1e9, tflops * 1e12}, FLAGS_table);
  }
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Times training steps of a network.", caffe2::Run);
}
