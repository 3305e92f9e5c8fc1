// The JPEG files of ImageInput that a CUDA device decodes: the device's part.
#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "caffe2/cuda/nvjpeg.h"
#include "db/batch_pipeline.h"
#include "db/image/crop_geometry.h"
#include "operators/io/stream_buffer_cuda.h"

namespace caffe2 {

// Decodes the files of batches and writes their crops, in one stream of the device. Several threads
// may call it, for different batches. Decoded images share one block of memory from batch to batch.
class JpegCropper {
 public:
  // Throws Error if nvJPEG cannot be used (cuda::JpegDecoder).
  JpegCropper(int device, cuda::Stream stream)
      : stream_(stream), memory_(device, stream), decoder_(device) {}

  bool Decodes(std::string_view file) const { return decoder_.Supports(file); }

  // Items of a batch whose decoded images lie in the memory together.
  struct Group {
    int begin = 0, end = 0;
    size_t bytes = 0;
  };
  // Sets where each decoded image will lie, in the batch's JpegCrops on the host.
  static std::vector<Group> Arrange(db::InputBatch* batch);

  // Puts the work into the stream, after the copies of `crops` and of the pixels that the host has
  // written. `crops` and `pixels` are outputs of the batch in device memory. The files must exist
  // until the work is done. Returns the items whose files nvJPEG refuses; if there are any, their
  // crops and possibly others are undefined. Throws Error.
  std::vector<int> Run(const db::InputBatch& batch, const std::vector<Group>& groups,
                       const db::JpegCrop* crops, uint8_t* pixels);

 private:
  std::vector<int> DecodeGroup(const db::InputBatch& batch, const Group& group);

  const cuda::Stream stream_;
  std::mutex mutex_;  // guards the members below while work is put into the stream
  StreamBuffer memory_;
  cuda::JpegDecoder decoder_;
};

}  // namespace caffe2
