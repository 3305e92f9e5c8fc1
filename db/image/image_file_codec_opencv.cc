// libcaffe2_image_files: decodes and encodes image files with OpenCV.
#include <opencv2/imgcodecs.hpp>

#include "caffe2/core/logging.h"
#include "db/image/image_file_codec.h"
#include "db/image/opencv_mat.h"

namespace caffe2::db {
namespace {

Image<uint8_t> Decode(std::string_view bytes, bool color) {
  const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8U, const_cast<char*>(bytes.data()));
  cv::Mat decoded;
  try {
    decoded = cv::imdecode(encoded, color ? cv::IMREAD_COLOR : cv::IMREAD_GRAYSCALE);
  } catch (const cv::Exception& error) {
    CAFFE_THROW("the image of ", bytes.size(), " bytes cannot be decoded: ", error.err);
  }
  CAFFE_ENFORCE(!decoded.empty(), "the image of ", bytes.size(), " bytes cannot be decoded");
  return FromMat<uint8_t>(std::move(decoded));
}

std::string Encode(const ImageView<uint8_t>& source, const std::string& extension) {
  std::vector<uint8_t> bytes;
  bool done = false;
  try {
    done = cv::imencode(extension, ToMat(source), bytes);
  } catch (const cv::Exception& error) {
    CAFFE_THROW("cannot encode an image as ", extension, ": ", error.err);
  }
  CAFFE_ENFORCE(done, "cannot encode an image as ", extension);
  return {bytes.begin(), bytes.end()};
}

}  // namespace
}  // namespace caffe2::db

extern "C" const caffe2::db::ImageFileCodec caffe2_image_file_codec;
const caffe2::db::ImageFileCodec caffe2_image_file_codec = {caffe2::db::Decode, caffe2::db::Encode};
