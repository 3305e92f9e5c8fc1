// How the time of ImageInput divides between its stages.
#pragma once

#include <cstdint>
#include <vector>

#include "db/db_reader.h"
#include "db/image/image_transform.h"

namespace caffe2 {

// Seconds that this thread needed.
struct ImageStageSeconds {
  double parse = 0;  // finds the image in a record
  double decode =
      0;  // turns the part of a file that a crop needs into pixels, perhaps reduced ones
  double resize = 0;  // scales them
  double write = 0;   // mirrors and normalises the crop, and turns it into its type
};

// Runs these stages for records as ImageInput does, one after another. Not thread-safe.
class ImageStages {
 public:
  // The crops are float images in NHWC.
  ImageStages(int crop, int scale);

  // Adds the seconds of one record. Throws EnforceNotMet for a record that is damaged or has
  // anything but one image (a file or bytes) and one label.
  void Add(const db::Record& record);
  const ImageStageSeconds& seconds() const { return seconds_; }

 private:
  void AddImage(db::ImageSource<uint8_t>* image, uint64_t seed);

  const db::ImageTransform transform_, write_;  // all steps; the last one alone
  std::vector<uint8_t> pixels_;                 // of a crop
  std::vector<float> output_;
  ImageStageSeconds seconds_;
};

}  // namespace caffe2
