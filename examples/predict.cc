// Classifies pictures: prints the likeliest labels of each.
#include <gflags/gflags.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <numeric>
#include <optional>
#include <sstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/device_placement.h"
#include "caffe2/graph/inference.h"
#include "caffe2/utils/bounded_read.h"
#include "caffe2/utils/json_text.h"
#include "caffe2/utils/program.h"
#include "db/image/image_codec.h"
#include "db/image/image_transform.h"
#include "db/source_info.h"
#include "examples/flag_lists.h"
#include "examples/image_flags.h"
#include "train/odd_values.h"
#include "train/predictor.h"
#include "train/restrict_model.h"
#include "train/run_time_limit.h"

DEFINE_string(model, "",
              "an exported model (.mdl), or two nets: init_net.pb,predict_net.pb or a folder with "
              "both");
DEFINE_string(init_net, "", "instead of --model: the NetDef that makes the parameters");
DEFINE_string(predict_net, "", "instead of --model: the NetDef that predicts");
DEFINE_bool(trust_model, false,
            "let the model use any operator, which may write files; without limits of size");
DEFINE_int64(max_memory_mb, 16384, "memory that a model may use without --trust_model");
DEFINE_double(max_run_seconds, 300,
              "seconds that one run of a model's net may take without --trust_model");
DEFINE_string(class_names, "",
              "file with the name of label n in line n, counted from 0; empty: the names that the "
              "model carries");
DEFINE_int32(top, 5, "number of labels to print for each picture");
DEFINE_string(format, "text",
              "text, or json: one line for each picture, an object with the picture and its labels "
              "or, if it cannot be read, the error");
DEFINE_int32(image_size, 0, "side of the crop that the net sees; 0: from the model, or 227");
DEFINE_int32(image_scale, 0,
             "shorter side of the picture before the crop; 0: from the model, or 256");
DEFINE_int32(num_channels, 0, "3, or 1 for grey; 0: from the model, or 3");
DEFINE_string(order, "", "NCHW or NHWC; empty: from the model, or NCHW");
DEFINE_string(mean, "",
              "number to subtract from pixels, or blue,green,red; empty: from the model, or 128");
DEFINE_string(std, "",
              "number to divide pixels by, or blue,green,red; empty: from the model, or 128");

namespace caffe2 {
namespace {

// The flag if it is set, or the model's setting, or the default.
std::string Setting(const Predictor& predictor, const std::string& name, const std::string& flag,
                    const std::string& default_value) {
  if (!flag.empty()) return flag;
  const auto found = predictor.application_info.find(name);
  return found == predictor.application_info.end() ? default_value : found->second;
}

int Number(const std::string& name, const std::string& text) {
  const bool number =
      !text.empty() && text.size() < 6 && text.find_first_not_of("0123456789") == std::string::npos;
  CheckUsage(number && std::stoi(text) > 0, name, " is ", text,
             ", must be a whole number from 1 to 99999");
  return std::stoi(text);
}

db::ImageTransformOptions Preparation(const Predictor& predictor) {
  const auto number = [&](const char* name, int flag, const char* default_value) {
    const std::string given = flag == 0 ? "" : std::to_string(flag);
    return Number(name, Setting(predictor, name, given, default_value));
  };
  db::ImageTransformOptions options;
  options.is_test = true;
  options.crop = number("image_size", FLAGS_image_size, "227");
  options.scale = number("image_scale", FLAGS_image_scale, "256");
  CheckUsage(options.crop <= options.scale, "--image_size ", options.crop,
             " is more than --image_scale, which is ", options.scale,
             FLAGS_image_scale == 0 ? ": give --image_scale, too" : "");
  options.color = number("num_channels", FLAGS_num_channels, "3") == 3;
  const std::string order = Setting(predictor, "order", FLAGS_order, "NCHW");
  CheckUsage(order == "NCHW" || order == "NHWC", "--order is ", order, ", must be NCHW or NHWC");
  options.channels_first = order == "NCHW";
  options.mean = NumberList("mean", Setting(predictor, "mean", FLAGS_mean, "128"));
  options.std = NumberList("std", Setting(predictor, "std", FLAGS_std, "128"));
  for (const float value : options.std) {
    CheckUsage(value > 0, "--std has ", value, ", must be positive: pixels are divided by it");
  }
  const std::string doubt = DoubtOnPixels(options.mean, options.std);
  if (!doubt.empty()) LOG(WARNING) << doubt;
  return options;
}

// The limits of the model; nullopt if it is trusted.
std::optional<ModelLimits> LimitsFromFlags() {
  if (FLAGS_trust_model) return std::nullopt;
  CheckUsage(FLAGS_max_memory_mb > 0 && FLAGS_max_memory_mb <= 1 << 30, "--max_memory_mb is ",
             FLAGS_max_memory_mb, ", must be from 1 to ", 1 << 30);
  ModelLimits limits;
  limits.trust_setting = "--trust_model";
  limits.max_bytes = FLAGS_max_memory_mb << 20;
  CheckUsage(FLAGS_max_run_seconds > 0 && FLAGS_max_run_seconds <= 1e9, "--max_run_seconds is ",
             FLAGS_max_run_seconds, ", must be positive and at most 1e9");
  limits.max_run_seconds = FLAGS_max_run_seconds;
  return limits;
}

// Shape inference does not know every size, so the kernel holds the limit, too: allocations beyond
// it fail.
void LimitMemory(int64_t bytes) {
  const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  if (setrlimit(RLIMIT_DATA, &limit) != 0) {
    throw IoError(MakeString("cannot limit the memory to ", bytes,
                             " bytes (--max_memory_mb): ", std::strerror(errno)));
  }
}

double MaxRunSeconds(const std::optional<ModelLimits>& limits) {
  return limits ? limits->max_run_seconds : 0;
}

// The file that names the model in errors.
const std::string& ModelFile() { return FLAGS_model.empty() ? FLAGS_predict_net : FLAGS_model; }

// Nets stop only between two operators. While this object lives, the process ends if an operator
// goes on for some seconds more than a run may take.
class OperatorLimit {
 public:
  explicit OperatorLimit(const std::optional<ModelLimits>& limits) {
    if (!limits) return;
    const auto seconds = static_cast<unsigned>(std::ceil(limits->max_run_seconds));
    Line() = MakeString("predict: ", ModelFile(), " has not ended within ", limits->max_run_seconds,
                        " s (max_run_seconds): the process ends here\n");
    std::signal(SIGALRM, [](int) { End(); });
    alarm(seconds + kGraceSeconds);
  }
  ~OperatorLimit() { alarm(0); }
  OperatorLimit(const OperatorLimit&) = delete;
  OperatorLimit& operator=(const OperatorLimit&) = delete;

