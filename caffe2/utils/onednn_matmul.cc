#include "caffe2/utils/onednn_matmul.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/onednn_float_copies.h"
#include "caffe2/utils/onednn_primitive.h"

namespace caffe2 {
namespace {

// A net has a few dozen shapes. A net whose shapes change in each run must not fill memory.
constexpr size_t kMaxCached = 512;

struct ProblemHash {
  size_t operator()(const MatMulProblem& p) const {
    size_t hash = static_cast<size_t>(p.type);
    for (const int64_t value : {p.batch, p.m, p.n, p.k}) hash = hash * 1000003 + value;
    for (const bool flag : {p.trans_a, p.trans_b, p.broadcast_a, p.broadcast_b, p.has_bias,
                            p.accumulate, p.float_result}) {
      hash = hash * 2 + flag;
    }
    return hash;
  }
};

using onednn::CpuEngine;

// A row-major matrix of `rows` x `columns`, or the transpose of a matrix stored so.
dnnl::memory::desc MatrixDesc(const MatMulProblem& p, int64_t rows, int64_t columns,
                              bool transposed, bool broadcast) {
  const auto type =
      p.type == MatMulType::kFloat ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  dnnl::memory::dims dims{rows, columns};
  dnnl::memory::dims strides{transposed ? 1 : columns, transposed ? rows : 1};
  if (p.batch > 1) {
    dims.insert(dims.begin(), broadcast ? 1 : p.batch);
    strides.insert(strides.begin(), rows * columns);
  }
  return {dims, type, strides};
}

// The problem with the type of its result.
MatMulProblem Result(MatMulProblem p) {
  if (p.float_result) p.type = MatMulType::kFloat;
  return p;
}

// A primitive with its arguments; only the addresses change between runs.
class MatMulPrimitive {
 public:
  explicit MatMulPrimitive(const MatMulProblem& p)
      : a_(MatrixDesc(p, p.m, p.k, p.trans_a, p.broadcast_a), CpuEngine(), nullptr),
        b_(MatrixDesc(p, p.k, p.n, p.trans_b, p.broadcast_b), CpuEngine(), nullptr),
        c_(MatrixDesc(Result(p), p.m, p.n, false, false), CpuEngine(), nullptr),
        stream_(CpuEngine()) {
    if (p.has_bias) {
      MatMulProblem row = p;
      row.batch = 1;
      dnnl::memory::desc desc = MatrixDesc(row, 1, p.n, false, false);
      if (p.batch > 1) desc = desc.reshape({1, 1, p.n});
      bias_ = dnnl::memory(desc, CpuEngine(), nullptr);
    }
    dnnl::primitive_attr attributes;
    if (p.accumulate) {
      dnnl::post_ops ops;
      ops.append_sum(1.f);
      attributes.set_post_ops(ops);
    }
    primitive_ = dnnl::matmul(PrimitiveDesc(p, attributes));
    arguments_ = {{DNNL_ARG_SRC, a_.get()}, {DNNL_ARG_WEIGHTS, b_.get()}, {DNNL_ARG_DST, c_.get()}};
    if (p.has_bias) arguments_.push_back({DNNL_ARG_BIAS, bias_.get()});
  }

  void Run(const void* a, const void* b, const void* bias, void* c) {
    a_.set_data_handle(const_cast<void*>(a));
    b_.set_data_handle(const_cast<void*>(b));
    c_.set_data_handle(c);
    if (bias_) bias_.set_data_handle(const_cast<void*>(bias));
    // The C function takes a plain array; the C++ function would build a map in every run.
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()),
                               arguments_.data()),
        "could not execute a matrix product");
  }

 private:
  dnnl::matmul::primitive_desc PrimitiveDesc(const MatMulProblem& p,
                                             const dnnl::primitive_attr& attributes) const {
#if DNNL_VERSION_MAJOR >= 3
    if (p.has_bias) {
      return {CpuEngine(),      a_.get_desc(), b_.get_desc(),
              bias_.get_desc(), c_.get_desc(), attributes};
    }
    return {CpuEngine(), a_.get_desc(), b_.get_desc(), c_.get_desc(), attributes};
#else
    const auto desc = p.has_bias ? dnnl::matmul::desc(a_.get_desc(), b_.get_desc(),
                                                      bias_.get_desc(), c_.get_desc())
                                 : dnnl::matmul::desc(a_.get_desc(), b_.get_desc(), c_.get_desc());
    return {desc, attributes, CpuEngine()};
#endif
  }

  dnnl::memory a_, b_, c_, bias_;
  dnnl::stream stream_;
  dnnl::matmul primitive_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

void MultiplyInFloat(MatMulProblem p, const void* a, const void* b, const void* bias, void* c) {
  const TypeMeta type = TypeMeta::Make<bfloat16>();
  p.type = MatMulType::kFloat;
  onednn::FloatCopies copies;
  OneDnnMatMul(p, copies.Input(a, type, (p.broadcast_a ? 1 : p.batch) * p.m * p.k),
               copies.Input(b, type, (p.broadcast_b ? 1 : p.batch) * p.k * p.n),
               p.has_bias ? copies.Input(bias, type, p.n) : nullptr,
               p.float_result ? c : copies.Output(c, type, p.batch * p.m * p.n, p.accumulate));
  copies.Finish();
}

}  // namespace

void OneDnnMatMul(const MatMulProblem& problem, const void* a, const void* b, const void* bias,
                  void* c) {
  if (problem.type == MatMulType::kBFloat16 && !onednn::MultipliesBFloat16()) {
    return MultiplyInFloat(problem, a, b, bias, c);
  }
  static thread_local std::unordered_map<MatMulProblem, MatMulPrimitive, ProblemHash> cache;
  try {
    auto it = cache.find(problem);
    if (it == cache.end()) {
      if (cache.size() >= kMaxCached) cache.clear();
      it = cache.try_emplace(problem, problem).first;
    }
    it->second.Run(a, b, bias, c);
  } catch (const dnnl::error& error) {
    CAFFE_THROW("oneDNN: ", error.what(), " (", problem.batch, " products of ", problem.m, " x ",
                problem.k, " with ", problem.k, " x ", problem.n, ")");
  }
}

void OneDnnSgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                 const float* a, const float* b, float beta, float* c) {
  const dnnl_status_t status = dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, alpha,
                                          a, trans_a ? m : k, b, trans_b ? k : n, beta, c, n);
  CAFFE_ENFORCE(static_cast<int>(status) == static_cast<int>(dnnl_success),
                "oneDNN cannot multiply ", m, " x ", k, " with ", k, " x ", n, ": status ", status);
}

}  // namespace caffe2
