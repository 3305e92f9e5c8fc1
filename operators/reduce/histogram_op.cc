// Histogram, SelfBinningHistogram, AccumulateHistogram: counts of elements in bins.
#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe2/core/operator.h"
#include "caffe2/utils/simd.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

using HistogramTypes = TensorTypes<float, double>;

// Several vectors at once hide the time that a step waits for its edges.
constexpr int kSearchLanes = 64;
// places[l] = the number of edges, of n > 0, that x[l] is not below; NaN is below none. The steps
// of the binary search have no branches.
template <typename T, typename Edge>
CAFFE2_SIMD_CLONES void FindPlaces(const T* x, int32_t n, const Edge* edges, int32_t* places) {
  std::fill_n(places, kSearchLanes, 0);
  int32_t left = n;
  for (; left > 1; left -= left / 2) {
    const int32_t half = left / 2;
#pragma omp simd
    for (int l = 0; l < kSearchLanes; ++l) {
      places[l] += x[l] < edges[places[l] + half - 1] ? 0 : half;
    }
  }
#pragma omp simd
  for (int l = 0; l < kSearchLanes; ++l) places[l] += x[l] < edges[places[l]] ? 0 : 1;
}
// Adds to counts[p] the number of elements whose f(element) has place p, for p = 0, ..., n.
template <typename T, typename Edge, class F>
void CountPlaces(int64_t size, const T* x, const F& f, int64_t n, const Edge* edges,
                 int64_t* counts) {
  CAFFE_ENFORCE(n <= std::numeric_limits<int32_t>::max(), n, " edges are too many");
  int32_t places[kSearchLanes];
  T block[kSearchLanes] = {};
  for (int64_t i = 0; i < size; i += kSearchLanes) {
    const int64_t count = std::min<int64_t>(kSearchLanes, size - i);
    std::transform(x + i, x + i + count, block, f);
    FindPlaces(block, static_cast<int32_t>(n), edges, places);
    for (int64_t l = 0; l < count; ++l) ++counts[places[l]];
  }
}

// Bins between given edges.
class HistogramOp final : public Operator<CPUContext> {
 public:
  HistogramOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), edges_(GetRepeatedArgument<float>("bin_edges")) {
    CAFFE_ENFORCE(edges_.size() >= 2, "argument bin_edges must have at least 2 edges, found ",
                  edges_.size());
    CAFFE_ENFORCE(std::is_sorted(edges_.begin(), edges_.end(), std::less_equal<float>()),
                  "argument bin_edges must be strictly increasing");
  }

  bool RunOnDevice() override {
    Output(0)->Resize(static_cast<int64_t>(edges_.size()) - 1);
    return HistogramTypes::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const auto n = static_cast<int64_t>(edges_.size());
    std::vector<int64_t> places(n + 1);  // the first and the last are of elements in no bin
    for (int i = 0; i < InputSize(); ++i) {
      CountPlaces(
          Input(i).numel(), Input(i).data<T>(), [](T x) { return x; }, n, edges_.data(),
          places.data());
    }
    std::copy_n(places.begin() + 1, n - 1, Output(0)->mutable_data<int64_t>());
    return true;
  }

 private:
  std::vector<float> edges_;
};

// Bins from the least to the largest element.
class SelfBinningHistogramOp final : public Operator<CPUContext> {
 public:
  SelfBinningHistogramOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        bins_(GetSingleArgument<int64_t>("num_bins", 0)),
        log_start_(GetSingleArgument<float>("logspace_start",
                                            GetSingleArgument<float>("logspacing_start", 1e-24f))),
        absolute_(GetSingleArgument<bool>("abs", false)) {
    CAFFE_ENFORCE(bins_ >= 1, "argument num_bins must be at least 1, found ", bins_);
    const auto spacing = GetSingleArgument<std::string>("bin_spacing", "linear");
    CAFFE_ENFORCE(spacing == "linear" || spacing == "logarithmic",
                  "argument bin_spacing must be linear or logarithmic, found \"", spacing, "\"");
    logarithmic_ = spacing == "logarithmic";
    CAFFE_ENFORCE(log_start_ > 0, "argument logspace_start must be positive, found ", log_start_);
  }

