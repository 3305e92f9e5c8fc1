// Makes a database from image files and a list of their labels.
#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "caffe2/core/cpu_cores.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/random.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/proto/caffe2.pb.h"
#include "caffe2/utils/program.h"
#include "caffe2/utils/thread_loop.h"
#include "db/image/image_codec.h"
#include "db/image/image_record.h"
#include "db/random_access_file.h"
#include "db/record_writer.h"

DEFINE_string(input_folder, "", "folder of the paths in the list");
DEFINE_string(list_file, "", "text file with lines \"path label\" (required)");
DEFINE_string(output_db_name, "", "path of the database to make (required)");
DEFINE_string(db, "lmdb", "type of the database: lmdb, leveldb or minidb");
DEFINE_string(format, "tensorprotos", "type of records: tensorprotos (Caffe2) or datum (Caffe)");
DEFINE_bool(raw, false,
            "store pixels; otherwise store the files as they are, or as JPEG if they are rescaled");
DEFINE_double(
    raw_share, 0,
    "store this share of the images, from 0 to 1, as pixels, spread evenly over the list; "
    "the rest as without --raw");
DEFINE_bool(color, true, "store 3 channels; otherwise 1");
DEFINE_int32(scale, 0, "rescale the shorter side to this length; 0 keeps the size");
DEFINE_bool(warp, false, "rescale both sides to that length");
DEFINE_bool(shuffle, false, "store the images in random order");
DEFINE_int64(seed, 0, "seed of the random order");
DEFINE_int32(threads, 0, "threads that read and convert images; 0: one for each core");