 private:
  static constexpr unsigned kGraceSeconds = 5;

  static std::string& Line() {
    static std::string line;
    return line;
  }
  // Calls only what a signal handler may call.
  [[noreturn]] static void End() {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, Line().data(), Line().size());
    _exit(static_cast<int>(ExitCode::kBadData));
  }
};

// Places the net on the CPU, whatever device its file names, and optimizes it for inference.
Predictor LoadFromFlags(const std::optional<ModelLimits>& limits, Workspace* ws) {
  CheckUsage(!FLAGS_model.empty() || (!FLAGS_init_net.empty() && !FLAGS_predict_net.empty()),
             "--model is needed, or --init_net and --predict_net");
  if (limits) LimitMemory(limits->max_bytes);
  const OperatorLimit operator_limit(limits);
  Predictor predictor = FLAGS_model.empty()
                            ? LoadNets(FLAGS_init_net, FLAGS_predict_net, ws, limits)
                            : LoadPredictor(FLAGS_model, ws, limits);
  PlaceOnDevice(&predictor.net, Device{});
  OptimizeForInference(&predictor.net, ws,
                       {.keep = {predictor.outputs.begin(), predictor.outputs.end()}});
  return predictor;
}

std::string ReadFile(const std::string& path) {
  constexpr int64_t kMaxBytes = int64_t{1} << 30;
  if (std::filesystem::is_directory(path)) {
    ThrowIoError(ExitCode::kNoInput, "it is a folder; name the pictures in it");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes = ReadAtMost(kMaxBytes, "it", &file);
  if (file.bad() || bytes.empty()) {
    ThrowIoError(ExitCode::kNoInput,
                 "cannot read the file: ", errno != 0 ? std::strerror(errno) : "it is empty");
  }
  return bytes;
}

void FeedImage(const std::string& path, const db::ImageTransform& transform, Tensor* data) {
  const std::string bytes = ReadFile(path);
  const auto image = db::OpenImage(bytes, transform.options().color);
  const int64_t side = transform.options().crop, channels = transform.channels();
  data->Resize(transform.options().channels_first ? std::vector<int64_t>{1, channels, side, side}
                                                  : std::vector<int64_t>{1, side, side, channels});
  transform.Apply(image.get(), {}, 0, data->mutable_data<float>());
}

// The labels with the highest scores, the highest first.
std::vector<size_t> TopLabels(const Tensor& scores) {
  const float* values = scores.data<float>();
  std::vector<size_t> order(static_cast<size_t>(scores.numel()));
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t top = std::min(order.size(), static_cast<size_t>(FLAGS_top));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(),
                    [&](size_t a, size_t b) {
                      return values[a] > values[b] || (values[a] == values[b] && a < b);
                    });
  order.resize(top);
  return order;
}

std::string TextOf(const std::string& path, const Tensor& scores,
                   const std::vector<std::string>& names) {
  std::ostringstream text;
  text << path << "\n" << std::fixed << std::setprecision(4);
  for (const size_t label : TopLabels(scores)) {
    const std::string name = label < names.size() ? names[label] : std::to_string(label);
    text << std::setw(8) << scores.data<float>()[label] << "  " << name << "\n";
  }
  return text.str();
}

// {"picture": "a.png", "labels": [{"label": 2, "score": 0.71, "name": "cat"}, ...]}.
std::string JsonOfPicture(const std::string& path, const Tensor& scores,
                          const std::vector<std::string>& names) {
  std::string labels;
  for (const size_t label : TopLabels(scores)) {
    JsonObject entry;
    entry.Add("label", static_cast<int64_t>(label)).Add("score", scores.data<float>()[label]);
    if (label < names.size()) entry.Add("name", names[label]);
    labels += (labels.empty() ? "" : ", ") + entry.ToString();
  }
  return JsonObject().Add("picture", path).AddJson("labels", "[" + labels + "]").ToString() + "\n";
}

void Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);  // OperatorLimit may end the process later
}

