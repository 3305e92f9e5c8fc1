#include "train/fusion_autotuner.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/device_backend.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/core/net.h"
#include "caffe2/core/random.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/dataflow.h"
#include "caffe2/graph/gradient.h"
#include "caffe2/graph/gradient_sum.h"

namespace caffe2 {
namespace {

using Shapes = std::map<std::string, TensorShape>;

constexpr int kWarmUpRuns = 3;  // plans are chosen, work is recorded
constexpr int kRunsAtOnce = 3;  // of one time
// Of the kernels in this repository that candidates run: a change that moves their times raises it,
// and what is kept does not count any more.
constexpr int kKernelsVersion = 1;
constexpr char kGiven[] = "_given_grad";

Device DeviceOf(const FusionCandidate& candidate) {
  return ToDevice(DeviceOptionOf(candidate.plain.op(0), candidate.plain));
}

// What both variants compute, in one line. Blobs have numbers there instead of names.
class CandidateText {
 public:
  explicit CandidateText(const Shapes& shapes) : shapes_(shapes) {}

  std::string Of(const FusionCandidate& candidate) {
    for (const NetDef* net : {&candidate.plain, &candidate.fused}) {
      if (net == &candidate.fused) text_ += "or ";
      for (const OperatorDef& op : net->op()) Add(op);
    }
    text_ += "for";
    for (const std::string& blob : candidate.results) Name(blob);
    return text_;
  }

 private:
  void Add(const OperatorDef& op) {
    std::vector<std::string> arguments;
    for (const Argument& argument : op.arg()) arguments.push_back(argument.ShortDebugString());
    std::sort(arguments.begin(), arguments.end());
    text_ += op.type() + op.engine() + "(";
    for (const std::string& blob : op.input()) Name(blob);
    text_ += " ->";
    for (const std::string& blob : op.output()) Name(blob);
    for (const std::string& argument : arguments) text_ += "; " + argument;
    text_ += ") ";
  }
  void Name(const std::string& blob) {
    const auto [found, is_new] = names_.emplace(blob, names_.size());
    text_ += " " + std::to_string(found->second);
    const auto shape = shapes_.find(blob);
    if (!is_new || shape == shapes_.end() || shape->second.unknown_shape()) return;
    text_ += ":" + TensorProto::DataType_Name(shape->second.data_type());
    for (const int64_t dim : shape->second.dims()) text_ += "," + std::to_string(dim);
  }

  const Shapes& shapes_;
  std::map<std::string, size_t> names_;
  std::string text_;
};

// A variant that can be run.
class RunningVariant {
 public:
  // Throws if it cannot be made, EnforceNotMet among others if a shape is not known.
  RunningVariant(const NetDef& variant, const FusionCandidate& candidate,
                 const std::string& executor, const Shapes& shapes)
      : device_(DeviceOf(candidate)) {
    NetDef net = variant;
    net.set_name("measured");
    net.set_type(executor);
    std::map<std::string, TensorShape> given = shapes;
    LossGradients losses;
    for (const std::string& result : candidate.results) {
      // Stands for the readers elsewhere in the net; the variant may read the result itself, too.
      const std::string blob = result + "_outside";
      OperatorDef* reader = net.add_op();
      reader->set_type("Copy");
      reader->add_input(result);
      reader->add_output(blob);
      *reader->mutable_device_option() = ToDeviceOption(device_);
      losses.emplace_back(blob, blob + kGiven);
      const auto shape = shapes.find(result);
      if (shape != shapes.end()) given[blob + kGiven] = shape->second;
    }
    if (!losses.empty()) {
      AddGradientOperators(&net, losses);
      if (device_.type != CPU) FuseGradientSums(&net);
    }
    for (const std::string& blob : OperandsOf(net).reads) Fill(blob, given);
    net_ = ws_.CreateNet(net);
    for (int i = 0; i < kWarmUpRuns; ++i) Run();
  }

  void Run() { CAFFE_ENFORCE(net_->Run(), "a variant failed"); }

 private:
  // Random values from 0.5 to 1.5, of which a small piece is repeated.
  void Fill(const std::string& blob, const Shapes& shapes) {
    const auto shape = shapes.find(blob);
    CAFFE_ENFORCE(shape != shapes.end() && !shape->second.unknown_shape(), "the shape of ", blob,
                  " is not known");
    const TensorProto::DataType type = shape->second.data_type();
    constexpr int64_t kPiece = 1 << 16;
    Tensor values(CPU);
    values.Resize(kPiece);
    RandomGenerator random(blob.size());
    const auto draw = [&random] { return 0.5f + random.Uniform(); };
    const auto fill = [&]<typename T>(T* to, const auto& narrow) {
      for (int64_t i = 0; i < kPiece; ++i) to[i] = narrow(draw());
    };
    if (type == TensorProto::FLOAT) {
      fill(values.mutable_data<float>(), [](float v) { return v; });
    } else if (type == TensorProto::FLOAT16) {
      fill(values.mutable_data<float16>(), ToFloat16);
    } else {
      CAFFE_ENFORCE_EQ(type, TensorProto::BFLOAT16, "elements of ", blob);
      fill(values.mutable_data<bfloat16>(), ToBFloat16);
    }
    Tensor* tensor = BlobGetMutableTensor(ws_.CreateBlob(blob), device_);
    tensor->Resize(GetDimsVector(shape->second));
    tensor->raw_mutable_data(values.dtype());
    const int64_t n = tensor->numel();
    for (int64_t begin = 0; begin < n;) {
      const int64_t count = std::min(begin == 0 ? kPiece : begin, n - begin);
      Tensor part = tensor->View(begin, {count});
      part.CopyFrom((begin == 0 ? values : *tensor).View(0, {count}));
      begin += count;
    }
  }

