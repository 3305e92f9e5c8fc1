#include "db/image/image_codec.h"

#include <dlfcn.h>

#include <cctype>
#include <cstdlib>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "caffe2/core/logging.h"
#include "db/image/image_file_codec.h"
#include "db/image/image_limits.h"
#include "db/image/jpeg.h"
#include "db/image/opencv_mat.h"

namespace caffe2::db {
namespace {

bool BeginsWith(std::string_view bytes, std::string_view begin) {
  return bytes.substr(0, begin.size()) == begin;
}

// True for PNG, WebP, BMP, TIFF and the plain PNM formats (P1 to P6). OpenCV knows more formats
// (OpenEXR, DICOM, JPEG 2000, ...), but some of their decoders take gigabytes for a file of 50
// bytes, and no data set of photographs uses them.
bool IsImageFile(std::string_view bytes) {
  using std::string_view_literals::operator""sv;
  for (const auto begin : {"\x89PNG\r\n\x1a\n"sv, "BM"sv, "II*\0"sv, "MM\0*"sv}) {
    if (BeginsWith(bytes, begin)) return true;
  }
  if (BeginsWith(bytes, "RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP") return true;
  return bytes.size() >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
         std::isspace(static_cast<unsigned char>(bytes[2]));
}

// The height and width that a PNG file says; {0, 0} for other files.
std::pair<int64_t, int64_t> SizeOfPng(std::string_view bytes) {
  constexpr std::string_view kBegin("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  if (!BeginsWith(bytes, kBegin) || bytes.size() < 24) return {0, 0};
  const auto number = [&](size_t at) {
    int64_t value = 0;
    for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  };
  return {number(20), number(16)};
}

// The library stays loaded for the life of the process. Without it: null, and the reason in
// *problem.
const ImageFileCodec* LoadFileCodec(std::string* problem) {
  // OpenCV reads it while it is loaded. A value that the user has set counts.
  setenv("OPENCV_IO_MAX_IMAGE_PIXELS", std::to_string(GetImageLimits().max_pixels).c_str(), 0);
  void* library = dlopen(kImageFileCodecLibrary, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != nullptr ? dlsym(library, "caffe2_image_file_codec") : nullptr;
  if (symbol != nullptr) return static_cast<const ImageFileCodec*>(symbol);
  const char* error = dlerror();
  const std::string text = error ? error : "";
  const std::string missing =
      std::string(kImageFileCodecLibrary) + ": cannot open shared object file: No such file";
  if (text.find(missing) == std::string::npos) {
    *problem = MakeString("cannot load ", kImageFileCodecLibrary, ": ", text);
  }
  return nullptr;
}

// Null, with the reason in *problem, if the library cannot be loaded; "": it is not installed.
const ImageFileCodec* FindFileCodec(std::string* problem) {
  static std::string found_problem;
  static const ImageFileCodec* codec = LoadFileCodec(&found_problem);
  *problem = found_problem;
  return codec;
}

// `without` tells what happens if the library is not installed.
const ImageFileCodec& FileCodec(const char* without) {
  std::string problem;
  const ImageFileCodec* codec = FindFileCodec(&problem);
  if (codec == nullptr && problem.empty()) throw IoError(without);
  if (codec == nullptr) {
    throw IoError("cannot decode or encode image files: " + problem);
  }
  return *codec;
}

}  // namespace

std::string OtherFormatsProblem() {
  std::string problem;
  const bool found = FindFileCodec(&problem) != nullptr;
  return found || !problem.empty() ? problem
                                   : MakeString(kImageFileCodecLibrary, " is not installed");
}

Image<uint8_t> DecodeImage(std::string_view bytes, bool color) {
  CAFFE_ENFORCE(!bytes.empty(), "the encoded image is empty");
  if (IsJpeg(bytes)) return DecodeJpeg(bytes, color);
  CAFFE_ENFORCE(IsImageFile(bytes), "the image of ", bytes.size(),
                " bytes is not a JPEG, PNG, WebP, BMP, TIFF or PNM file");
  const auto [height, width] = SizeOfPng(bytes);
  CheckImageSize(height, width);
  return FileCodec("this installation reads only JPEG files: convert it, or install the .deb")
      .decode(bytes, color);
}

std::unique_ptr<ImageSource<uint8_t>> OpenImage(std::string_view bytes, bool color) {
  if (IsJpeg(bytes)) return OpenJpeg(bytes, color);
  return std::make_unique<DecodedImage>(DecodeImage(bytes, color));
}

template <typename Pixel>
Image<Pixel> ResizeImage(const ImageView<Pixel>& source, int height, int width) {
  CAFFE_ENFORCE(height > 0 && width > 0, "cannot resize an image to ", height, "x", width);
  cv::Mat resized;
  try {
    cv::resize(ToMat(source), resized, cv::Size(width, height), 0, 0, cv::INTER_AREA);
  } catch (const cv::Exception& error) {
    CAFFE_THROW("cannot resize an image of ", source.height, "x", source.width, " to ", height, "x",
                width, ": ", error.err);
  }
  return FromMat<Pixel>(std::move(resized));
}

template <typename Pixel>
Image<Pixel> ToGray(const ImageView<Pixel>& source) {
  CAFFE_ENFORCE(source.channels == 3,
                "only an image of 3 channels can be converted to gray, found ", source.channels,
                " channels");
  cv::Mat gray;
  cv::cvtColor(ToMat(source), gray, cv::COLOR_BGR2GRAY);
  return FromMat<Pixel>(std::move(gray));
}

template Image<uint8_t> ResizeImage(const ImageView<uint8_t>&, int, int);
template Image<float> ResizeImage(const ImageView<float>&, int, int);
template Image<uint8_t> ToGray(const ImageView<uint8_t>&);
template Image<float> ToGray(const ImageView<float>&);

std::string EncodeImage(const ImageView<uint8_t>& source, const std::string& extension) {
  if (extension == ".jpg" || extension == ".jpeg") return EncodeJpeg(source);
  return FileCodec("this installation writes only JPEG files: install the .deb")
      .encode(source, extension);
}

}  // namespace caffe2::db
