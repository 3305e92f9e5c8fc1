// Decodes JPEG files on a device by NVIDIA's library nvJPEG, which is loaded when it is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// Uses the device's hardware for JPEG files or, without it, nvJPEG's default backend; the log says
// which. nvJPEG keeps memory of the device, and takes more only for larger batches.
class JpegDecoder {
 public:
  struct Job {
    std::string_view file;  // on the host
    uint8_t* pixels;        // on the device: height x width x channels, interleaved
    size_t row_bytes;       // width x channels
  };

  // Throws Error if the library cannot be loaded (the environment variable CAFFE2_NVJPEG_LIBRARY
  // may hold its path) or nvJPEG cannot use the device.
  explicit JpegDecoder(int device);
  // Waits for what is being decoded.
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // True if Decode accepts the file; looks at its header only. Thread-safe.
  bool Supports(std::string_view file) const;

  // Puts the decoding of all files into the stream, a stream of this device. First waits, on the
  // host, until the call before the last one is done. `channels` is 3 (blue, green, red) or 1
  // (brightness). Files and pixels must stay until the work is done. EXIF orientations are not
  // applied. Returns null, or nvJPEG's text if it refuses a file; the pixels are undefined then.
  // Throws Error if nvJPEG fails in another way. One thread at a time.
  const char* Decode(const std::vector<Job>& jobs, int channels, Stream stream);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace caffe2::cuda
