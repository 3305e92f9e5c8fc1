#pragma once

#include <string>

#include "operators/io/db_input_op.h"

namespace caffe2 {

// Reads batches of TensorProtos records, one output for each tensor of a record. Outputs are
// [batch_size, dims...], or with batch_size 0 one record with its own dims. A thread reads ahead.
class TensorProtosDecoder final : public InputDecoder {
 public:
  // Draws nothing at random: the seed does not count.
  TensorProtosDecoder(const OperatorBase& op, uint64_t seed, db::BatchUploader* uploader);

  void Attach(const db::DBReader& reader) override { prefetcher_.Attach(reader); }
  db::InputBatch* Next(const db::DBReader& reader, const WhileWaiting& while_waiting) override {
    return prefetcher_.Next(reader, while_waiting);
  }

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

}  // namespace caffe2
