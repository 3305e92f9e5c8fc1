// The operators that make common worlds, and the base class of the operators that use them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "distributed/collective.h"
#include "distributed/communicator_options.h"
#include "distributed/local_copies.h"
#include "distributed/run_store_handler.h"

namespace caffe2 {

using CommonWorld = std::shared_ptr<Communicator>;

// Reports an error of a common world with `world_size` shards as the failure of `run`. Returns the
// line that all shards print.
std::string ReportFailure(RunMembership* run, int world_size, const IoError& error);

// An operator that talks to other shards. If a peer, the store or a deadline fails (IoError), it
// reports the failure to the run of the common world, if there is one, and throws RunFailed. With
// argument status_blob it does not throw: it sets that blob, initially int32 [0], to [1], and Run
// returns false. Errors in the graph (EnforceNotMet) are always thrown.
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

  // False on devices: there the operator only puts the operation into the stream, in the order of
  // the computation.
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

  // The world in input 0. The operator's timeout, if it has one, becomes the world's.
  Communicator* World() {
    const CommonWorld& world = this->template Input<CommonWorld>(0);
    CAFFE_ENFORCE(world != nullptr, "common world ", debug_def().input(0), " was destroyed");
    NoteRun(world->run().get(), world->size());
    if (HasArgument("timeout_ms")) {
      world->SetTimeout(milliseconds(this->template GetSingleArgument<int>("timeout_ms", 0)));
    }
    return world.get();
  }

  // Sets the run (or null) that a failure of this operator is reported to, until the operator runs
  // again.
  void NoteRun(RunMembership* run, int world_size) {
    run_ = run;
    world_size_ = world_size;
  }

  // Throws EnforceNotMet unless inputs 2 to end - 1, the copies of input 1 on other devices of this
  // shard, have the type and shape of input 1.
  void CheckLocalCopies(int end) const {
    const Tensor& first = Input(1);
    for (int i = 2; i < end; ++i) {
      CAFFE_ENFORCE(Input(i).dtype() == first.dtype() && Input(i).sizes() == first.sizes(),
                    this->type(), ": input ", i, " (", debug_def().input(i), ") is ",
                    Input(i).DebugString(), ", but input 1 is ", first.DebugString());
    }
  }
  // Adds inputs 2 to end - 1 to output 0, which shares the tensor of input 1.
  void AddLocalCopies(int end) {
    for (int i = 2; i < end; ++i) AddTensor(Input(i), Output(0), &context_);
  }
  // Copies the first `count` elements of output 0 to the other outputs, each on its own device.
  void BroadcastLocally(int64_t count) {
    const Tensor& source = *Output(0);
    for (int i = 1; i < OutputSize(); ++i) {
      CopyFirstElements(source, count,
                        BlobGetMutableTensor(this->OutputBlob(i), this->Input(i + 1).device()),
                        &context_);
    }
  }

  // The name of the operation in messages, the same on all shards.
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

// Reads the arguments of CreateCommonWorld. Throws EnforceNotMet if the name, size or rank is
// missing.
CommunicatorOptions WorldOptions(const OperatorBase& op);
// The argument `settings` of CreateCommonWorld as names and values. Throws EnforceNotMet unless
// each string is "name=value".
std::map<std::string, std::string> WorldSettings(const OperatorBase& op);
// The store in input 0. Throws EnforceNotMet if there is none.
StoreHandler* WorldStore(const OperatorBase& op);

// Makes a common world with the store of input 0. If that is a RunStoreHandler and there are
// several shards, the process first joins its run, and the world's keys belong to the run.
template <class Context>
class CreateWorldOp : public CollectiveOp<Context> {
 public:
  CreateWorldOp(const OperatorDef& def, Workspace* ws) : CollectiveOp<Context>(def, ws), ws_(ws) {}

 protected:
  virtual CommonWorld Connect(StoreHandler* store, const CommunicatorOptions& options) = 0;

 private:
  void RunCollective() final {
    const CommunicatorOptions options = WorldOptions(*this);
    StoreHandler* store = WorldStore(*this);
    std::shared_ptr<RunMembership> run;
    std::unique_ptr<StoreHandler> store_of_run;
    auto* handler = dynamic_cast<RunStoreHandler*>(store);
    if (handler != nullptr && options.size > 1) {
      const Device device = this->context_.device();
      const std::string devices = device.type == CPU ? "cpu" : MakeString("gpu ", device.id);
      run = handler->Join(options.size, options.rank, WorldSettings(*this), devices, [this] {
        if (ws_->StopRequested()) throw Error("stopped on request while shards join");
      });
      this->NoteRun(run.get(), options.size);
      store_of_run = run->MakeStore();
      store = store_of_run.get();
    }
    const CommonWorld world = Connect(store, options);
    world->SetRun(run);
    *OperatorBase::template Output<CommonWorld>(0) = world;
  }

  Workspace* ws_;
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

// The part of the schema that all these operators share. Input 0 is a common world or a store.
inline OpSchema& CollectiveArguments(OpSchema& schema) {
  return schema.NonTensorInputs({0})
      .Arg<std::string>("status_blob",
                        "Blob that is set to int32 [1] if a peer or the store fails; the operator "
                        "then returns false instead of throwing (default: none).")
      .Arg<int>("timeout_ms",
                "Time limit in milliseconds of this operation, and of later ones on the world that "
                "give none (default: the common world's limit).");
}

}  // namespace caffe2
