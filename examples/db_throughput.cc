// Measures how fast a database is read and its images are decoded.
#include <gflags/gflags.h>

#include <chrono>
#include <cstdio>

#include "caffe2/core/operator.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/core/workspace.h"
#include "caffe2/utils/program.h"
#include "db/db_reader.h"
#include "db/image/image_codec.h"
#include "db/image/image_transform.h"
#include "db/record.h"

DEFINE_string(input_db, "", "Path of the database.");
DEFINE_string(input_db_type, "lmdb", "Type of the database: lmdb, leveldb or minidb.");
DEFINE_int32(batch_size, 64, "Records in a batch.");
DEFINE_int32(report_interval, 1000, "Number of batches in one measurement.");
DEFINE_int32(repeat, 5, "Number of measurements.");
DEFINE_bool(shuffle, false, "Read in random order.");
DEFINE_bool(images, false,
            "Measure the stages of ImageInput: reading, decoding whole images, decoding and "
            "normalising crops, and all together.");
DEFINE_int32(image_size, 224, "With --images: height and width of a crop.");
DEFINE_int32(image_scale, 256, "With --images: the shorter side before the crop; 0: the image's.");
DEFINE_int32(decode_threads, 1, "With --images: threads that decode, in the last stage.");

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

// Measures `repeat` times; each time calls body `report_interval` times and prints records/s.
template <typename Body>
void Measure(const char* name, const Body& body) {
  for (int i = 0; i < FLAGS_repeat; ++i) {
    const auto begin = Clock::now();
    for (int batch = 0; batch < FLAGS_report_interval; ++batch) body();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::printf("%-20s %12.0f records/s\n", name,
                static_cast<double>(FLAGS_report_interval) * FLAGS_batch_size / seconds);
  }
}

// The encoded image or the bytes of a record.
bool FindEncodedImage(const std::string& record, std::string* bytes) {
  TensorProtos protos;
  if (db::DetectRecordKind(record) == db::RecordKind::kTensorProtos) {
    CAFFE_ENFORCE(protos.ParseFromString(record) && protos.protos_size() > 0,
                  "a record must be a TensorProtos with at least one tensor");
    if (protos.protos(0).string_data_size() != 1) return false;
    *bytes = protos.protos(0).string_data(0);
    return true;
  }
  db::DatumView datum;
  CAFFE_ENFORCE(db::ParseDatum(record, &datum) == db::ParseResult::kOk, "a record must be a Datum");
  *bytes = std::string(datum.data);
  return datum.encoded;
}

// Decodes the images of a batch, whole and as crops. Nothing for records of raw pixels.
void MeasureDecoding(const db::RecordBatch& batch) {
  std::vector<std::string> images;
  for (const db::Record& record : batch.records) {
    std::string bytes;
    if (FindEncodedImage(record.value, &bytes)) images.push_back(std::move(bytes));
  }
  if (images.size() != batch.records.size()) return;
  db::ImageTransformOptions options;
  options.crop = FLAGS_image_size;
  options.scale = FLAGS_image_scale > 0 ? FLAGS_image_scale : -1;
  const db::ImageTransform transform(options);
  std::vector<float> crop(size_t{3} * FLAGS_image_size * FLAGS_image_size);
  Measure("decode whole images", [&] {
    for (const std::string& image : images) db::DecodeImage(image, true);
  });
  Measure("decode a crop", [&] {
    for (size_t i = 0; i < images.size(); ++i) {
      transform.Apply(db::OpenImage(images[i], true).get(), {}, i, crop.data());
    }
  });
}

void MeasureImages(std::unique_ptr<db::DBReader> reader, const db::RecordBatch& batch) {
  CheckUsage(FLAGS_image_size > 0 && FLAGS_decode_threads > 0,
             "--image_size and --decode_threads must be positive");
  MeasureDecoding(batch);
  const bool datum = db::DetectRecordKind(batch.records[0].value) == db::RecordKind::kDatum;
  Workspace ws;
  *ws.CreateBlob("reader")->GetMutable<std::unique_ptr<db::DBReader>>() = std::move(reader);
  OperatorDef def;
  def.set_type("ImageInput");
  def.add_input("reader");
  def.add_output("data");
  def.add_output("label");
  SetArgument(&def, "batch_size", FLAGS_batch_size);
  SetArgument(&def, "use_caffe_datum", datum ? 1 : 0);
  SetArgument(&def, "crop", FLAGS_image_size);
  if (FLAGS_image_scale > 0) SetArgument(&def, "scale", FLAGS_image_scale);
  SetArgument(&def, "mirror", 1);
  SetArgument(&def, "decode_threads", FLAGS_decode_threads);
  const auto input = CreateOperator(def, &ws);
  Measure("ImageInput", [&] { CAFFE_ENFORCE(input->Run(), "the input operator failed"); });
}

int Run() {
  CheckUsage(!FLAGS_input_db.empty(), "--input_db is needed");
  CheckUsage(FLAGS_batch_size > 0 && FLAGS_report_interval > 0 && FLAGS_repeat > 0,
             "--batch_size, --report_interval and --repeat must be positive");
  const auto begin = Clock::now();
  auto reader = std::make_unique<db::DBReader>(FLAGS_input_db_type, FLAGS_input_db,
                                               db::DBReaderOptions{.shuffle = FLAGS_shuffle});
  std::printf("%lld records, opened and checked in %.3f s\n",
              static_cast<long long>(reader->NumRecords()),
              std::chrono::duration<double>(Clock::now() - begin).count());
  db::RecordBatch batch;
  Measure("reader", [&] { reader->ReadBatch(FLAGS_batch_size, &batch); });

  if (FLAGS_images) {
    MeasureImages(std::move(reader), batch);
    return 0;
  }
  TensorProtos protos;
  if (db::DetectRecordKind(batch.records[0].value) != db::RecordKind::kTensorProtos ||
      !protos.ParseFromString(batch.records[0].value)) {
    std::printf("the records are not TensorProtos, so TensorProtosDBInput is not measured\n");
    return 0;
  }
  Workspace ws;
  *ws.CreateBlob("reader")->GetMutable<std::unique_ptr<db::DBReader>>() = std::move(reader);
  OperatorDef def;
  def.set_type("TensorProtosDBInput");
  def.add_input("reader");
  for (int i = 0; i < protos.protos_size(); ++i) def.add_output("output_" + std::to_string(i));
  SetArgument(&def, "batch_size", FLAGS_batch_size);
  const auto input = CreateOperator(def, &ws);
  Measure("TensorProtosDBInput", [&] { CAFFE_ENFORCE(input->Run(), "the input operator failed"); });
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv,
                            "Measures how fast a database is read and its images are decoded.",
                            caffe2::Run);
}
