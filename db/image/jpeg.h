// Decodes and encodes JPEG files with libjpeg-turbo.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "db/image/image_source.h"

namespace caffe2::db {

// True if the bytes begin like a JPEG file.
bool IsJpeg(std::string_view bytes);

// Decodes a JPEG file to 3 channels (blue, green, red) or 1, with the same pixels as OpenCV.
// Applies the EXIF orientation and converts CMYK. Throws EnforceNotMet with libjpeg's message if
// the file is cut short, is damaged where the decoder can tell, or exceeds GetImageLimits(). Some
// encoders leave up to 16 bytes of padding before the end marker; that is not an error.
Image<uint8_t> DecodeJpeg(std::string_view bytes, bool color);

// What the header of a JPEG file says, for decoders other than this one.
struct JpegHeader {
  int height = 0, width = 0;  // of the pixels in the file
  int orientation = 1;        // EXIF, from 1 (upright) to 8
  // Why such a decoder must not be asked, to be put after "because": it may give other colours, or
  // know neither the limits nor what is missing. Null for a whole file of one scan in gray or
  // YCbCr.
  const char* obstacle = nullptr;
};
// Throws EnforceNotMet as DecodeJpeg if the header is damaged, or the image too large.
JpegHeader ReadJpegHeader(std::string_view bytes);

// Reads the header of a JPEG file; the bytes must outlive the source. Reading a part decodes only
// its rows and the blocks of its columns. The pixels equal the pixels of DecodeJpeg. With a
// reduction, libjpeg transforms each block to fewer pixels. Files that are rotated by EXIF or have
// four inks are decoded whole. Throws as DecodeJpeg; damage in pixels that are not read goes
// unnoticed, unless the file is cut short.
std::unique_ptr<ImageSource<uint8_t>> OpenJpeg(std::string_view bytes, bool color);

// True if such a source reads the Huffman codes of most files with HuffmanScan; false with a
// version of libjpeg in which its function cannot be replaced.
bool UsesHuffmanScan();

// A JPEG file of quality 95, with the same pixels as OpenCV's, of an image of 3 channels (blue,
// green, red) or 1. Throws EnforceNotMet for another number of channels, and with libjpeg's message
// for an image without pixels or with a side of more than 65500.
std::string EncodeJpeg(const ImageView<uint8_t>& source);

}  // namespace caffe2::db