namespace caffe2 {
namespace {

constexpr size_t kImagesAtOnce = 16;  // in memory, for each thread

struct Entry {
  std::string path;
  int label;
};

std::vector<Entry> ReadList() {
  if (std::filesystem::is_directory(FLAGS_list_file)) {
    ThrowIoError(ExitCode::kNoInput, "--list_file ", FLAGS_list_file,
                 " is a folder: name a text file with lines \"path label\"");
  }
  std::ifstream file(FLAGS_list_file);
  if (!file) ThrowIoError(ExitCode::kNoInput, "cannot open ", FLAGS_list_file);
  std::vector<Entry> entries;
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    // The label is the last word; paths may contain blanks.
    const size_t end = line.find_last_not_of(" \t\r") + 1;
    const size_t blank = line.find_last_of(" \t", end - 1);
    int label = 0, length = 0;
    const bool good = blank != std::string::npos &&
                      std::sscanf(line.c_str() + blank, "%d%n", &label, &length) == 1 &&
                      blank + static_cast<size_t>(length) == end;
    CAFFE_ENFORCE(good, FLAGS_list_file, " line ", number, ": \"", ShownText(line),
                  "\" is not \"path label\"");
    entries.push_back({line.substr(0, line.find_last_not_of(" \t", blank) + 1), label});
  }
  CAFFE_ENFORCE(!entries.empty(), FLAGS_list_file, " lists no image");
  if (FLAGS_shuffle) {
    RandomGenerator random(static_cast<uint64_t>(FLAGS_seed));
    for (size_t i = entries.size() - 1; i > 0; --i) {
      std::swap(entries[i], entries[random.UniformInt(i + 1)]);
    }
  }
  return entries;
}

std::string ReadWhole(const std::string& path) {
  db::RandomAccessFile file(path);
  std::string bytes(file.size(), '\0');
  file.ReadAt(0, bytes.data(), bytes.size());
  return bytes;
}

// The pixels in row, column, channel order, or channel, row, column order.
std::string PixelsOf(const db::ImageView<uint8_t>& view, bool channels_first) {
  std::string pixels;
  pixels.reserve(size_t{1} * view.height * view.width * view.channels);
  const int outer = channels_first ? view.channels : 1, inner = channels_first ? 1 : view.channels;
  for (int c = 0; c < outer; ++c) {
    for (int y = 0; y < view.height; ++y) {
      for (int x = 0; x < view.width; ++x) {
        for (int k = 0; k < inner; ++k) pixels.push_back(static_cast<char>(*view.At(y, x, c + k)));
      }
    }
  }
  return pixels;
}

std::string EncodedRecord(const std::string& file, int label) {
  if (FLAGS_format == "datum") return db::MakeEncodedDatum(file, label);
  TensorProtos protos;
  TensorProto* image = protos.add_protos();
  image->set_data_type(TensorProto::STRING);
  image->add_dims(1);
  image->add_string_data(file);
  TensorProto* label_proto = protos.add_protos();
  label_proto->set_data_type(TensorProto::INT32);
  label_proto->add_int32_data(label);
  return protos.SerializeAsString();
}

// Whether image i is stored as pixels: the first n images then have n * --raw_share of them,
// rounded.
bool StoresPixels(size_t i) {
  const auto count = [](size_t n) {
    return std::llround(static_cast<double>(n) * FLAGS_raw_share);
  };
  return FLAGS_raw || count(i + 1) > count(i);
}

std::string MakeRecord(const Entry& entry, bool raw) {
  const std::string path = (std::filesystem::path(FLAGS_input_folder) / entry.path).string();
  const std::string file = ReadWhole(path);
  try {
    // Always decoded, so that a damaged file is found now and not in training.
    const auto image = db::Rescale(db::DecodeImage(file, FLAGS_color), FLAGS_scale, FLAGS_warp);
    if (!raw) {
      const bool as_it_is = FLAGS_scale == 0 && FLAGS_color;
      const std::string encoded = as_it_is ? file : db::EncodeImage(image.view, ".jpg");
      return EncodedRecord(encoded, entry.label);
    }
    const bool datum = FLAGS_format == "datum";
    const std::string pixels = PixelsOf(image.view, datum);
    const int height = image.view.height, width = image.view.width, channels = image.view.channels;
    return datum ? db::MakeDatum(channels, height, width, pixels, entry.label)
                 : db::MakeTensorProtos(height, width, channels, pixels, entry.label);
  } catch (Error& error) {
    error.AddContext(path);
    throw;
  }
}

// The records of entries [begin, end), in order. Throws the error of the first bad entry.
std::vector<std::string> MakeRecords(const std::vector<Entry>& entries, size_t begin, size_t end,
                                     int num_threads) {
  std::vector<std::string> records(end - begin);
  ForEachOnThreads(begin, end, num_threads, [&](size_t i, int) {
    records[i - begin] = MakeRecord(entries[i], StoresPixels(i));
  });
  return records;
}

int Run() {
  CheckUsage(!FLAGS_list_file.empty() && !FLAGS_output_db_name.empty(),
             "--list_file and --output_db_name are needed");
  CheckUsage(FLAGS_format == "datum" || FLAGS_format == "tensorprotos", "--format is \"",
             FLAGS_format, "\", must be datum or tensorprotos");
  CheckUsage(FLAGS_raw_share >= 0 && FLAGS_raw_share <= 1, "--raw_share is ", FLAGS_raw_share,
             ", must be from 0 to 1");
  CheckUsage(!FLAGS_raw || FLAGS_raw_share == 0,
             "--raw stores all images as pixels, so --raw_share cannot be given with it");
  CheckUsage(FLAGS_scale >= 0 && FLAGS_scale <= 1 << 16, "--scale is ", FLAGS_scale,
             ", must be from 0 to 65536");
  CheckUsage(FLAGS_threads >= 0 && FLAGS_threads <= 1024, "--threads is ", FLAGS_threads,
             ", must be from 0 to 1024");
  const int threads = FLAGS_threads > 0 ? FLAGS_threads : AvailableCores();
  const std::vector<Entry> entries = ReadList();
  db::RecordWriter writer(FLAGS_db, FLAGS_output_db_name);
  const size_t step = kImagesAtOnce * static_cast<size_t>(threads);
  for (size_t begin = 0; begin < entries.size(); begin += step) {
    const size_t end = std::min(entries.size(), begin + step);
    const std::vector<std::string> records = MakeRecords(entries, begin, end, threads);
    for (size_t i = begin; i < end; ++i) {
      char key[32];
      std::snprintf(key, sizeof(key), "%08zu_", i);
      writer.Add(key + entries[i].path, records[i - begin]);
    }
  }
  writer.Finish();
  std::printf("%lld records in %s\n", static_cast<long long>(writer.num_records()),
              FLAGS_output_db_name.c_str());
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(
      &argc, &argv, "Makes a database from image files and a list of their labels.", caffe2::Run);
}
