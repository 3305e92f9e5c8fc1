// The JPEG files of ImageInput that a device decodes: the host's part.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "db/batch_pipeline.h"
#include "db/image/image_transform.h"

namespace caffe2 {

// Decides for each image whether the device decodes it, and counts. Prepare, Begin, Take and
// NoteHost are thread-safe.
class DeviceJpegs {
 public:
  // `transform` chooses the crops, with random numbers from `seed`. `transform` and `uploader`
  // must outlive it.
  DeviceJpegs(const db::ImageTransform* transform, uint64_t seed,
              const db::BatchUploader* uploader);
  // Logs how many images the device has decoded, and how many the host.
  ~DeviceJpegs();
  DeviceJpegs(const DeviceJpegs&) = delete;
  DeviceJpegs& operator=(const DeviceJpegs&) = delete;

  // Makes room for the files of the batch's records, and for the JpegCrops in the last output but
  // one.
  void Prepare(db::InputBatch* batch) const;
  // Says that the host makes the crop of the item, until Take says otherwise.
  void Begin(db::InputBatch* batch, int item) const;
  // Gives the file of an item to the device, with the item's random choices, and returns null.
  // Otherwise returns why the host must decode it, to be put after "because". Throws EnforceNotMet,
  // as decoding does, for a damaged header, an image above the limits, and an image or a box that
  // the crop does not fit.
  const char* Take(std::string_view file, const db::BoundingBox& box, db::InputBatch* batch,
                   int item);
  // Counts an image that the host has decoded; the first is logged, with `reason`.
  void NoteHost(const db::Record& record, const char* reason);

 private:
  const db::ImageTransform* const transform_;
  const uint64_t seed_;
  const db::BatchUploader* const uploader_;
  std::atomic<int64_t> by_device_{0}, by_host_{0};
};

}  // namespace caffe2
