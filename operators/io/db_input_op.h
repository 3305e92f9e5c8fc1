// What the operators that read databases share: batches come from a decoder of the operator's
// type, which is the same on all devices.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "caffe2/core/operator.h"
#include "db/batch_pipeline.h"
#include "db/db_reader.h"
#include "db/image_change.h"
#include "operators/dataset/blobs_queue_op.h"

namespace caffe2 {

// What a device has still to do with output 0 of a batch, the pixels of cropped images.
struct DeviceFinish {
  db::ImageFinish pixels;
  TypeMeta output_type;  // float, float16 or bfloat16
};

// Turns the records of a database into batches, ahead of their use, in threads of its own.
class InputDecoder {
 public:
  virtual ~InputDecoder() = default;
  // As those of db::Prefetcher.
  virtual void Attach(const db::DBReader& reader) = 0;
  virtual db::InputBatch* Next(const db::DBReader& reader, const WhileWaiting& while_waiting) = 0;
  // If output 0 of the batches is to be finished by a device: how. Behind the outputs of the
  // operator there is then one of bytes, the db::ImageChange of each image. Else null.
  virtual const DeviceFinish* finish() const { return nullptr; }
};

// Decoders by operator type. They are registered apart from operators because images are decoded
// by libcaffe2_image, which libraries of devices do not know. Arguments: the operator, the seed
// of what is random where its arguments name none, and who passes batches on to a device (null:
// they stay on the host), which outlives the decoder.
using InputDecoderRegistry =
    Registry<std::string, InputDecoder, const OperatorBase&, uint64_t, db::BatchUploader*>;
InputDecoderRegistry* InputDecoders();
// Throws EnforceNotMet for arguments that make no sense, and if no library has the type's decoder.
std::unique_ptr<InputDecoder> MakeInputDecoder(const OperatorBase& op, uint64_t seed,
                                               db::BatchUploader* uploader);

#define REGISTER_INPUT_DECODER(type, ...)                                                          \
  static ::caffe2::Registerer<std::string, ::caffe2::InputDecoder, const ::caffe2::OperatorBase&,  \
                              uint64_t, ::caffe2::db::BatchUploader*>                              \
  CAFFE2_ANONYMOUS(input_decoder_registerer_)(                                                     \
      ::caffe2::InputDecoders(), #type,                                                            \
      [](const ::caffe2::OperatorBase& op, uint64_t seed, ::caffe2::db::BatchUploader* uploader) { \
        return std::unique_ptr<::caffe2::InputDecoder>(new __VA_ARGS__(op, seed, uploader));       \
      })

// Reads from the reader that is its input or, without one, from the database its arguments name.
template <class Context>
class DBInputOp : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  DBInputOp(const OperatorDef& def, Workspace* ws,
            std::unique_ptr<db::BatchUploader> uploader = nullptr)
      : Operator<Context>(def, ws),
        stop_(StopWith(ws)),
        uploader_(std::move(uploader)),
        decoder_(MakeInputDecoder(*this, context_.random().seed(), uploader_.get())) {
    if (InputSize() == 0) {
      own_reader_ = std::make_unique<db::DBReader>(
          this->template GetSingleArgument<std::string>("db_type", "leveldb"),
          this->template GetSingleArgument<std::string>("db", ""));
    }
    if (own_reader_ || OperatorBase::InputIsType<Reader>(0)) decoder_->Attach(reader());
  }

  bool RunOnDevice() override {
    const db::InputBatch& batch = NextBatch();
    for (int i = 0; i < OutputSize(); ++i) Output(i)->CopyFrom(batch.outputs[i]);
    return true;
  }

 protected:
  const db::InputBatch& NextBatch() { return *decoder_->Next(reader(), stop_); }
  const db::DBReader& reader() const {
    return own_reader_ ? *own_reader_ : *OperatorBase::Input<Reader>(0);
  }
  const InputDecoder& decoder() const { return *decoder_; }

 private:
  using Reader = std::unique_ptr<db::DBReader>;

  WhileWaiting stop_;
  std::unique_ptr<db::DBReader> own_reader_;
  std::unique_ptr<db::BatchUploader> uploader_;
  std::unique_ptr<InputDecoder> decoder_;  // last: its threads use the rest
};

}  // namespace caffe2
