// Examples of operators, for device_types_test.cc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/operators/op_test.h"

namespace caffe2::testing {

struct CaseInput {
  Shape dims;
  std::string type = {};         // "": the one that varies
  std::vector<int> values = {};  // empty: ones and zeros in turn
};

struct TypeCase {
  std::string type;
  std::vector<CaseInput> inputs;
  std::vector<Argument> arguments = {};
  int outputs = 1;
  std::vector<int> gradients = {0};  // the outputs with one; empty: no gradient operators run
};

// Operators that take none of the simple shapes, and operators whose gradient operators do not.
std::vector<TypeCase> TypeCases();

// Operators with versions for both devices that have no example, and why.
const std::map<std::string, std::string>& TypesNotCompared();

}  // namespace caffe2::testing
