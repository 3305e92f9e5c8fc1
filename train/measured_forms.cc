#include "train/measured_forms.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/device_backend.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/net.h"
#include "caffe2/core/random.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/gradient.h"
#include "caffe2/graph/gradient_sum.h"

namespace caffe2 {
namespace {

using Shapes = std::map<std::string, TensorShape>;

constexpr int kWarmUpRuns = 3;  // plans are chosen, work is recorded
constexpr int kRunsAtOnce = 3;  // of one time
// Of the kernels in this repository that forms run: a change that moves their times raises it, and
// what is kept does not count any more.
constexpr int kKernelsVersion = 1;
constexpr char kGiven[] = "_given_grad";

Device DeviceOf(const FormSite& site) {
  const OperatorDef& op = site.plain.op(0);
  return ToDevice(op.has_device_option() ? op.device_option() : site.plain.device_option());
}

// Blobs that the net reads before it writes them, in order.
std::vector<std::string> ReadsOf(const NetDef& net) {
  std::vector<std::string> reads;
  std::set<std::string> seen;
  for (const OperatorDef& op : net.op()) {
    for (const std::string& blob : op.input()) {
      if (seen.insert(blob).second) reads.push_back(blob);
    }
    seen.insert(op.output().begin(), op.output().end());
  }
  return reads;
}

// Both forms in one line, without the names of blobs: these are numbered.
class SiteText {
 public:
  explicit SiteText(const Shapes& shapes) : shapes_(shapes) {}

  std::string Of(const FormSite& site) {
    for (const NetDef* net : {&site.plain, &site.changed}) {
      if (net == &site.changed) text_ += "or ";
      for (const OperatorDef& op : net->op()) Add(op);
    }
    text_ += "for";
    for (const std::string& blob : site.results) Name(blob);
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

// A form that can be run.
class RunningForm {
 public:
  // Throws if it cannot be made, EnforceNotMet among others if a shape is not known.
  RunningForm(const NetDef& form, const FormSite& site, const std::string& executor,
              const Shapes& shapes)
      : device_(DeviceOf(site)) {
    NetDef net = form;
    net.set_name("measured");
    net.set_type(executor);
    std::map<std::string, TensorShape> given = shapes;
    LossGradients losses;
    for (const std::string& result : site.results) {
      // What the form itself reads, too, goes to a reader that stands for those elsewhere.
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
    for (const std::string& blob : ReadsOf(net)) Fill(blob, given);
    net_ = ws_.CreateNet(net);
    for (int i = 0; i < kWarmUpRuns; ++i) Run();
  }

  void Run() { CAFFE_ENFORCE(net_->Run(), "a form failed"); }

 private:
  // Random values from 0.5 to 1.5: those of a small piece, repeated.
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
  return !answer ? "unknown" : *answer ? "changed" : "plain";
}
// Nothing for any other word than those of the two forms.
std::optional<bool> AnswerOf(const std::string& word) {
  if (word != WordOf(true) && word != WordOf(false)) return std::nullopt;
  return word == WordOf(true);
}

}  // namespace

std::optional<bool> MeasuredForms::operator()(const FormSite& site) {
  const Shapes shapes = InferBlobShapesAndTypes(options_.shapes, {site.net});
  const std::string text = SiteText(shapes).Of(site);
  const auto found = known_.find(text);
  if (found != known_.end()) return found->second;
  std::optional<bool> answer;
  if (options_.measures) answer = Answer(site, text, shapes);
  if (options_.share) {
    const std::string all = options_.share(options_.measures ? WordOf(answer) + ("\n" + text) : "");
    const size_t end = all.find('\n');
    CAFFE_ENFORCE(end != std::string::npos && all.substr(end + 1) == text,
                  "shard 0 chooses between other forms of a net: ", all.substr(end + 1), ", not ",
                  text);
    answer = AnswerOf(all.substr(0, end));
  }
  return known_[text] = answer;
}

std::optional<bool> MeasuredForms::Answer(const FormSite& site, const std::string& text,
                                          const Shapes& shapes) {
  if (!options_.cache.is_kept()) return std::nullopt;
  const std::string key = MakeString("form on ", PlanScopeOf(DeviceOf(site)), ", kernels ",
                                     kKernelsVersion, ", by ", options_.executor, ": ", text);
  if (const auto kept = options_.cache.Find(key)) {
    const std::optional<bool> answer = AnswerOf(kept->substr(0, kept->find('\n')));
    if (answer) return answer;
    LOG(WARNING) << "what is kept for a form of a net is no answer: it is measured again";
  }
  try {
    return Measure(site, key, shapes);
  } catch (const Error& error) {
    LOG(WARNING) << "two forms of a net cannot be compared: " << error.what();
    return std::nullopt;
  }
}

std::optional<bool> MeasuredForms::Measure(const FormSite& site, const std::string& key,
                                           const Shapes& shapes) {
  RunningForm plain(site.plain, site, options_.executor, shapes);
  RunningForm changed(site.changed, site, options_.executor, shapes);
  std::vector<double> least(2, 1e30);  // milliseconds
  const int faster = FastestOf(2, [&](int form) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (int i = 0; i < kRunsAtOnce; ++i) (form == 0 ? plain : changed).Run();
    const double time =
        std::chrono::duration<double, std::milli>(Clock::now() - start).count() / kRunsAtOnce;
    least[form] = std::min(least[form], time);
    return time;
  });
  ++measured_;
  LOG(INFO) << site.plain.op(0).type() << " of " << site.results.front() << ": " << least[0]
            << " ms as it is, " << least[1] << " ms rewritten";
  options_.cache.Add(key, MakeString(WordOf(faster == 1), "\n", least[0], " ms plain, ", least[1],
                                     " ms changed\n"));
  return faster == 1;
}

}  // namespace caffe2
