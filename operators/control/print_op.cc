#include "operators/control/print_op.h"

#include <cmath>
#include <cstring>

#include "operators/common/cpu_only.h"
#include "operators/reduce/reduction.h"

namespace caffe2 {

BlobLog::BlobLog(const Workspace& ws, const std::string& blob, const std::string& extension,
                 bool to_file) {
  if (!to_file) return;
  std::string name = blob;
  std::replace(name.begin(), name.end(), '/', '#');
  path_ = ws.RootFolder() + "/" + name + extension;
  file_ = std::make_unique<std::ofstream>(path_, std::ios::out | std::ios::trunc);
  if (!file_->good()) throw IoError(MakeString("cannot write ", path_, ": ", strerror(errno)));
}

void BlobLog::WriteLine(const std::string& line) {
  if (file_ == nullptr) {
    LOG(INFO) << line;
    return;
  }
  *file_ << line << std::endl;
  if (!file_->good()) throw IoError(MakeString("cannot write ", path_, ": ", strerror(errno)));
}

namespace {

constexpr int kDefaultLimit = 1000;

// Appends the first `count` elements, with commas between them.
template <typename T>
void AppendValues(const Tensor& tensor, int64_t count, std::ostream& out) {
  const T* data = tensor.data<T>();
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) out << ',';
    if constexpr (sizeof(T) == 1) {
      out << static_cast<int>(data[i]);
    } else if constexpr (std::is_same_v<T, std::string>) {
      out << data[i];
    } else {
      out << Widen(data[i]);
    }
  }
}

template <typename... Types>
void AppendValuesOf(const Tensor& tensor, int64_t count, std::ostream& out) {
  const bool known =
      ((tensor.IsType<Types>() && (AppendValues<Types>(tensor, count, out), true)) || ...);
  CAFFE_ENFORCE(known, "cannot print elements of type ", tensor.dtype().name());
}

// "Tensor X of type float. Dims: (2,3,): 1,2,3,4,5,6"
std::string TensorLine(const std::string& name, const Tensor& tensor, int64_t limit) {
  std::ostringstream line;
  line << "Tensor " << name << " of type " << tensor.dtype().name() << ". Dims: (";
  for (const int64_t dim : tensor.sizes()) line << dim << ',';
  line << "): ";
  AppendValuesOf<float, double, float16, bfloat16, bool, int8_t, int16_t, int32_t, int64_t, uint8_t,
                 uint16_t, std::string>(tensor, std::min(limit, tensor.numel()), line);
  return line.str();
}

}  // namespace

template <>
bool PrintOp<CPUContext>::RunOnDevice() {
  if (runs_++ % every_n_ != 0) return true;
  const std::string& name = debug_def().input(0);
  const Tensor* tensor = BlobTensor(InputBlob(0));
  log_.WriteLine(tensor == nullptr
                     ? MakeString("Blob ", name, " of type ", InputBlob(0).TypeName())
                     : TensorLine(name, *tensor, limit_ == 0 ? kDefaultLimit : limit_));
  return true;
}

template <>
bool SummarizeOp<CPUContext>::RunOnDevice() {
  const Tensor& X = Input(0);
  const int64_t n = X.numel();
  CAFFE_ENFORCE(n > 0, "an empty tensor has no summary");
  const float* x = X.data<float>();
  const float min = ReduceRow<MinReducer>(n, x), max = ReduceRow<MaxReducer>(n, x);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double deviation = n == 1 ? 0 : std::sqrt(squares / static_cast<double>(n - 1));
  log_.WriteLine(MakeString(min, " ", max, " ", mean, " ", deviation));
  if (OutputSize() > 0) {
    Tensor* Y = Output(0);
    Y->Resize(4);
    float* y = Y->mutable_data<float>();
    y[0] = min;
    y[1] = max;
    y[2] = static_cast<float>(mean);
    y[3] = static_cast<float>(deviation);
  }
  return true;
}

REGISTER_CPU_OPERATOR(Print, PrintOp<CPUContext>);
REGISTER_CPU_OPERATOR(Summarize, SummarizeOp<CPUContext>);

OPERATOR_SCHEMA(Print)
    .NumInputs(1)
    .NumOutputs(0)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>();
    })
    .SetDoc("Shows shape and values of a tensor, in the log or in a file.")
    .Arg<bool>("to_file",
               "1: write to \"<blob>.log\" in the workspace's root folder, of which a slash in the "
               "blob's name becomes '#'. Default 0: the log.")
    .Arg<int>("limit", "(>= 0) The most elements shown. Default (and 0): 1000.")
    .Arg<int>("every_n", "(> 0, default 1) Show every n-th time only.")
    .Input(0, "tensor", "A tensor. For other blobs only the type is shown.")
    .CpuOnly(cpu_only::kFiles);
OPERATOR_SCHEMA(Summarize)
    .NumInputs(1)
    .NumOutputs(0, 1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>(def.output_size(),
                                      CreateTensorShape({4}, TensorProto::FLOAT));
    })
    .SetDoc(
        "Shows minimum, maximum, mean and standard deviation of a tensor, in the log or in a "
        "file.")
    .Arg<bool>("to_file",
               "1: write to \"<blob>.summary\" in the workspace's root folder, of which a slash in "
               "the blob's name becomes '#'. Default 0: the log.")
    .Input(0, "data", "A float tensor of at least one element.")
    .Output(0, "summary", "Optional: [min, max, mean, standard deviation].")
    .CpuOnly(cpu_only::kFiles);
SHOULD_NOT_DO_GRADIENT(Print);
SHOULD_NOT_DO_GRADIENT(Summarize);

}  // namespace caffe2
