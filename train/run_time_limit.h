// A limit of time for the nets of a model that is not trusted.
#pragma once

#include <functional>
#include <string>

#include "caffe2/core/workspace.h"

namespace caffe2 {

// Calls `body`, which runs nets in `ws` and returns what they return. If they have not ended after
// `seconds` (0: no limit), they stop before their next operator, and EnforceNotMet names `name` and
// the limit. An operator that has begun is not interrupted. Only one thread may run nets in `ws`.
bool RunWithin(double seconds, const std::string& name, Workspace* ws,
               const std::function<bool()>& body);

}  // namespace caffe2
