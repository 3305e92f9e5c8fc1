// The inputs of an operator in the text of an error.
#pragma once

#include <string>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

class Workspace;

// "inputs: X float [4, 2], label int64_t [4]": the first six inputs of an operator that failed; ""
// if it has none.
std::string InputsText(const OperatorDef& op, const Workspace& ws);
// The same for shape inference: "inputs: X [4, 2], label [4]".
std::string InputsText(const OperatorDef& op, const std::vector<TensorShape>& shapes);

}  // namespace caffe2
