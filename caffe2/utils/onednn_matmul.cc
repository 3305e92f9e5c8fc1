#include "caffe2/utils/onednn_matmul.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "caffe2/core/allocator.h"
#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/onednn_float_copies.h"
#include "caffe2/utils/onednn_primitive.h"
#include "caffe2/utils/onednn_processor.h"

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

enum class Layout { kRows, kColumns, kOfKernel };
Layout StoredLayout(bool transposed) { return transposed ? Layout::kColumns : Layout::kRows; }

// A contiguous matrix of `rows` x `columns` in one of these layouts.
dnnl::memory::desc MatrixDesc(const MatMulProblem& p, int64_t rows, int64_t columns, Layout layout,
                              bool broadcast) {
  const bool transposed = layout == Layout::kColumns;
  const auto type =
      p.type == MatMulType::kFloat ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  dnnl::memory::dims dims{rows, columns};
  dnnl::memory::dims strides{transposed ? 1 : columns, transposed ? rows : 1};
  if (p.batch > 1) {
    dims.insert(dims.begin(), broadcast ? 1 : p.batch);
    strides.insert(strides.begin(), rows * columns);
  }
  if (layout == Layout::kOfKernel) return {dims, type, dnnl::memory::format_tag::any};
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
  // With `packed`, the kernel chooses the layout of b.
  MatMulPrimitive(const MatMulProblem& p, bool packed)
      : a_(MatrixDesc(p, p.m, p.k, StoredLayout(p.trans_a), p.broadcast_a), CpuEngine(), nullptr),
        b_(MatrixDesc(p, p.k, p.n, StoredLayout(p.trans_b), p.broadcast_b), CpuEngine(), nullptr),
        c_(MatrixDesc(Result(p), p.m, p.n, Layout::kRows, false), CpuEngine(), nullptr),
        stream_(CpuEngine()) {
    if (p.has_bias) {
      MatMulProblem row = p;
      row.batch = 1;
      dnnl::memory::desc desc = MatrixDesc(row, 1, p.n, Layout::kRows, false);
      if (p.batch > 1) desc = desc.reshape({1, 1, p.n});
      bias_ = dnnl::memory(desc, CpuEngine(), nullptr);
    }
    dnnl::primitive_attr attributes;
    if (p.accumulate) {
      dnnl::post_ops ops;
      ops.append_sum(1.f);
      attributes.set_post_ops(ops);
    }
    const auto b_in = [&](Layout layout) { return MatrixDesc(p, p.k, p.n, layout, p.broadcast_b); };
    const auto desc =
        PrimitiveDesc(p, packed ? b_in(Layout::kOfKernel) : b_.get_desc(), attributes);
    b_desc_ = desc.weights_desc();
    b_is_plain_ = b_desc_ == b_in(Layout::kRows) || b_desc_ == b_in(Layout::kColumns);
    primitive_ = dnnl::matmul(desc);
    arguments_ = {{DNNL_ARG_SRC, a_.get()}, {DNNL_ARG_WEIGHTS, b_.get()}, {DNNL_ARG_DST, c_.get()}};
    if (p.has_bias) arguments_.push_back({DNNL_ARG_BIAS, bias_.get()});
  }

  void Run(const void* a, const void* b, const void* bias, void* c) {
    b_.set_data_handle(const_cast<void*>(b));
    RunWith(a, b_, bias, c);
  }

  // b has the layout b_desc().
  void RunWith(const void* a, const dnnl::memory& b, const void* bias, void* c) {
    arguments_[1].memory = b.get();
    a_.set_data_handle(const_cast<void*>(a));
    c_.set_data_handle(c);
    if (bias_) bias_.set_data_handle(const_cast<void*>(bias));
    // The C function takes a plain array; the C++ function would build a map in every run.
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()),
                               arguments_.data()),
        "could not execute a matrix product");
  }

  // The caller's layout of b, and the kernel's.
  dnnl::memory::desc given_b_desc() const { return b_.get_desc(); }
  const dnnl::memory::desc& b_desc() const { return b_desc_; }
  // True if the kernel reads b in rows or columns.
  bool b_is_plain() const { return b_is_plain_; }

 private:
  dnnl::matmul::primitive_desc PrimitiveDesc(const MatMulProblem& p, const dnnl::memory::desc& b,
                                             const dnnl::primitive_attr& attributes) const {
#if DNNL_VERSION_MAJOR >= 3
    if (p.has_bias) {
      return {CpuEngine(), a_.get_desc(), b, bias_.get_desc(), c_.get_desc(), attributes};
    }
    return {CpuEngine(), a_.get_desc(), b, c_.get_desc(), attributes};
#else
    const auto desc = p.has_bias
                          ? dnnl::matmul::desc(a_.get_desc(), b, bias_.get_desc(), c_.get_desc())
                          : dnnl::matmul::desc(a_.get_desc(), b, c_.get_desc());
    return {desc, attributes, CpuEngine()};
#endif
  }

  dnnl::memory a_, b_, c_, bias_;
  dnnl::memory::desc b_desc_;
  bool b_is_plain_ = false;
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