  const Device device_;
  Workspace ws_;
  NetBase* net_ = nullptr;
};

const char* WordOf(std::optional<bool> answer) {
  return !answer ? "unknown" : *answer ? "fused" : "plain";
}
// Nothing for any other word than for the two variants.
std::optional<bool> AnswerOf(const std::string& word) {
  if (word != WordOf(true) && word != WordOf(false)) return std::nullopt;
  return word == WordOf(true);
}

// A line for each candidate: the word, a blank and the text.
std::string LinesOf(const std::map<std::string, std::optional<bool>>& answers) {
  std::string lines;
  for (const auto& [text, answer] : answers) lines += WordOf(answer) + (" " + text) + "\n";
  return lines;
}
std::map<std::string, std::optional<bool>> AnswersIn(const std::string& lines) {
  std::map<std::string, std::optional<bool>> answers;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const size_t end = line.find(' ');
    CAFFE_ENFORCE(end != std::string::npos, "no answer of shard 0: ", line);
    answers[line.substr(end + 1)] = AnswerOf(line.substr(0, end));
  }
  return answers;
}

}  // namespace

FusionChoices FusionAutotuner::Choose(const NetDef& net, const TrainingPasses& passes,
                                      const std::set<std::string>& keep) {
  if (!options_.measures) answers_ = AnswersIn(options_.broadcast(""));
  FusionChoices choices = ChooseFusions(
      net, passes, keep, [this](const auto& candidate) { return Compare(candidate); });
  if (options_.measures && options_.broadcast) options_.broadcast(LinesOf(answers_));
  return choices;
}

std::optional<bool> FusionAutotuner::Compare(const FusionCandidate& candidate) {
  const Shapes shapes = InferBlobShapesAndTypes(options_.shapes, {candidate.net});
  const std::string text = CandidateText(shapes).Of(candidate);
  const auto found = answers_.find(text);
  if (found != answers_.end()) return found->second;
  CAFFE_ENFORCE(options_.measures, "shard 0 has no fusion candidate ", text);
  return answers_[text] = Answer(candidate, text, shapes);
}

std::optional<bool> FusionAutotuner::Answer(const FusionCandidate& candidate,
                                            const std::string& text, const Shapes& shapes) {
  if (!options_.cache.is_kept()) return std::nullopt;
  const std::string key = MakeString("fusion on ", PlanScopeOf(DeviceOf(candidate)), ", kernels ",
                                     kKernelsVersion, ", by ", options_.executor, ": ", text);
  if (const auto kept = options_.cache.Find(key)) {
    const std::optional<bool> answer = AnswerOf(kept->substr(0, kept->find('\n')));
    if (answer) return answer;
    LOG(WARNING) << "the cache holds no answer for " << candidate.name
                 << ": the variants are measured again";
  }
  try {
    return Measure(candidate, key, shapes);
  } catch (const Error& error) {
    LOG(WARNING) << "the variants of " << candidate.name << " cannot be compared: " << error.what();
    return std::nullopt;
  }
}

std::optional<bool> FusionAutotuner::Measure(const FusionCandidate& candidate,
                                             const std::string& key, const Shapes& shapes) {
  RunningVariant plain(candidate.plain, candidate, options_.executor, shapes);
  RunningVariant fused(candidate.fused, candidate, options_.executor, shapes);
  std::vector<double> least(2, 1e30);  // milliseconds
  const int faster = FastestOf(2, [&](int variant) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (int i = 0; i < kRunsAtOnce; ++i) (variant == 0 ? plain : fused).Run();
    const double time =
        std::chrono::duration<double, std::milli>(Clock::now() - start).count() / kRunsAtOnce;
    least[variant] = std::min(least[variant], time);
    return time;
  });
  ++measured_;
  LOG(INFO) << candidate.name << ": " << least[0] << " ms plain, " << least[1] << " ms fused";
  options_.cache.Add(
      key, MakeString(WordOf(faster == 1), "\n", least[0], " ms plain, ", least[1], " ms fused\n"));
  return faster == 1;
}

}  // namespace caffe2
