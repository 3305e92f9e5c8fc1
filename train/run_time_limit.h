// A time limit for the nets of a model that is not trusted.
#pragma once

#include <functional>
#include <string>

#include "caffe2/core/workspace.h"

namespace caffe2 {

// Calls `body`, which runs nets in `ws`, and returns its result. If the nets have not ended after
// `seconds` (0: no limit), they stop before their next operator, and RunWithin throws EnforceNotMet
// with `name` and the limit. A running operator is not interrupted. Only one thread may run nets in
// `ws` meanwhile.
bool RunWithin(double seconds, const std::string& name, Workspace* ws,
               const std::function<bool()>& body);

}  // namespace caffe2
