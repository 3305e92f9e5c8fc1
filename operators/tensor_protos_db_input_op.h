#pragma once

#include <memory>
#include <string>

#include "caffe2/core/operator.h"
#include "db/batch_pipeline.h"
#include "db/db_reader.h"

namespace caffe2 {

// Reads batches of TensorProtos records, one output for each tensor of a record. Outputs are
// [batch_size, dims...], or with batch_size 0 one record with its own dims. A thread reads ahead.
class TensorProtosDecoder {
 public:
  // Throws EnforceNotMet for a negative batch size.
  TensorProtosDecoder(int num_outputs, int batch_size);

  db::InputBatch* Next(const db::DBReader& reader) { return prefetcher_.Next(reader); }
  void Attach(const db::DBReader& reader) { prefetcher_.Attach(reader); }

 private:
  void Prepare(db::InputBatch* batch) const;
  void Decode(db::InputBatch* batch, int item) const;
  void DecodeUnusual(db::InputBatch* batch, int item) const;
  // False if this needs DecodeUnusual.
  bool DecodePlain(db::InputBatch* batch, int item) const;
  TensorProtos Parse(const std::string& record) const;

  const int num_outputs_;
  const int batch_size_;
  db::Prefetcher prefetcher_;  // last: its threads use the rest
};

template <class Context>
class TensorProtosDBInputOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  TensorProtosDBInputOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        decoder_(OutputSize(), this->template GetSingleArgument<int>("batch_size", 0)) {
    if (OperatorBase::InputIsType<Reader>(0)) decoder_.Attach(*OperatorBase::Input<Reader>(0));
  }

  bool RunOnDevice() override {
    const db::InputBatch* batch = decoder_.Next(*OperatorBase::Input<Reader>(0));
    for (int i = 0; i < OutputSize(); ++i) Output(i)->CopyFrom(batch->outputs[i]);
    return true;
  }

 private:
  using Reader = std::unique_ptr<db::DBReader>;
  TensorProtosDecoder decoder_;
};

}  // namespace caffe2
