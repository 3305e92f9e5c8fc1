#include "tests/core/test_operators.h"

namespace caffe2::testing {

std::map<std::string, TestBody>& TestBodies() {
  static auto* bodies = new std::map<std::string, TestBody>;
  return *bodies;
}

namespace {

class TestBodyOp final : public Operator<CPUContext> {
 public:
  using Operator::Operator;
  bool RunOnDevice() override {
    return TestBodies().at(GetSingleArgument<std::string>("body", ""))(this);
  }
};
REGISTER_CPU_OPERATOR(TestBody, TestBodyOp);

// output = sum of inputs + 1, so that a wrong order of operators shows in the values.
class TestSumPlusOneOp final : public Operator<CPUContext> {
 public:
  using Operator::Operator;
  bool RunOnDevice() override {
    float sum = 1;
    for (int i = 0; i < InputSize(); ++i) sum += *Input(i).data<float>();
    for (int i = 0; i < OutputSize(); ++i) {
      Output(i)->Resize(1);
      *Output(i)->mutable_data<float>() = sum;
    }
    return true;
  }
};
REGISTER_CPU_OPERATOR(TestSumPlusOne, TestSumPlusOneOp);

}  // namespace
}  // namespace caffe2::testing
