#include "train/restrict_model.h"

#include <algorithm>
#include <set>

#include "caffe2/core/argument.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/operator.h"
#include "caffe2/utils/net_io.h"
#include "train/not_finite.h"

namespace caffe2 {
namespace {

constexpr int kMaxLoopNesting = 2;

// The end of an error.
std::string Advice(const std::string& trust_setting) {
  if (trust_setting.empty()) return "";
  return "; if you trust whoever made the model, allow everything with " + trust_setting;
}

// The folder of operators/ in which the operator's schema is written: "activation"; "" for others.
std::string FamilyOf(const OpSchema& schema) {
  static const std::string root = "operators/";
  const size_t begin = schema.file().rfind(root);
  if (begin == std::string::npos) return "";
  const size_t end = schema.file().find('/', begin + root.size());
  if (end == std::string::npos) return "";
  return schema.file().substr(begin + root.size(), end - begin - root.size());
}

// True for operators that read from the reader in their first input, if they have one.
bool ReadsFromReader(const std::string& type) {
  return type == "Load" || type == "ImageInput" || type == "TensorProtosDBInput";
}

bool IsLoop(const std::string& type) { return type == "While" || type == "ONNXWhile"; }

int64_t BytesOf(const TensorShape& shape, int64_t limit) {
  if (shape.unknown_shape()) return 0;
  const TypeMeta meta = DataTypeToTypeMeta(shape.data_type());
  double bytes = meta ? static_cast<double>(meta.itemsize()) : 1.0;
  for (const int64_t dim : shape.dims()) bytes *= static_cast<double>(std::max<int64_t>(dim, 0));
  return bytes <= static_cast<double>(limit) ? static_cast<int64_t>(bytes) : limit + 1;
}

class Restriction {
 public:
  Restriction(const std::string& name, const ModelLimits& limits)
      : name_(name), limits_(limits), advice_(Advice(limits.trust_setting)) {}

  void Apply(NetDef* net) {
    ApplyTo(net, /*nesting=*/0, /*loops=*/0);
    CheckBytes(*net);
  }

 private:
  void ApplyTo(NetDef* net, int nesting, int loops) {
    CAFFE_ENFORCE(nesting <= limits_.max_nesting, name_, " has more than ", limits_.max_nesting,
                  " levels of nested nets", advice_);
    operators_ += net->op_size();
    CAFFE_ENFORCE(operators_ <= limits_.max_operators, name_, " has more than ",
                  limits_.max_operators, " operators", advice_);
    CheckName(net->name());
    for (const auto* blobs : {&net->external_input(), &net->external_output()}) {
      for (const std::string& blob : *blobs) CheckName(blob);
    }
    for (OperatorDef& op : *net->mutable_op()) ApplyTo(&op, nesting, loops);
  }

  void ApplyTo(OperatorDef* op, int nesting, int loops) {
    CheckNames(*op);
    // Caffe2's trainers export their input operators too; the reader is the caller's.
    const bool has_reader = op->input_size() > 0 && ReadsFromReader(op->type());
    // Making an unknown operator will fail, and the error will say what was perhaps meant.
    const bool allowed = has_reader || IsModelOperator(op->type()) || DevicesOf(op->type()).empty();
    CAFFE_ENFORCE(allowed, name_, ": operator ", op->type(), " (output ",
                  op->output_size() > 0 ? op->output(0) : "none",
                  ") is not allowed in a model that is not trusted", advice_);
    if (IsLoop(op->type())) {
      CAFFE_ENFORCE(++loops <= kMaxLoopNesting, name_, " has more than ", kMaxLoopNesting,
                    " levels of nested loops", advice_);
      SetArgument(op, "max_iterations", limits_.max_loop_iterations);
    }
    for (Argument& argument : *op->mutable_arg()) {
      // RecurrentNetwork also takes its nets as text. Once parsed, they are checked as the others.
      if (argument.has_s() && !argument.s().empty() && IsStepNet(argument.name())) {
        *argument.mutable_n() = ParseNetDefText(argument.s(), name_ + ", " + argument.name());
        argument.clear_s();
      }
      if (argument.has_n()) ApplyTo(argument.mutable_n(), nesting + 1, loops);
      for (NetDef& nested : *argument.mutable_nets()) ApplyTo(&nested, nesting + 1, loops);
    }
  }

  static bool IsStepNet(const std::string& argument) {
    return argument == "step_net" || argument == "backward_step_net";
  }

  void CheckNames(const OperatorDef& op) const {
    CheckName(op.name());
    CheckName(op.type());
    for (const std::string& blob : op.input()) CheckName(blob);
    for (const std::string& blob : op.output()) CheckName(blob);
    for (const Argument& argument : op.arg()) CheckName(argument.name());
  }

  void CheckName(const std::string& text) const {
    CAFFE_ENFORCE(static_cast<int64_t>(text.size()) <= limits_.max_name_bytes, name_,
                  ": the name \"", text.substr(0, 40), "...\" has ", text.size(),
                  " bytes, more than ", limits_.max_name_bytes, advice_);
  }

  void CheckBytes(const NetDef& net) const {
    const auto shapes = InferBlobShapesAndTypes({}, {&net});
    std::set<std::string> seen;
    int64_t total = 0;
    for (const OperatorDef& op : net.op()) {
      for (const std::string& blob : op.output()) {
        if (seen.insert(blob).second) total += BytesOf(shapes.at(blob), limits_.max_bytes);
        CAFFE_ENFORCE(total <= limits_.max_bytes, name_, ": with blob ", blob, " of operator ",
                      op.type(), " its blobs have more than ", limits_.max_bytes, " bytes",
                      advice_);
      }
    }
  }

  const std::string name_;
  const ModelLimits limits_;
  const std::string advice_;
  int64_t operators_ = 0;
};

}  // namespace

bool IsModelOperator(const std::string& type) {
  // Every operator of these families is one, except a few that are listed below.
  static const std::set<std::string> families = {
      "activation", "conv",   "detection", "elementwise", "fill",  "image",
      "loss",       "matmul", "norm",      "optimizer",   "pool",  "quantized",
      "recurrent",  "reduce", "segment",   "sequence",    "shape", "sparse"};
  static const std::set<std::string> exceptions = {
      "ImageInput",      // opens databases
      "UnsafeCoalesce",  // lays blobs over each other's memory
  };
  // Of the other families.
  static const std::set<std::string> control = {"Assert", "CreateScope", "Do",   "HasScope",
                                                "If",     "ONNXWhile",   "While"};
  const OpSchema* schema = OpSchemaRegistry::Schema(type);
  if (schema == nullptr) return false;
  const std::string family = FamilyOf(*schema);
  if (family == "control") return control.count(type) != 0;
  return families.count(family) != 0 && exceptions.count(type) == 0;
}

void RestrictModel(const std::string& name, const ModelLimits& limits, NetDef* net) {
  Restriction(name, limits).Apply(net);
}

void CheckFinite(const Workspace& ws, const std::vector<std::string>& blobs,
                 const std::string& trust_setting) {
  for (const std::string& name : blobs) {
    const Blob* blob = ws.GetBlob(name);
    const Tensor* tensor = blob != nullptr ? BlobTensor(*blob) : nullptr;
    if (tensor == nullptr || !tensor->has_data()) continue;
    const NotFinite found = FindNotFinite(*tensor);
    CAFFE_ENFORCE(found.index < 0, "element ", found.index, " of blob ", name, " ",
                  ShapeString(tensor->sizes()), " is ", found.value, Advice(trust_setting));
  }
}

}  // namespace caffe2
