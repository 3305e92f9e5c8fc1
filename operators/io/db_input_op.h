// Shared by operators that read databases. Batches come from a pipeline; the type of the operator
// chooses it, and it is the same on all devices.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "caffe2/core/operator.h"
#include "db/batch_pipeline.h"
#include "db/db_reader.h"
#include "operators/dataset/blobs_queue_op.h"

namespace caffe2 {

// Creates pipelines by operator type. They are registered apart from operators because
// libcaffe2_image decodes images, and libraries of devices do not link it. Arguments: the operator;
// the seed of its random choices, if its arguments give none; the uploader that copies batches to a
// device (null: they stay on the host), which must outlive the pipeline.
using InputPipelineRegistry =
    Registry<std::string, db::BatchPipeline, const OperatorBase&, uint64_t, db::BatchUploader*>;
InputPipelineRegistry* InputPipelines();
// Throws EnforceNotMet for invalid arguments, or if no loaded library has a pipeline for the
// operator's type.
std::unique_ptr<db::BatchPipeline> MakeInputPipeline(const OperatorBase& op, uint64_t seed,
                                                     db::BatchUploader* uploader);

// REGISTER_INPUT_PIPELINE(Type, function): function(op, seed, uploader) returns a
// std::unique_ptr<db::BatchPipeline>.
#define REGISTER_INPUT_PIPELINE(type, function)                         \
  static ::caffe2::Registerer<std::string, ::caffe2::db::BatchPipeline, \
                              const ::caffe2::OperatorBase&, uint64_t,  \
                              ::caffe2::db::BatchUploader*>             \
  CAFFE2_ANONYMOUS(input_pipeline_registerer_)(::caffe2::InputPipelines(), #type, function)

// Reads from the reader that is its input or, without one, from the database that its arguments
// name.
template <class Context>
class DBInputOp : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  DBInputOp(const OperatorDef& def, Workspace* ws,
            std::unique_ptr<db::BatchUploader> uploader = nullptr)
      : Operator<Context>(def, ws),
        stop_(StopWith(ws)),
        uploader_(std::move(uploader)),
        pipeline_(MakeInputPipeline(*this, context_.random().seed(), uploader_.get())) {
    if (InputSize() == 0) {
      own_reader_ = std::make_unique<db::DBReader>(
          this->template GetSingleArgument<std::string>("db_type", "leveldb"),
          this->template GetSingleArgument<std::string>("db", ""));
    }
    if (own_reader_ || OperatorBase::InputIsType<Reader>(0)) pipeline_->Attach(reader());
  }

  bool RunOnDevice() override {
    const db::InputBatch& batch = NextBatch();
    for (int i = 0; i < OutputSize(); ++i) Output(i)->CopyFrom(batch.outputs[i]);
    return true;
  }

 protected:
  const db::InputBatch& NextBatch() { return *pipeline_->Next(reader(), stop_); }
  const db::DBReader& reader() const {
    return own_reader_ ? *own_reader_ : *OperatorBase::Input<Reader>(0);
  }
  const db::BatchPipeline::Options& pipeline_options() const { return pipeline_->options(); }
  // Stops the threads of an earlier reader. NextBatch starts them again.
  void Attach() { pipeline_->Attach(reader()); }
  // Throws if the workspace asks its operators to stop.
  void CheckStop() const {
    if (stop_) stop_();
  }

 private:
  using Reader = std::unique_ptr<db::DBReader>;

  WhileWaiting stop_;
  std::unique_ptr<db::DBReader> own_reader_;
  std::unique_ptr<db::BatchUploader> uploader_;
  std::unique_ptr<db::BatchPipeline> pipeline_;  // last, because its threads use the other members
};

}  // namespace caffe2
