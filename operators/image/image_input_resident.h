// ImageInput for a device that keeps the images of the whole database in its memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "operators/image/image_input_op.h"

namespace caffe2 {

// Decodes the database once, and then only makes the random choices of each batch. These are the
// choices of ImageInputDecoder, so the outputs are the same, except that a pixel of a shrunk image
// may differ by one of 256 values. Call Load first; after that Prepare and Decode are thread-safe.
class ResidentImageDecoder {
 public:
  // Throws EnforceNotMet, naming the argument, for options that stored images cannot serve: images
  // must have one size before the crop, and records one label.
  explicit ResidentImageDecoder(const ImageInputOptions& options);

  // Without load_images, which the caller adds.
  db::BatchPipeline::Options pipeline_options() const;
  // Decodes and scales all images, and gives them to the sink in parts. Keeps labels and keys. Must
  // not run at the same time as Prepare or Decode. Throws EnforceNotMet: with the key for an image
  // that is not square or cannot be decoded, with the database for pixels or labels of another
  // type.
  void Load(const db::DBReader& reader, const db::ImageSink& sink);

  // The two steps of a db::BatchPipeline with load_images.
  void Prepare(db::InputBatch* batch) const;
  void Decode(db::InputBatch* batch, int item) const;

 private:
  void LoadChunk(const std::string& source, db::InputBatch* chunk);

  const ImageInputOptions options_;
  const db::ImageTransform transform_;
  std::vector<std::string> keys_;
  std::vector<int32_t> labels_;
};

// The pipeline of an operator with the argument resident.
std::unique_ptr<db::BatchPipeline> MakeResidentImagePipeline(const ImageInputOptions& options,
                                                             db::BatchUploader* uploader);

}  // namespace caffe2
