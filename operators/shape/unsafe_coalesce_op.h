// UnsafeCoalesce: moves tensors of one type into one block of memory. They and the last output, the
// whole block, are then views of the block.
#pragma once

#include <vector>

#include "caffe2/core/operator.h"

namespace caffe2 {

template <class Context>
class UnsafeCoalesceOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(UnsafeCoalesceOp);
  bool RunOnDevice() override {
    const TypeMeta meta = Input(0).dtype();
    int64_t total = 0;
    for (int i = 0; i < InputSize(); ++i) {
      CAFFE_ENFORCE(Input(i).has_data() && Input(i).dtype() == meta, "input ", i, " is ",
                    Input(i).DebugString(), ", and must hold ", meta.name());
      total += Input(i).numel();
    }
    if (LiesTogether(total)) return true;
    // Always a new block: inputs may be at other places of the old one.
    Tensor joined(context_.device());
    joined.Resize(total);
    char* to = static_cast<char*>(joined.raw_mutable_data(meta));
    for (int i = 0; i < InputSize(); ++i) {
      context_.CopyItems(meta, Input(i).numel(), Input(i).raw_data(), to);
      to += Input(i).nbytes();
    }
    int64_t offset = 0;
    for (int i = 0; i < InputSize(); ++i) {
      const std::vector<int64_t> dims = Input(i).sizes();
      Output(i)->ShareData(joined.View(offset, dims));
      offset += Output(i)->numel();
    }
    Output(InputSize())->ShareData(joined);
    return true;
  }

 private:
  // True if all inputs already lie at their offsets in the block of an earlier run.
  bool LiesTogether(int64_t total) {
    const Tensor& joined = *Output(InputSize());
    if (joined.numel() != total || joined.dtype() != Input(0).dtype()) return false;
    const char* place = static_cast<const char*>(joined.raw_data());
    for (int i = 0; i < InputSize(); place += Input(i).nbytes(), ++i) {
      if (Input(i).numel() > 0 && Input(i).raw_data() != place) return false;
    }
    return true;
  }
};

}  // namespace caffe2
