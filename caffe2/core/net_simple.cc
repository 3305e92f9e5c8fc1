#include "caffe2/core/device_backend.h"
#include "caffe2/core/device_waits.h"
#include "caffe2/core/net.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {
namespace {

// Runs the operators one after the other in the calling thread.
class SimpleNet final : public NetBase {
 public:
  using NetBase::NetBase;

  bool Run() override {
    const ObservedRun observed(this);
    const bool observe = ObservesOperators();
    size_t i = 0;
    try {
      for (const auto& op : operators_) {
        if (ws_->StopRequested()) [[unlikely]]
          throw Error("stopped on request");
        if (!(observe ? RunObserved(i) : StartOperator(op.get()))) {
          LOG(ERROR) << "an operator reported failure (" << DescribeOperator(i) << ")";
          FinishNet(*this);
          return false;
        }
        ++i;
      }
    } catch (...) {
      RethrowWithContext(i);
    }
    FinishNet(*this);
    return true;
  }
};

REGISTER_NET(simple, SimpleNet);

}  // namespace
}  // namespace caffe2
