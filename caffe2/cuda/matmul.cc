#include "caffe2/cuda/matmul.h"

#include <cublasLt.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/runtime.h"

namespace caffe2::cuda {
namespace {

constexpr size_t kWorkspaceBytes = 32 << 20;  // what NVIDIA recommends for Hopper
constexpr int kMaxAlgorithms = 8;             // to fall back on

void Check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  throw Error(MakeString(call, ": ", cublasLtGetStatusString(status)));
}
#define CHECK_CUBLAS(call) Check((call), #call)

cudaDataType_t DataType(TypeMeta type) {
  if (type.Match<float>()) return CUDA_R_32F;
  if (type.Match<float16>()) return CUDA_R_16F;
  CAFFE_ENFORCE(type.Match<bfloat16>(),
                "matrix products on CUDA devices need float, float16 or bfloat16, not ",
                type.name());
  return CUDA_R_16BF;
}

// cuBLASLt reads matrices as column-major, so it sees ours transposed: c^T = op(b)^T op(a)^T.
// Therefore b comes first. The bias holds one value for each column of c, which is a row of c^T, as
// cuBLASLt's epilogue expects.
class Plan {
 public:
  Plan(const MatMulProblem& p, bool aligned, cublasLtHandle_t handle)
      : problem_(p), aligned_(aligned) {
    const cudaDataType_t type = DataType(p.type);
    const bool tf32 = p.type.Match<float>() && AllowTf32();
    CHECK_CUBLAS(cublasLtMatmulDescCreate(
        &operation_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t first = p.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = p.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    Set(CUBLASLT_MATMUL_DESC_TRANSA, first);
    Set(CUBLASLT_MATMUL_DESC_TRANSB, second);
    if (p.has_bias) {
      Set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
      // Not a real pointer: the heuristics only look at its alignment.
      Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<uintptr_t>(Alignment()));
    }
    b_ = MakeLayout(type, p.trans_b ? p.k : p.n, p.trans_b ? p.n : p.k, p.b_stride);
    a_ = MakeLayout(type, p.trans_a ? p.m : p.k, p.trans_a ? p.k : p.m, p.a_stride);
    c_ = MakeLayout(type, p.n, p.m, p.c_stride);
    ListAlgorithms(handle);
  }

  // False if no algorithm adds the bias.
  bool Run(cublasLtHandle_t handle, const void* a, const void* b, const void* bias, void* c,
           void* workspace, Stream stream) {
    if (problem_.has_bias) Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    for (; chosen_ < algorithms_.size(); ++chosen_) {
      const cublasStatus_t status =
          cublasLtMatmul(handle, operation_, &problem_.alpha, b, b_, a, a_, &problem_.beta, c, c_,
                         c, c_, &algorithms_[chosen_].algo, workspace, kWorkspaceBytes, stream);
      if (IsAboutAlgorithm(status) && !has_run_ && !IsRecorded(stream)) {
        reason_ = cublasLtGetStatusString(status);
        LOG(WARNING) << Name() << ": algorithm " << chosen_ << " of " << algorithms_.size()
                     << " fails: " << reason_;
        continue;
      }
      Check(status, "cublasLtMatmul");
      has_run_ = true;
      return true;
    }
    CAFFE_ENFORCE(problem_.has_bias, "cuBLASLt has no algorithm for ", Name(), ": ", reason_);
    if (!is_logged_) LOG(WARNING) << "the bias is added separately: " << Name() << ": " << reason_;
    is_logged_ = true;
    return false;
  }

 private:
  // True if the status is about the algorithm, not about the state of the device, which may be
  // better next time.
  static bool IsAboutAlgorithm(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
           status == CUBLAS_STATUS_ARCH_MISMATCH;
  }

  template <typename T>
  void Set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    CHECK_CUBLAS(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)));
  }

  cublasLtMatrixLayout_t MakeLayout(cudaDataType_t type, int64_t rows, int64_t columns,
                                    int64_t stride) {
    cublasLtMatrixLayout_t layout = nullptr;
    CHECK_CUBLAS(cublasLtMatrixLayoutCreate(&layout, type, rows, columns, rows));
    if (problem_.batch == 1) return layout;
    const auto batch = static_cast<int32_t>(problem_.batch);
    CHECK_CUBLAS(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                  &batch, sizeof(batch)));
    CHECK_CUBLAS(cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)));
    return layout;
  }

  // In bytes, of all operands. Tensors begin at multiples of 256 bytes, but views and matrices of a
  // batch may not.
  uint32_t Alignment() const {
    return aligned_ ? 16 : static_cast<uint32_t>(problem_.type.itemsize());
  }

  std::string Name() const {
    return MakeString("a product of ", problem_.m, " x ", problem_.k, " by ", problem_.k, " x ",
                      problem_.n, problem_.has_bias ? " with bias, " : ", ", problem_.type.name());
  }

  void ListAlgorithms(cublasLtHandle_t handle) {
    cublasLtMatmulPreference_t preference = nullptr;
    CHECK_CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
    const auto prefer = [preference](cublasLtMatmulPreferenceAttributes_t attribute,
                                     const auto& value) {
      CHECK_CUBLAS(
          cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      prefer(attribute, Alignment());
    }
    // Partial sums are added in float, not in the type of c.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    algorithms_.resize(kMaxAlgorithms);
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation_, b_, a_, c_, c_, preference, kMaxAlgorithms, algorithms_.data(), &found);
    cublasLtMatmulPreferenceDestroy(preference);
    algorithms_.resize(status == CUBLAS_STATUS_SUCCESS ? found : 0);
    if (status != CUBLAS_STATUS_SUCCESS) reason_ = cublasLtGetStatusString(status);
  }

  MatMulProblem problem_;
  bool aligned_;  // all operands begin at multiples of 16 bytes
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms_;  // best first
  size_t chosen_ = 0;
  bool has_run_ = false;  // the chosen algorithm
  bool is_logged_ = false;
  std::string reason_ = "the heuristics list none";
};

