#pragma once

#include <vector>

#include "caffe2/core/operator.h"
#include "db/image_transform.h"
#include "operators/io/db_input_op.h"

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
  bool finish_on_device = false;  // images are cropped here; a device does the rest
  db::ImageTransformOptions transform;
};

// From the arguments of an ImageInput operator. Throws EnforceNotMet for arguments that make no
// sense. `default_seed` is used where there is no argument seed.
ImageInputOptions ReadImageInputOptions(const OperatorBase& op, uint64_t default_seed);

// What arguments and device of the operator say: whether the device normalises the images, and
// whether they come out as NCHW. There the default is Caffe2's, which is another one on devices.
bool FinishesOnDevice(const OperatorDef& def);
bool IsChannelsFirst(const OperatorDef& def);

// Reads, decodes and transforms batches of images. Where the device finishes them, output 0 holds
// pixels, and behind the outputs follows one of bytes: the db::ImageChange of each image.
class ImageInputDecoder final : public InputDecoder {
 public:
  ImageInputDecoder(const OperatorBase& op, uint64_t default_seed, db::BatchUploader* uploader);

  void Attach(const db::DBReader& reader) override { prefetcher_.Attach(reader); }
  db::InputBatch* Next(const db::DBReader& reader, const WhileWaiting& while_waiting) override {
    return prefetcher_.Next(reader, while_waiting);
  }
  const DeviceFinish* finish() const override {
    return options_.finish_on_device ? &finish_ : nullptr;
  }

 private:
  void Prepare(db::InputBatch* batch) const;
  void Decode(db::InputBatch* batch, int item) const;
  void DecodeDatum(const db::Record& record, db::InputBatch* batch, int item) const;
  void DecodeTensorProtos(const db::Record& record, db::InputBatch* batch, int item) const;
  void WriteProto(const TensorProto& proto, const db::BoundingBox& box, const db::Record& record,
                  db::InputBatch* batch, int item) const;
  template <typename Pixel>
  void WriteImage(const db::ImageView<Pixel>& image, const db::BoundingBox& box,
                  const db::Record& record, db::InputBatch* batch, int item) const;
  void WriteLabel(const TensorProto& proto, Tensor* labels, int item) const;
  void WriteExtra(const TensorProto& proto, int index, Tensor* output, int item) const;
  void CheckLabel(int64_t label) const;

  const ImageInputOptions options_;
  const db::ImageTransform transform_;
  const DeviceFinish finish_;
  db::Prefetcher prefetcher_;  // last: its threads use the rest
};

}  // namespace caffe2
