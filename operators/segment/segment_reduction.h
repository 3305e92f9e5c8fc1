// Implements all operators that reduce segments of rows: SortedSegment*, UnsortedSegment*,
// Lengths*, and their Sparse variants, which first look up the rows by index.
//
// A SegmentSpec describes an operator. The code exists once; Registered<spec> binds it to the spec.
#pragma once

#include "caffe2/core/operator.h"
#include "operators/segment/segments.h"

namespace caffe2 {

enum class SegmentKind { kSorted, kUnsorted, kLengths };
enum class SegmentReducer { kSum, kMean, kMax, kWeightedSum, kPositionalWeightedSum };

// Which operator it is: how segments are given, how they are reduced, and whether rows are looked
// up.
struct SegmentSpec {
  SegmentKind kind;
  SegmentReducer reducer;
  bool sparse = false;  // rows are DATA[INDICES[i]]

  constexpr bool weighted() const { return reducer >= SegmentReducer::kWeightedSum; }
  // Positions of the inputs: DATA, [WEIGHTS], [INDICES], SEGMENT_IDS or LENGTHS.
  constexpr int indices() const { return weighted() ? 2 : 1; }
  constexpr int segments() const { return indices() + (sparse ? 1 : 0); }
  constexpr int num_inputs() const { return segments() + 1; }
};

// OUTPUT[s] = the reduction of the rows of segment s, or 0 if it has no rows.
class SegmentReductionOp : public Operator<CPUContext> {
 public:
  SegmentReductionOp(const OperatorDef& def, Workspace* ws, SegmentSpec spec);
  bool RunOnDevice() override;

 private:
  // `rows` are the rows of DATA that entries read; null: entry i reads row i. `weights` belong to
  // entries or to positions in a segment; null: there are none.
  template <typename T>
  void Reduce(const Segments& segments, const int64_t* rows);
  template <typename T, bool kMax>
  void ReduceTo(const Segments& segments, const int64_t* rows, const float* weights);

  const SegmentSpec spec_;
  const int64_t num_segments_;
};

// The inputs of a gradient operator, in this order (Caffe2's):
//   [WEIGHTS] [OUTPUT] dOUTPUT, SEGMENT_IDS or LENGTHS, [DATA] [INDICES]
struct SegmentGradientSpec {
  SegmentSpec forward;
  bool with_output = false;   // kMax
  bool with_data = false;     // kMax, and gradients of the weights
  bool with_indices = false;  // not needed unless with_data; kept for Caffe2's nets

  constexpr int output() const { return forward.weighted() ? 1 : 0; }
  constexpr int d_output() const { return output() + (with_output ? 1 : 0); }
  constexpr int segments() const { return d_output() + 1; }
  constexpr int data() const { return segments() + 1; }
  constexpr int indices() const { return segments() + (with_data ? 2 : 1); }
  constexpr bool d_weights() const { return forward.weighted() && with_data; }
  // The input with an element or a row for each entry; -1: there is none, and only the sum of the
  // lengths tells how many entries there are.
  constexpr int entries() const {
    return forward.kind != SegmentKind::kLengths ? segments()
           : with_indices                        ? indices()
           : with_data && !forward.sparse        ? data()
           : forward.weighted()                  ? 0
                                                 : -1;
  }
  constexpr int num_inputs() const {
    return segments() + 1 + (with_data ? 1 : 0) + (with_indices ? 1 : 0);
  }
};

// The number of entries by the shape of `list`, which is input spec.entries(). Throws
// EnforceNotMet, naming the shape, for a scalar, and of a sparse operator unless it is
// one-dimensional.
int64_t NumEntries(const SegmentGradientSpec& spec, const Tensor& list);

// Writes one row for each entry: the gradient of the row that it read. Throws EnforceNotMet for
// lengths that do not add up to the number of entries. Weighted reductions also
// write the gradient of the weights if DATA is given.
class SegmentGradientOp : public Operator<CPUContext> {
 public:
  SegmentGradientOp(const OperatorDef& def, Workspace* ws, SegmentGradientSpec spec)
      : Operator<CPUContext>(def, ws), spec_(spec) {}
  bool RunOnDevice() override;

 private:
  void GradientOfMax(const Segments& segments, int64_t width);
  void GradientOfSum(const Segments& segments, int64_t width);
  void GradientOfWeights(const Segments& segments, int64_t width);
  Segments ReadSegments() const;

  const SegmentGradientSpec spec_;
};

// Makes the gradient operator of a spec: "<prefix><reducer>[suffixes]Gradient".
class SegmentGradientMaker : public GradientMakerBase {
 public:
  SegmentGradientMaker(const OperatorDef& def, const std::vector<GradientWrapper>& g_output,
                       SegmentSpec spec)
      : GradientMakerBase(def, g_output), spec_(spec) {}
  std::vector<OperatorDef> GetGradientDefs() override;

 private:
  const SegmentSpec spec_;
};

// The classes that the registries hold, one for each spec.
template <SegmentSpec spec>
class RegisteredSegmentReduction final : public SegmentReductionOp {
 public:
  RegisteredSegmentReduction(const OperatorDef& def, Workspace* ws)
      : SegmentReductionOp(def, ws, spec) {}
};
template <SegmentGradientSpec spec>
class RegisteredSegmentGradient final : public SegmentGradientOp {
 public:
  RegisteredSegmentGradient(const OperatorDef& def, Workspace* ws)
      : SegmentGradientOp(def, ws, spec) {}
};
template <SegmentSpec spec>
class RegisteredSegmentGradientMaker final : public SegmentGradientMaker {
 public:
  RegisteredSegmentGradientMaker(const OperatorDef& def,
                                 const std::vector<GradientWrapper>& g_output)
      : SegmentGradientMaker(def, g_output, spec) {}
};

// Describes inputs, output, arguments, shapes and documentation of an operator.
void DescribeSegmentReduction(OpSchema& schema, SegmentSpec spec);
void DescribeSegmentGradient(OpSchema& schema, SegmentGradientSpec spec);

// Registers operator, schema and gradient of one reduction. `spec` is a constant SegmentSpec.
#define REGISTER_SEGMENT_REDUCTION(name, spec)                   \
  REGISTER_CPU_OPERATOR(name, RegisteredSegmentReduction<spec>); \
  OPERATOR_SCHEMA(name).FillUsing([](OpSchema& schema) { DescribeSegmentReduction(schema, spec); })
#define REGISTER_SEGMENT_GRADIENT(name, gradient_spec)                   \
  REGISTER_CPU_OPERATOR(name, RegisteredSegmentGradient<gradient_spec>); \
  OPERATOR_SCHEMA(name).FillUsing(                                       \
      [](OpSchema& schema) { DescribeSegmentGradient(schema, gradient_spec); })

// Registers the operator `name`, which reduces segments that ids name, its gradient operator
// <name>Gradient, and its gradient maker.
#define REGISTER_ID_SEGMENT_REDUCTION(name, kind, reducer, sparse)                   \
  constexpr SegmentSpec k##name{SegmentKind::kind, SegmentReducer::reducer, sparse}; \
  REGISTER_SEGMENT_REDUCTION(name, k##name);                                         \
  REGISTER_SEGMENT_GRADIENT(name##Gradient, SegmentGradientSpec{k##name});           \
  REGISTER_GRADIENT(name, RegisteredSegmentGradientMaker<k##name>)

}  // namespace caffe2