// Calls run(primitive) with this thread's primitive for the problem.
template <typename Run>
void WithPrimitive(const MatMulProblem& problem, bool packed, const Run& run) {
  static thread_local std::unordered_map<MatMulProblem, MatMulPrimitive, ProblemHash> caches[2];
  auto& cache = caches[packed ? 1 : 0];
  try {
    auto it = cache.find(problem);
    if (it == cache.end()) {
      if (cache.size() >= kMaxCached) cache.clear();
      it = cache.try_emplace(problem, problem, packed).first;
    }
    run(it->second);
  } catch (const dnnl::error& error) {
    CAFFE_THROW("oneDNN: ", error.what(), " (", problem.batch, " products of ", problem.m, " x ",
                problem.k, " with ", problem.k, " x ", problem.n, ")");
  }
}

bool NeedsFloatCopies(const MatMulProblem& problem) {
  return problem.type == MatMulType::kBFloat16 && !onednn::MultipliesBFloat16();
}

}  // namespace

void OneDnnMatMul(const MatMulProblem& problem, const void* a, const void* b, const void* bias,
                  void* c) {
  if (NeedsFloatCopies(problem)) return MultiplyInFloat(problem, a, b, bias, c);
  WithPrimitive(problem, /*packed=*/false,
                [&](MatMulPrimitive& primitive) { primitive.Run(a, b, bias, c); });
}

struct PackedFactor::Copy {
  Copy(const void* matrix, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted)
      : source(matrix),
        source_desc(given),
        buffer(GetAllocator(CPU).Allocate(wanted.get_size(), Device{})),
        memory(wanted, CpuEngine(), buffer.get()) {
    dnnl::memory from(given, CpuEngine(), const_cast<void*>(matrix));
    dnnl::stream stream(CpuEngine());
    dnnl::reorder(from, memory).execute(stream, from, memory);
    stream.wait();
  }

  const void* source;
  dnnl::memory::desc source_desc;
  std::shared_ptr<void> buffer;
  dnnl::memory memory;
};

PackedFactor::PackedFactor() = default;
PackedFactor::~PackedFactor() = default;

void PackedFactor::Multiply(const MatMulProblem& problem, const void* a, const void* b,
                            const void* bias, void* c) {
  if (NeedsFloatCopies(problem)) return MultiplyInFloat(problem, a, b, bias, c);
  bool plain = false;
  WithPrimitive(problem, /*packed=*/true, [&](MatMulPrimitive& primitive) {
    plain = primitive.b_is_plain();
    if (plain) return;
    const dnnl::memory::desc &given = primitive.given_b_desc(), &wanted = primitive.b_desc();
    if (copy_ == nullptr || copy_->source != b || copy_->source_desc != given ||
        copy_->memory.get_desc() != wanted) {
      copy_.reset();  // so that two copies never take memory
      copy_ = std::make_unique<Copy>(b, given, wanted);
    }
    primitive.RunWith(a, copy_->memory, bias, c);
  });
  // A transposed copy is not worth its memory: 4096 x 4096 with AVX2 became slower.
  if (plain) OneDnnMatMul(problem, a, b, bias, c);
}

void OneDnnSgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                 const float* a, const float* b, float beta, float* c) {
  const dnnl_status_t status = dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, alpha,
                                          a, trans_a ? m : k, b, trans_b ? k : n, beta, c, n);
  CAFFE_ENFORCE(static_cast<int>(status) == static_cast<int>(dnnl_success),
                "oneDNN cannot multiply ", m, " x ", k, " with ", k, " x ", n, ": status ", status);
}

}  // namespace caffe2
