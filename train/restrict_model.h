// Checks a model that comes from a file before it runs. A net can name any operator, so without
// this check a model is a program.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// The limits for a model that is not trusted.
struct ModelLimits {
  int64_t max_operators = 100'000;  // including the operators of nested nets
  int max_nesting = 8;              // levels of nets in arguments of operators
  int64_t max_name_bytes = 1024;    // of blobs, nets, operators and arguments
  // Iterations in one run of a While or ONNXWhile. A loop in the body of a loop is allowed, but no
  // third level.
  int64_t max_loop_iterations = 10'000;
  // Bytes of the blobs that a net makes, as far as shape inference knows their sizes.
  int64_t max_bytes = int64_t{16} << 30;
  // Seconds of one run of a net. RestrictModel does not enforce this limit; the caller runs the net
  // by RunWithin (train/run_time_limit.h).
  double max_run_seconds = 300;
  // What lifts the limits in this program, for errors: "--trust_model"; "" if nothing does.
  std::string trust_setting = {};
};

// True if models may use the operator: one that computes its outputs from its inputs and arguments
// alone. Operators that open files, databases, stores or connections, print, keep state between
// runs, wait for other threads or run Python are not model operators.
bool IsModelOperator(const std::string& type);

// Throws EnforceNotMet, which names the net, the operator and the limit, if the net exceeds
// `limits` or has an operator, also in a nested net, that is not a model operator. Load, ImageInput
// and TensorProtosDBInput are allowed if they have an input: they then read from a reader that the
// caller has made. Unknown operators pass, because a net with them cannot be created. Sets the
// argument max_iterations of all loops. `name` names the net in errors.
void RestrictModel(const std::string& name, const ModelLimits& limits, NetDef* net);

// Throws EnforceNotMet, which names the blob, the element and `trust_setting` (ModelLimits), if a
// tensor of float, double, float16 or bfloat16 among these blobs of `ws` holds NaN or an infinity.
// Skips other blobs.
void CheckFinite(const Workspace& ws, const std::vector<std::string>& blobs,
                 const std::string& trust_setting);

}  // namespace caffe2
