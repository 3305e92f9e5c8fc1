// Images per second of inference: SpatialBN folded into weights, operators fused.
//
//   net_inference --model resnet50 --image_size 224 --batch 32 --dtype bfloat16
//
// Prints one JSON line, as torch_bench.py does; --profile adds a table of operators to stderr.
// OMP_NUM_THREADS sets the number of threads.

#include <gflags/gflags.h>

#include "benchmarks/host_ceilings.h"
#include "benchmarks/net_measure.h"
#include "benchmarks/operator_table.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/inference.h"
#include "caffe2/graph/quantization.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/networks.h"
#include "caffe2/utils/net_io.h"
#include "caffe2/utils/program.h"

DEFINE_string(model, "resnet50", "a network of caffe2/model");
DEFINE_string(init_net, "",
              "with --predict_net: files of a net on the blob data, instead of --model");
DEFINE_string(predict_net, "", "see --init_net");
DEFINE_int32(batch, 32, "images a run");
DEFINE_int32(image_size, 224, "height and width");
DEFINE_int32(channels, 3, "channels of an image");
DEFINE_int32(labels, 1000, "classes");
DEFINE_string(dtype, "float", "float, bfloat16, float16 or int8 activations");
DEFINE_string(device, "cpu", "cpu or cuda");
DEFINE_bool(cuda_graph, false, "record a run and start it by one call");
DEFINE_string(order, "NHWC", "NHWC or NCHW");
DEFINE_bool(optimize, true, "fold and fuse");
DEFINE_double(min_seconds, 10, "measured at least this long");
DEFINE_bool(profile, false, "print milliseconds by operator type");
DEFINE_int32(table, 0,
             "print so many lines of the table of operators beside their floors, as net_training; "
             "not for int8");

namespace caffe2 {
namespace {

ModelHelper BuildModel(const Device& device) {
  const std::map<std::string, TensorProto::DataType> types = {{"float", TensorProto::FLOAT},
                                                              {"int8", TensorProto::FLOAT},
                                                              {"bfloat16", TensorProto::BFLOAT16},
                                                              {"float16", TensorProto::FLOAT16}};
  CAFFE_ENFORCE(types.count(FLAGS_dtype), "dtype is ", FLAGS_dtype);
  ModelHelper model("inference", {.order = FLAGS_order,
                                  .is_test = true,
                                  .compute_type = types.at(FLAGS_dtype),
                                  .device = ToDeviceOption(device)});
  std::string data = "data";
  if (types.at(FLAGS_dtype) != TensorProto::FLOAT)
    data = brew::CastTo(&model, data, "data_cast", types.at(FLAGS_dtype));
  NetworkOptions network;
  network.image_size = FLAGS_image_size;
  network.small_stem = FLAGS_image_size < 64;
  network.num_channels = FLAGS_channels;
  network.num_labels = FLAGS_labels;
  model.net()->add_external_output(AddNetwork(&model, FLAGS_model, data, network));
  return model;
}

// The net to time, whose parameters are in the workspace.
NetDef MakeNet(const Device& device, Workspace* ws) {
  if (FLAGS_predict_net.empty()) {
    ModelHelper model = BuildModel(device);
    CAFFE_ENFORCE(ws->RunNetOnce(*model.param_init_net()));
    return *model.net();
  }
  CAFFE_ENFORCE(FLAGS_dtype == "float" || FLAGS_dtype == "int8", "the net of --predict_net is ",
                "timed in float or int8");
  CAFFE_ENFORCE(ws->RunNetOnce(ReadNetDef(FLAGS_init_net)));
  NetDef net = ReadNetDef(FLAGS_predict_net);
  if (net.name().empty()) net.set_name("inference");
  return net;
}

// With scales from one batch.
NetDef Quantized(const NetDef& net, Workspace* ws) {
  StaticQuantizer quantizer(net, {"data"}, ws);
  quantizer.Observe();
  return quantizer.Finish();
}

int Run() {
  CAFFE_ENFORCE(FLAGS_batch > 0, "batch must be positive");
  CAFFE_ENFORCE(FLAGS_table == 0 || FLAGS_dtype != "int8", "--table has no floors for int8");
  CAFFE_ENFORCE(FLAGS_device == "cpu" || FLAGS_device == "cuda", "device is ", FLAGS_device);
  const Device device{FLAGS_device == "cuda" ? CUDA : CPU, 0};
  CheckDevice(device);
  Workspace ws;
  NetDef net_def = MakeNet(device, &ws);
  const std::vector<int64_t> shape =
      FLAGS_order == "NHWC"
          ? std::vector<int64_t>{FLAGS_batch, FLAGS_image_size, FLAGS_image_size, FLAGS_channels}
          : std::vector<int64_t>{FLAGS_batch, FLAGS_channels, FLAGS_image_size, FLAGS_image_size};
  benchmark::FeedImages(shape, &ws);
  benchmark::MoveTo(device, "data", &ws);
  if (FLAGS_dtype == "int8") {
    net_def = Quantized(net_def, &ws);
    if (FLAGS_optimize) OptimizeForInference(&net_def, &ws);
  } else {
    if (FLAGS_optimize) OptimizeForInference(&net_def, &ws);
    benchmark::ShareMemory(net_def, &ws, device);
  }
  if (FLAGS_cuda_graph) net_def.set_type("cuda_graph");
  NetBase* net = ws.CreateNet(net_def);
  const auto rates = benchmark::MeasureRates(net, FLAGS_batch, FLAGS_min_seconds);
  benchmark::PrintRates(MakeString(FLAGS_model, "/infer/b", FLAGS_batch, "/", FLAGS_dtype, "/",
                                   FLAGS_order, device.type == CPU ? "" : "/cuda"),
                        rates, device);
  if (FLAGS_profile) benchmark::PrintOperatorTimes(*net, 3);
  if (FLAGS_table > 0) {
    const auto type = FLAGS_dtype == "float" ? TensorProto::FLOAT : TensorProto::BFLOAT16;
    benchmark::PrintOperatorTable(*net, ws, benchmark::CeilingsOf(device, type, {}), FLAGS_table);
  }
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Times inference of a network.", caffe2::Run);
}
