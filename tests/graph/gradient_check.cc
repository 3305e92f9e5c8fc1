#include "tests/graph/gradient_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caffe2/graph/gradient.h"

namespace caffe2::testing {
namespace {

constexpr float kStep = 1e-2f;

double RunForLoss(const NetDef& net, const Values& values, const std::string& loss) {
  Workspace ws;
  Feed(&ws, values);
  EXPECT_TRUE(ws.RunNetOnce(net));
  double sum = 0;
  for (const float element : Fetch(ws, loss)) sum += element;
  return sum;
}

}  // namespace

OperatorDef Op(const std::string& type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs, const std::vector<Argument>& args) {
  return GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs, args);
}

NetDef Net(const std::vector<OperatorDef>& ops, const std::string& name) {
  NetDef net;
  net.set_name(name);
  for (const OperatorDef& op : ops) *net.add_op() = op;
  return net;
}

void Feed(Workspace* ws, const Values& values) {
  for (const auto& [name, data] : values) {
    Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
    tensor->Resize(static_cast<int64_t>(data.size()));
    std::copy(data.begin(), data.end(), tensor->mutable_data<float>());
  }
}

std::vector<float> Fetch(const Workspace& ws, const std::string& name) {
  const Blob* blob = ws.GetBlob(name);
  CAFFE_ENFORCE(blob != nullptr, "no blob ", name);
  const Tensor& tensor = blob->Get<Tensor>();
  return {tensor.data<float>(), tensor.data<float>() + tensor.numel()};
}

void CheckNumerically(const NetDef& net, const Values& values, const std::string& loss) {
  NetDef full = net;
  const auto gradients = AddGradientOperators(&full, {{loss, ""}});
  Workspace ws;
  Feed(&ws, values);
  ASSERT_TRUE(ws.RunNetOnce(full));
  for (const auto& [name, data] : values) {
    ASSERT_TRUE(gradients.count(name)) << name;
    const std::vector<float> gradient = Fetch(ws, gradients.at(name).dense);
    ASSERT_EQ(gradient.size(), data.size()) << name;
    for (size_t i = 0; i < data.size(); ++i) {
      Values up = values, down = values;
      up[name][i] += kStep;
      down[name][i] -= kStep;
      const double numeric =
          (RunForLoss(net, up, loss) - RunForLoss(net, down, loss)) / (2 * kStep);
      EXPECT_NEAR(gradient[i], numeric, 5e-3 * std::max(1.0, std::abs(numeric)))
          << name << " " << i;
    }
  }
}

std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace caffe2::testing
