// Common worlds, and the base of the operators that use them.
#pragma once

#include <memory>
#include <string>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "distributed/collective.h"
#include "distributed/gloo_communicator.h"
#include "distributed/local_copies.h"

namespace caffe2 {

using CommonWorld = std::shared_ptr<Communicator>;

// An operator that talks to other shards. With argument status_blob, a failure of the environment
// (a peer, the store, a deadline) sets that blob to int32 [1] and Run returns false; without it the
// exception goes on, as those about the graph always do. The blob is [0] at first.
template <class Context>
class CollectiveOp : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  CollectiveOp(const OperatorDef& def, Workspace* ws) : Operator<Context>(def, ws) {
    const auto status_name = this->template GetSingleArgument<std::string>("status_blob", "");
    if (!status_name.empty()) {
      status_blob_ = ws->CreateBlob(status_name);
      SetStatus(0);
    }
  }

  // On devices it starts operations, and must do so in the order of the computation.
  bool IsCommunication() const final { return Context::kDeviceType == CPU; }

  bool RunOnDevice() final {
    if (status_blob_ == nullptr) {
      RunCollective();
      return true;
    }
    try {
      RunCollective();
      return true;
    } catch (const IoError& error) {
      LOG(ERROR) << this->type() << " " << OperationName() << ": " << error.what();
      SetStatus(1);
      return false;
    }
  }

 protected:
  virtual void RunCollective() = 0;

  // The world in input 0, with the operator's timeout set.
  Communicator* World() {
    const CommonWorld& world = this->template Input<CommonWorld>(0);
    CAFFE_ENFORCE(world != nullptr, "common world ", debug_def().input(0), " was destroyed");
    if (HasArgument("timeout_ms")) {
      world->SetTimeout(milliseconds(this->template GetSingleArgument<int>("timeout_ms", 0)));
    }
    return world.get();
  }

  // Inputs 2 to end - 1 are copies of input 1 on other devices of this shard: throws unless they
  // have its type and size.
  void CheckLocalCopies(int end) const {
    const Tensor& first = Input(1);
    for (int i = 2; i < end; ++i) {
      CAFFE_ENFORCE(Input(i).dtype() == first.dtype() && Input(i).sizes() == first.sizes(),
                    this->type(), " input ", i, " (", debug_def().input(i), ") is ",
                    Input(i).DebugString(), ", input 1 is ", first.DebugString());
    }
  }
  // Adds the local copies to output 0, which is input 1.
  void AddLocalCopies(int end) {
    for (int i = 2; i < end; ++i) AddCopy(Input(i), Output(0), &context_);
  }
  // Gives the first `count` elements of output 0 to the other outputs, each on its own device.
  void SpreadLocally(int64_t count) {
    const Tensor& source = *Output(0);
    for (int i = 1; i < OutputSize(); ++i) {
      GiveCopy(source, count,
               BlobGetMutableTensor(this->OutputBlob(i), this->Input(i + 1).device()), &context_);
    }
  }

  // What messages call the operation: equal on all shards.
  std::string OperationName() const {
    if (!debug_def().name().empty()) return debug_def().name();
    return debug_def().output_size() > 0 ? debug_def().output(0) : debug_def().input(0);
  }

 private:
  void SetStatus(int32_t status) {
    Tensor* tensor = BlobGetMutableTensor(status_blob_, Device{});
    tensor->Resize(1);
    *tensor->template mutable_data<int32_t>() = status;
  }

  Blob* status_blob_ = nullptr;
};

template <class Context>
class CloneCommonWorldOp final : public CollectiveOp<Context> {
 public:
  using CollectiveOp<Context>::CollectiveOp;

 private:
  void RunCollective() override {
    *OperatorBase::template Output<CommonWorld>(0) = this->World()->Clone(this->OperationName());
  }
};

template <class Context>
class DestroyCommonWorldOp final : public Operator<Context> {
 public:
  using Operator<Context>::Operator;
  bool RunOnDevice() override {
    CAFFE_ENFORCE(this->IsInputOutputAlias(0, 0), "DestroyCommonWorld works in place");
    OperatorBase::template Output<CommonWorld>(0)->reset();
    return true;
  }
};

// What all of them share: input 0 is a common world or the store it is made from.
inline OpSchema& CollectiveArguments(OpSchema& schema) {
  return schema.NonTensorInputs({0})
      .Arg("status_blob",
           "Blob that is set to int32 [1] if a peer or the store fails; the operator then returns "
           "false instead of throwing (default: none).")
      .Arg("timeout_ms", "Limit of the operation (default: that of the common world).");
}

// The settings of a common world in the arguments of CreateCommonWorld.
GlooOptions WorldOptions(const OperatorBase& op);
// The store in input 0; throws if there is none.
StoreHandler* WorldStore(const OperatorBase& op);

}  // namespace caffe2
