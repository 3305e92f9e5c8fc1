#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "db/batch_pipeline.h"
#include "db/db_reader.h"
#include "db/image_transform.h"

namespace caffe2 {

// How labels are read: Caffe2's numbers of the argument label_type.
enum class LabelType { kSingle = 0, kMultiSparse = 1, kMultiDense = 2 };

struct ImageInputOptions {
  int batch_size = 0;
  bool use_caffe_datum = false;
  LabelType label_type = LabelType::kSingle;
  int num_labels = 0;  // 0: single labels are not checked
  int decode_threads = 4;
  uint64_t seed = 0;              // of the augmentation
  std::vector<int> output_sizes;  // of the outputs behind data and label
  db::ImageTransformOptions transform;
};

// From the arguments of an ImageInput operator. Throws EnforceNotMet for arguments that make no
// sense. `default_seed` is used where there is no argument seed.
ImageInputOptions ReadImageInputOptions(const OperatorBase& op, uint64_t default_seed);

// Reads, decodes and transforms batches of images in threads of its own.
class ImageInputDecoder {
 public:
  explicit ImageInputDecoder(const ImageInputOptions& options);

  void Attach(const db::DBReader& reader) { prefetcher_.Attach(reader); }
  db::InputBatch* Next(const db::DBReader& reader) { return prefetcher_.Next(reader); }

 private:
  void Prepare(db::InputBatch* batch) const;
  void Decode(db::InputBatch* batch, int item) const;
  void DecodeDatum(const db::Record& record, db::InputBatch* batch, int item) const;
  void DecodeTensorProtos(const db::Record& record, db::InputBatch* batch, int item) const;
  void WriteImage(const TensorProto& proto, const db::BoundingBox& box, uint64_t seed,
                  void* output) const;
  void WriteLabel(const TensorProto& proto, Tensor* labels, int item) const;
  void WriteExtra(const TensorProto& proto, int index, Tensor* output, int item) const;
  void CheckLabel(int64_t label) const;
  void* ImageOutput(db::InputBatch* batch, int item) const;

  const ImageInputOptions options_;
  const db::ImageTransform transform_;
  db::Prefetcher prefetcher_;  // last: its threads use the rest
};

template <class Context>
class ImageInputOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ImageInputOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        decoder_(ReadImageInputOptions(*this, context_.random().seed())) {
    if (InputSize() == 0) {
      own_reader_ = std::make_unique<db::DBReader>(
          this->template GetSingleArgument<std::string>("db_type", "leveldb"),
          this->template GetSingleArgument<std::string>("db", ""));
    }
    if (own_reader_ || OperatorBase::InputIsType<Reader>(0)) decoder_.Attach(reader());
  }

  bool RunOnDevice() override {
    const db::InputBatch* batch = decoder_.Next(reader());
    for (int i = 0; i < OutputSize(); ++i) Output(i)->CopyFrom(batch->outputs[i]);
    return true;
  }

 private:
  using Reader = std::unique_ptr<db::DBReader>;
  const db::DBReader& reader() const {
    return own_reader_ ? *own_reader_ : *OperatorBase::Input<Reader>(0);
  }

  std::unique_ptr<db::DBReader> own_reader_;
  ImageInputDecoder decoder_;
};

}  // namespace caffe2