  bool RunOnDevice() override { return HistogramTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const int64_t n = CheckedNumel({bins_ + 1});
    Output(0)->Resize(n);
    Output(1)->Resize(n);
    T* edges = Output(0)->mutable_data<T>();
    int64_t* counts = Output(1)->mutable_data<int64_t>();
    std::fill_n(edges, n, T(0));
    std::fill_n(counts, n, int64_t{0});

    T min = std::numeric_limits<T>::infinity(), max = -min;
    ForEachElement<T>([&](T x) {
      CAFFE_ENFORCE(std::isfinite(x), "an element is ", x, ", which no bin can hold");
      min = std::min(min, x);
      max = std::max(max, x);
    });
    if (min > max) return true;  // there are no elements
    if (logarithmic_) {
      min = std::max(min, static_cast<T>(log_start_));
      max = std::max(max, min);
    }
    const bool one_bin = !FillEdges(min, max, edges);
    std::vector<int64_t> places(n + 1);
    for (int i = 0; i < InputSize(); ++i) {
      const int64_t size = Input(i).numel();
      if (one_bin) {
        places[0] += size;
      } else {
        CountPlaces(
            size, Input(i).data<T>(), [this](T x) { return Counted(x); }, n, edges, places.data());
      }
    }
    std::copy_n(places.begin() + 1, n, counts);
    counts[0] += places[0];  // the first bin also holds smaller elements
    return true;
  }

 private:
  template <typename T, typename Body>
  void ForEachElement(const Body& body) const {
    for (int i = 0; i < InputSize(); ++i) {
      const T* x = Input(i).data<T>();
      for (int64_t k = 0; k < Input(i).numel(); ++k) body(Counted(x[k]));
    }
  }
  template <typename T>
  T Counted(T x) const {
    return absolute_ ? std::abs(x) : x;
  }

  // Computes the edges of all bins. The last edge is just above `max`, so that the last bin holds
  // `max`. Returns false, with all edges `min`, if the bins have no width.
  template <typename T>
  bool FillEdges(T min, T max, T* edges) const {
    const T low = logarithmic_ ? std::log(min) : min;
    const T high = logarithmic_ ? std::log(max) : max;
    // Divides each bound, because their difference may be infinite.
    const auto bins = static_cast<T>(bins_);
    const T width = high / bins - low / bins;
    if (!(width > 0)) {
      std::fill_n(edges, bins_ + 1, min);
      return false;
    }
    for (int64_t i = 0; i < bins_; ++i) {
      const T edge = low + static_cast<T>(i) * width;
      edges[i] = std::clamp(logarithmic_ ? std::exp(edge) : edge, min, max);
    }
    edges[0] = min;
    edges[bins_] = std::nextafter(max, std::numeric_limits<T>::infinity());
    return true;
  }

  int64_t bins_;
  float log_start_;
  bool absolute_, logarithmic_ = false;
};

// Bins of equal width between two bounds, and one bin on each side. Counts this input and all
// inputs so far.
class AccumulateHistogramOp final : public Operator<CPUContext> {
 public:
  AccumulateHistogramOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        lower_(GetSingleArgument<float>("lower_bound", 0)),
        upper_(GetSingleArgument<float>("upper_bound", 1)),
        buckets_(GetSingleArgument<int64_t>("num_buckets", 1)) {
    CAFFE_ENFORCE(buckets_ > 0, "argument num_buckets must be positive, found ", buckets_);
    CAFFE_ENFORCE(upper_ > lower_, "argument upper_bound (", upper_,
                  ") must be larger than lower_bound (", lower_, ")");
    so_far_.resize(CheckedNumel({buckets_ + 2}), 0);
  }

  bool RunOnDevice() override {
    const auto n = static_cast<int64_t>(so_far_.size());
    const Tensor& X = Input(0);
    const float* x = X.data<float>();
    Output(0)->Resize(n);
    int64_t* counts = Output(0)->mutable_data<int64_t>();
    std::fill_n(counts, n, int64_t{0});
    for (int64_t i = 0; i < X.numel(); ++i) ++counts[Bucket(x[i])];
    for (int64_t b = 0; b < n; ++b) so_far_[b] += counts[b];
    Output(1)->Resize(n);
    std::copy(so_far_.begin(), so_far_.end(), Output(1)->mutable_data<int64_t>());
    return true;
  }

