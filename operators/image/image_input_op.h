// ImageInput: decodes the images of a database and makes batches of them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "caffe2/core/operator.h"
#include "db/batch_pipeline.h"
#include "db/image/image_transform.h"
#include "operators/image/image_input_jpegs.h"

namespace caffe2 {

// How labels are read: values of the argument label_type, as in Caffe2.
enum class LabelType { kSingle = 0, kMultiSparse = 1, kMultiDense = 2 };

// The arguments of an ImageInput operator, and what they imply for its device.
struct ImageInputOptions {
  int batch_size = 0;
  bool use_caffe_datum = false;
  LabelType label_type = LabelType::kSingle;
  int num_labels = 0;  // 0: single labels are not checked
  int decode_threads = 4;
  int64_t max_bad_records = 0;
  uint64_t seed = 0;                 // of the augmentation
  std::vector<int> output_sizes;     // of the outputs after data and label
  bool normalize_on_device = false;  // images are cropped on the host; a device does the rest
  bool decode_on_device = false;     // a device decodes JPEG files, too (image_input_jpegs.h)
  bool resident = false;             // the device keeps all images (image_input_resident.h)
  bool square_images = false;        // an image that is not square is an error
  db::ImageTransformOptions transform;
};

// Reads the arguments of an ImageInput operator. Throws EnforceNotMet for invalid arguments.
// `default_seed` is used if the argument seed is not given.
ImageInputOptions ReadImageInputOptions(const OperatorBase& op, uint64_t default_seed);

// Whether the device normalizes the images, and whether the output is NCHW, according to the
// arguments and the device of the operator. The default order, as in Caffe2, is NCHW only if the
// device normalizes the images.
bool NormalizesOnDevice(const OperatorDef& def);
bool IsChannelsFirst(const OperatorDef& def);

// Decodes and transforms batches of images. If a device normalizes them, output 0 holds the cropped
// pixels, and one more output of bytes holds the db::SampledAugmentation of each image. Leaves JPEG
// files to a device if it decodes them. Thread-safe.
class ImageInputDecoder {
 public:
  // With options.decode_on_device, `uploader` says which files the device decodes, and must outlive
  // the decoder.
  explicit ImageInputDecoder(const ImageInputOptions& options,
                             const db::BatchUploader* uploader = nullptr);

  db::BatchPipeline::Options pipeline_options() const;
  // The two steps of a db::BatchPipeline. Throw EnforceNotMet for records that do not fit.
  void Prepare(db::InputBatch* batch) const;
  void Decode(db::InputBatch* batch, int item) const;

 private:
  void DecodeDatum(const db::Record& record, db::InputBatch* batch, int item) const;
  // Decodes a record of one image and one label without a copy. False for other records and
  // settings.
  bool DecodeInPlace(const db::Record& record, db::InputBatch* batch, int item) const;
  void DecodeTensorProtos(const db::Record& record, db::InputBatch* batch, int item) const;
  void WriteProto(const TensorProto& proto, const db::BoundingBox& box, const db::Record& record,
                  db::InputBatch* batch, int item) const;
  void WriteFile(std::string_view file, const db::BoundingBox& box, const db::Record& record,
                 db::InputBatch* batch, int item) const;
  // Raw pixels.
  template <typename Pixel>
  void WriteImage(const db::ImageView<Pixel>& image, const db::BoundingBox& box,
                  const db::Record& record, db::InputBatch* batch, int item) const;
  template <typename Pixel>
  void WriteImage(db::ImageSource<Pixel>* image, const db::BoundingBox& box,
                  const db::Record& record, db::InputBatch* batch, int item) const;
  void WriteLabel(const TensorProto& proto, Tensor* labels, int item) const;
  void WriteExtra(const TensorProto& proto, int index, Tensor* output, int item) const;
  void CheckLabel(int64_t label) const;

  const ImageInputOptions options_;
  const db::ImageTransform transform_;
  const std::unique_ptr<DeviceJpegs> jpegs_;  // null: the host decodes all images
};

}  // namespace caffe2