// The first output of the net, which has run.
const Tensor& ScoresOf(const Predictor& predictor, const Workspace& ws) {
  const Blob* blob = ws.GetBlob(predictor.outputs[0]);
  CAFFE_ENFORCE(blob != nullptr, "the net does not make its output ", predictor.outputs[0]);
  return blob->Get<Tensor>();
}

// The names in --class_names must be as many as the scores; a model may carry fewer.
void CheckClassNames(const std::vector<std::string>& names, const Tensor& scores) {
  CheckUsage(FLAGS_class_names.empty() || static_cast<int64_t>(names.size()) == scores.numel(),
             "--class_names ", FLAGS_class_names, " has ", names.size(), " names, the model has ",
             scores.numel(), " labels: give one line for each");
}

// Runs the net on the picture that its input holds.
void RunNet(const Predictor& predictor, const std::optional<ModelLimits>& limits, NetBase* net,
            Workspace* ws) {
  const OperatorLimit operator_limit(limits);
  try {
    CAFFE_ENFORCE(RunWithin(MaxRunSeconds(limits), ModelFile(), ws, [net] { return net->Run(); }),
                  "the net failed");
  } catch (Error& error) {
    if (FLAGS_order.empty() && predictor.application_info.count("order") == 0) {
      error.AddContext(
          "the model does not say what images it takes: --order NHWC, --num_channels 1 or "
          "--image_size may be missing");
    }
    throw;
  }
}

int Main(int argc, char** argv) {
  CheckUsage(argc > 1, "no picture is given: name image files after the flags");
  CheckUsage(FLAGS_top >= 1, "--top is ", FLAGS_top, ", must be at least 1");
  CheckUsage(FLAGS_format == "text" || FLAGS_format == "json", "--format is ", FLAGS_format,
             ", must be text or json");
  const bool json = FLAGS_format == "json";
  SetImageLimitsFromFlags();
  std::vector<std::string> names;
  if (!FLAGS_class_names.empty()) names = db::ReadClassNames(FLAGS_class_names);
  Workspace ws;
  const std::optional<ModelLimits> limits = LimitsFromFlags();
  const Predictor predictor = LoadFromFlags(limits, &ws);
  if (FLAGS_class_names.empty()) names = predictor.ClassNames();
  CAFFE_ENFORCE(!predictor.inputs.empty() && !predictor.outputs.empty(),
                "the net has no input or no output");
  const db::ImageTransform transform(Preparation(predictor));
  Tensor* data = BlobGetMutableTensor(ws.CreateBlob(predictor.inputs[0]), Device{});
  NetBase* net = nullptr;
  int unreadable = 0;
  for (int i = 1; i < argc; ++i) {
    try {
      FeedImage(argv[i], transform, data);
    } catch (Error& error) {
      if (json)
        Print(JsonObject()
                  .Add("picture", argv[i])
                  .Add("error", WithoutCodePlaces(error.what()))
                  .ToString() +
              "\n");
      error.AddContext(MakeString("picture ", argv[i]));
      if (argc == 2) throw;
      LOG(ERROR) << WithoutCodePlaces(error.what());
      ++unreadable;
      continue;
    }
    if (net == nullptr) net = ws.CreateNet(predictor.net);
    RunNet(predictor, limits, net, &ws);
    const Tensor& scores = ScoresOf(predictor, ws);
    CheckClassNames(names, scores);
    Print(json ? JsonOfPicture(argv[i], scores, names) : TextOf(argv[i], scores, names));
  }
  if (unreadable > 0) {
    ThrowIoError(ExitCode::kBadData, unreadable, " of ", argc - 1,
                 " pictures cannot be read (see above)");
  }
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(
      &argc, &argv, "prints the likeliest labels of pictures (--model M.mdl PICTURE...)",
      [&] { return caffe2::Main(argc, argv); }, {.arguments = caffe2::Arguments::kAny});
}