 private:
  int64_t Bucket(float x) const {
    if (x < lower_) return 0;
    if (!(x < upper_)) return buckets_ + 1;  // NaN too
    const float width = (upper_ - lower_) / static_cast<float>(buckets_);
    return std::min(static_cast<int64_t>((x - lower_) / width), buckets_ - 1) + 1;
  }

  float lower_, upper_;
  int64_t buckets_;
  std::vector<int64_t> so_far_;
};

}  // namespace

REGISTER_CPU_OPERATOR(Histogram, HistogramOp);
REGISTER_CPU_OPERATOR(SelfBinningHistogram, SelfBinningHistogramOp);
REGISTER_CPU_OPERATOR(AccumulateHistogram, AccumulateHistogramOp);
OPERATOR_SCHEMA(Histogram)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>&) {
      const auto edges = ArgumentHelper(def).GetRepeatedArgument<float>("bin_edges").size();
      return std::vector<TensorShape>{
          CreateTensorShape({static_cast<int64_t>(edges) - 1}, TensorProto::INT64)};
    })
    .SetDoc(
        "Counts the elements of all inputs in each bin. A bin includes its lower edge and excludes "
        "its upper edge. Elements outside of all bins are not counted.")
    .ArgList<float>("bin_edges", "(strictly increasing, at least 2) The edges of the bins.", true)
    .Input(0, "X", "A tensor of float or double; more may follow, of the same type.")
    .Output(0, "histogram", "int64: the count of each bin, one fewer than there are edges.")
    .CpuOnly(cpu_only::kMeasures);
OPERATOR_SCHEMA(SelfBinningHistogram)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const int64_t n = ArgumentHelper(def).GetSingleArgument<int64_t>("num_bins", 0) + 1;
      return std::vector<TensorShape>{CreateTensorShape({n}, in[0].data_type()),
                                      CreateTensorShape({n}, TensorProto::INT64)};
    })
    .SetDoc(
        "Counts the elements of all inputs in bins between the smallest and the largest of them. "
        "Without elements all edges and counts are 0. If all elements are equal, all edges are "
        "that element and the first bin holds all. Infinite elements and NaN are errors.")
    .Arg<int>("num_bins", "(> 0) The number of bins.", true)
    .ArgOneOf("bin_spacing", {"linear", "logarithmic"},
              "(default linear) linear: bins of equal width. logarithmic: edges with a constant "
              "ratio, from logspace_start or the smallest element, whichever is larger; the first "
              "bin also holds smaller elements.")
    .Arg<float>("logspace_start", "(> 0, default 1e-24) The smallest edge of logarithmic bins.")
    .Arg<float>("logspacing_start", "Another name of logspace_start, used if that is not given.")
    .Arg<bool>("abs", "(default 0) 1: count absolute values.")
    .Input(0, "X", "A tensor of float or double; more may follow, of the same type.")
    .Output(0, "histogram_values", "The num_bins + 1 edges, of the inputs' type.")
    .Output(1, "histogram_counts", "int64: the count of each bin, and a last one that is 0.")
    .CpuOnly(cpu_only::kMeasures);
OPERATOR_SCHEMA(AccumulateHistogram)
    .NumInputs(1)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>&) {
      const int64_t n = ArgumentHelper(def).GetSingleArgument<int64_t>("num_buckets", 1) + 2;
      return std::vector<TensorShape>(2, CreateTensorShape({n}, TensorProto::INT64));
    })
    .SetDoc(
        "Counts the elements in buckets of equal width: of this input, and of all inputs since the "
        "operator was created. The first count is of elements below lower_bound, the last one of "
        "elements that are at least upper_bound or NaN.")
    .Arg<float>("lower_bound", "(default 0) The lower bound of the first bucket.")
    .Arg<float>("upper_bound", "(default 1) The upper bound of the last bucket.")
    .Arg<int>("num_buckets", "(> 0, default 1) The number of buckets between the bounds.")
    .Input(0, "X", "A float tensor.")
    .Output(0, "CUR_HIST", "int64, num_buckets + 2: the counts of this input.")
    .Output(1, "ACC_HIST", "The counts of all inputs so far.")
    .CpuOnly(cpu_only::kMeasures);
SHOULD_NOT_DO_GRADIENT(Histogram);
SHOULD_NOT_DO_GRADIENT(SelfBinningHistogram);
SHOULD_NOT_DO_GRADIENT(AccumulateHistogram);

}  // namespace caffe2
