// Small nets over float vectors, and their gradients against central differences.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"

namespace caffe2::testing {

OperatorDef Op(const std::string& type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs, const std::vector<Argument>& args = {});
NetDef Net(const std::vector<OperatorDef>& ops, const std::string& name = "test");

// Blob name -> values of a float vector.
using Values = std::map<std::string, std::vector<float>>;
void Feed(Workspace* ws, const Values& values);
std::vector<float> Fetch(const Workspace& ws, const std::string& name);

// Runs the net with its backward pass and compares the gradient of the sum of blob `loss` with
// central differences, for every element of `values`. All of them must have a dense gradient.
void CheckNumerically(const NetDef& net, const Values& values, const std::string& loss);

// The message of what `action` throws, or "".
std::string ErrorOf(const std::function<void()>& action);

}  // namespace caffe2::testing
