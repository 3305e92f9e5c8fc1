// ImageInput of a device that keeps the images of the whole database in its memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "operators/image/image_input_op.h"

namespace caffe2 {

// Decodes the database once, and then only makes the random choices of each batch: the same as
// ImageInputDecoder, so that the outputs are the same. Load first; then Prepare and Decode are
// thread-safe.
class ResidentImageDecoder {
 public:
  // Throws EnforceNotMet, naming the argument, for options with which a stored image does not
  // suffice: the images must have one size before the crop, and records one label.
  explicit ResidentImageDecoder(const ImageInputOptions& options);

  // Without load_images, which the caller adds.
  db::BatchPipeline::Options pipeline_options() const;
  // The images, uint8 {N, side, side, channels} on the host, scaled. Keeps labels and keys. Throws
  // EnforceNotMet, with the key, for an image that is not square or whose pixels are floats, and as
  // ImageInputDecoder.
  Tensor Load(const db::DBReader& reader);

  // The two steps of a db::BatchPipeline with load_images.
  void Prepare(db::InputBatch* batch) const;
  void Decode(db::InputBatch* batch, int item) const;

 private:
  const ImageInputOptions options_;
  const db::ImageTransform transform_;
  std::vector<std::string> keys_;
  std::vector<int32_t> labels_;
};

// The pipeline of an operator with the argument resident.
std::unique_ptr<db::BatchPipeline> MakeResidentImagePipeline(const ImageInputOptions& options,
                                                             db::BatchUploader* uploader);

}  // namespace caffe2
