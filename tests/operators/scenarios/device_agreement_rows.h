// How far apart the CPU and the CUDA version of an operator may be (device_agreement_test.cc).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

// The values of an input. Those of the first group have the type under test and the shape
// [kRowCount, kWidth]; a quarter of them are edges: 0, -0, infinities, NaN, the smallest numbers,
// ...
enum class In {
  kAny,       // every magnitude
  kModest,    // numbers whose squares are floats, too
  kPositive,  // the magnitudes of kModest
  kInside,    // in (-0.9, 0.9), 0, 1 and -1
  kChosen,    // the value of input 0 at every other element
  // Of the type under test, with other shapes.
  kColumns,  // [kWidth]
  kPositiveColumns,
  kRowFactors,  // [kRowCount]
  // Of the type under test, [kRowCount, 3 kWidth] and [kRowCount, 4 kWidth], in [-1, 0]: a
  // sigmoid of them is at most 1/2, so 1 minus it keeps its digits.
  kThreeGates,
  kFourGates,
  // Of a type of their own.
  kBool,
  kRowBool,   // [kRowCount]
  kFlag,      // one bool
  kRate,      // one float
  kNorm,      // one float
  kIter,      // one int64
  kIndices,   // int32: kRowCount / 2 rows, each once
  kFloats,    // kModest in float
  kPairs,     // float [kRowCount, kWidth, 2]: n, which is not negative, and z
  kRows,      // float [kRowCount / 2, kWidth]: a gradient of the rows of kIndices
  kLastSeen,  // int64 [kRowCount]: iterations up to the one of kIter
  kCounts,    // double [kRowCount]
  kMaskBits,  // uint8 [kRowCount, 2]: a bit for each column
  kLengths,   // int32 [kRowCount]: from 0 to 8
  kTimestep,  // one int32, 5
};

constexpr int64_t kRowCount = 1502, kWidth = 9, kSize = kRowCount * kWidth;

// Where `ulps` are counted.
enum class At {
  kResult,    // at the result: numbers between both results
  kOperands,  // at the largest operand: sums lose the digits that cancel out
};

// Arguments by name and value.
inline std::vector<Argument> Args() { return {}; }
template <typename T, typename... More>
std::vector<Argument> Args(const char* name, const T& value, const More&... more) {
  std::vector<Argument> args = Args(more...);
  args.push_back(MakeArgument(name, value));
  return args;
}

struct Row {
  const char* type;
  std::vector<In> inputs;
  double ulps = 0;  // of float; a result of 16 bits may be 1 off if this is not 0
  const char* why = "";
  At at = At::kResult;
  std::vector<Argument> args = {};
  std::vector<int> outputs = {-1};  // the input that the output overwrites, or -1
};

// The elementwise operators, recurrent units and update rules; some have several rows, with other
// arguments.
std::vector<Row> AgreementRows();

// Operators of these families that add up many elements, in an order of the device, or are no
// function of elements -> why.
const std::map<std::string, std::string>& NotElementwise();

}  // namespace caffe2::testing