// The plans of one device, kept for the life of the process: a network has a few dozen.
struct Device {
  std::mutex mutex;
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;  // shared: the products of a device run one after another
  std::map<std::string, Plan> plans;
};

Device& DeviceOf(int id) {
  static std::mutex mutex;
  static auto* devices = new std::map<int, Device>;
  std::lock_guard<std::mutex> lock(mutex);
  Device& device = (*devices)[id];
  if (device.handle == nullptr) CHECK_CUBLAS(cublasLtCreate(&device.handle));
  if (device.workspace == nullptr) device.workspace = Allocate(kWorkspaceBytes, id);
  if (device.workspace == nullptr) {
    throw OutOfMemoryError(MakeString("out of memory on cuda:", id, ": cannot allocate ",
                                      kWorkspaceBytes, " bytes for cuBLASLt"));
  }
  return device;
}

std::string KeyOf(const MatMulProblem& p, bool aligned) {
  return MakeString(p.type.name(), ' ', aligned, p.trans_a, p.trans_b, p.has_bias, ' ', p.m, ' ',
                    p.n, ' ', p.k, ' ', p.alpha, ' ', p.beta, ' ', p.batch, ' ', p.a_stride, ' ',
                    p.b_stride, ' ', p.c_stride);
}

}  // namespace

bool AllowTf32() {
  static const bool allow = [] {
    const char* value = std::getenv("CAFFE2_CUDA_TF32");
    return value != nullptr && std::string(value) == "1";
  }();
  return allow;
}

bool MatMul(const MatMulProblem& problem, const void* a, const void* b, const void* bias, void* c,
            int device_id, Stream stream) {
  Device& device = DeviceOf(device_id);
  std::lock_guard<std::mutex> lock(device.mutex);
  const bool aligned = (reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) |
                        reinterpret_cast<uintptr_t>(bias) | reinterpret_cast<uintptr_t>(c)) %
                           16 ==
                       0;
  const std::string key = KeyOf(problem, aligned);
  auto plan = device.plans.find(key);
  if (plan == device.plans.end()) {
    plan = device.plans.try_emplace(key, problem, aligned, device.handle).first;
  }
  return plan->second.Run(device.handle, a, b, bias, c, device.workspace, stream);
}

}  // namespace caffe2::cuda
