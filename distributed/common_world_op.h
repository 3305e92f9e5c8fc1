// Common worlds, and the base of the operators that use them.
#pragma once

#include <memory>
#include <string>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "distributed/collective.h"
#include "distributed/gloo_communicator.h"
#include "distributed/local_copies.h"
#include "distributed/run_store_handler.h"

namespace caffe2 {

using CommonWorld = std::shared_ptr<Communicator>;

// The line that all shards print for an error of a common world of `world_size` shards that belongs
// to `run`; the run has then failed.
std::string ReportFailure(RunMembership* run, int world_size, const IoError& error);

// An operator that talks to other shards. With argument status_blob, a failure of the environment
// (a peer, the store, a deadline) sets that blob to int32 [1] and Run returns false; without it the
// exception goes on, as those about the graph always do. The blob is [0] at first. If the common
// world belongs to a run such a failure is the run's: it is reported, and becomes RunFailed.
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
    run_ = nullptr;
    try {
      RunCollective();
      return true;
    } catch (const IoError& error) {
      if (run_ == nullptr && status_blob_ == nullptr) throw;
      const std::string line =
          run_ == nullptr ? error.what() : ReportFailure(run_, world_size_, error);
      if (status_blob_ == nullptr) throw RunFailed(line);
      LOG(ERROR) << this->type() << " " << OperationName() << ": " << line;
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
    NoteRun(world->run().get(), world->size());
    if (HasArgument("timeout_ms")) {
      world->SetTimeout(milliseconds(this->template GetSingleArgument<int>("timeout_ms", 0)));
    }
    return world.get();
  }

  // The run, if any, that fails if this operator does; until the next run of the operator.
  void NoteRun(RunMembership* run, int world_size) {
    run_ = run;
    world_size_ = world_size;
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
  RunMembership* run_ = nullptr;
  int world_size_ = 0;
};

// The settings of a common world in the arguments of CreateCommonWorld.
GlooOptions WorldOptions(const OperatorBase& op);
// The store in input 0; throws if there is none.
StoreHandler* WorldStore(const OperatorBase& op);

// Makes a common world in the store of input 0. If that is a RunStoreHandler, several shards join
// its run first, and meet among the run's keys.
template <class Context>
class CreateWorldOp : public CollectiveOp<Context> {
 public:
  using CollectiveOp<Context>::CollectiveOp;

 protected:
  virtual CommonWorld Connect(StoreHandler* store, const GlooOptions& options) = 0;

 private:
  void RunCollective() final {
    const GlooOptions options = WorldOptions(*this);
    StoreHandler* store = WorldStore(*this);
    std::shared_ptr<RunMembership> run;
    std::unique_ptr<StoreHandler> store_of_run;
    auto* handler = dynamic_cast<RunStoreHandler*>(store);
    if (handler != nullptr && options.size > 1) {
      const Device device = this->context_.device();
      const std::string devices = device.type == CPU ? "cpu" : MakeString("gpu ", device.id);
      run = handler->Join(options.size, options.rank, devices);  // which keeps it, too
      this->NoteRun(run.get(), options.size);
      store_of_run = run->MakeStore();
      store = store_of_run.get();
    }
    const CommonWorld world = Connect(store, options);
    world->SetRun(run);
    *OperatorBase::template Output<CommonWorld>(0) = world;
  }
};

template <class Context>
class CloneCommonWorldOp final : public CollectiveOp<Context> {
 public:
  using CollectiveOp<Context>::CollectiveOp;

 private:
  void RunCollective() override {
    Communicator* world = this->World();
    const CommonWorld clone = world->Clone(this->OperationName());
    clone->SetRun(world->run());
    *OperatorBase::template Output<CommonWorld>(0) = clone;
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

}  // namespace caffe2
