// A small operator for the nets inside control operators.
#pragma once

#include <string>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

inline OperatorDef Scale(const std::string& in, const std::string& out, float scale) {
  return Op("Scale", {in}, {out}, {MakeArgument("scale", scale)});
}

}  // namespace caffe2::testing
