// Small operators for the tests of nets and passes, so that these need no real ones.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"

namespace caffe2::testing {

// An operator whose body is looked up by its argument "body" when it runs. The body sees the
// operator's float inputs and outputs. Type "TestBody".
using TestBody = std::function<bool(OperatorBase*)>;
std::map<std::string, TestBody>& TestBodies();

inline OperatorDef BodyOp(const std::string& body, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs) {
  return GradientMakerBase::CreateOperatorDef("TestBody", "", inputs, outputs,
                                              {MakeArgument("body", body)});
}

inline NetDef Net(const std::string& name, const std::vector<OperatorDef>& ops,
                  const std::string& type = "") {
  NetDef net;
  net.set_name(name);
  if (!type.empty()) net.set_type(type);
  for (const OperatorDef& op : ops) *net.add_op() = op;
  return net;
}

inline void FeedScalar(Workspace* ws, const std::string& name, float value) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
  tensor->Resize(1);
  *tensor->mutable_data<float>() = value;
}

inline float FetchScalar(const Workspace& ws, const std::string& name) {
  return *ws.GetBlob(name)->Get<Tensor>().data<float>();
}

}  // namespace caffe2::testing
