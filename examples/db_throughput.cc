// Measures how fast a database is read and its images are decoded.
#include <gflags/gflags.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "caffe2/core/operator.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/core/workspace.h"
#include "caffe2/utils/program.h"
#include "db/db_reader.h"
#include "db/record.h"
#include "examples/db_throughput/image_stages.h"

DEFINE_string(input_db, "", "path of the database (required)");
DEFINE_string(input_db_type, "lmdb", "type of the database: lmdb, leveldb or minidb");
DEFINE_int32(batch_size, 64, "records in a batch");
DEFINE_int32(report_interval, 1000, "number of batches in one measurement");
DEFINE_int32(repeat, 5, "number of measurements");
DEFINE_bool(shuffle, false, "read in random order");
DEFINE_bool(images, false,
            "measure ImageInput and each of its stages: read, parse, decode, resize, write");
DEFINE_int32(image_size, 224, "with --images: height and width of a crop");
DEFINE_int32(image_scale, 256, "with --images: the shorter side before the crop; 0: the image's");
DEFINE_int32(decode_threads, 1, "with --images: threads that decode, for ImageInput");

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

// How long one thread needs for each stage of ImageInput.
void MeasureStages(db::DBReader* reader) {
  ImageStages stages(FLAGS_image_size, FLAGS_image_scale > 0 ? FLAGS_image_scale : -1);
  double read = 0;
  db::RecordBatch batch;
  for (int i = 0; i < FLAGS_repeat * FLAGS_report_interval; ++i) {
    const auto begin = Clock::now();
    reader->ReadBatch(FLAGS_batch_size, &batch);
    read += std::chrono::duration<double>(Clock::now() - begin).count();
    for (const db::Record& record : batch.records) stages.Add(record);
  }
  const ImageStageSeconds& seconds = stages.seconds();
  const double sum = read + seconds.parse + seconds.decode + seconds.resize + seconds.write;
  const double records = 1.0 * FLAGS_repeat * FLAGS_report_interval * FLAGS_batch_size;
  std::printf("time of one thread for a record:\n");
  for (const auto& [name, value] :
       {std::pair("read", read), std::pair("parse", seconds.parse),
        std::pair("decode", seconds.decode), std::pair("resize", seconds.resize),
        std::pair("write", seconds.write)}) {
    std::printf("%-20s %12.1f us %10.1f %%\n", name, 1e6 * value / records, 100 * value / sum);
  }
}

void MeasureImages(std::unique_ptr<db::DBReader> reader, const db::RecordBatch& batch) {
  CheckUsage(FLAGS_image_size > 0, "--image_size must be positive, found ", FLAGS_image_size);
  CheckUsage(FLAGS_decode_threads > 0, "--decode_threads must be positive, found ",
             FLAGS_decode_threads);
  try {
    MeasureStages(reader.get());
  } catch (const Error& error) {
    std::printf("the stages are not measured: %s\n", error.what());
  }
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
  CheckUsage(FLAGS_batch_size > 0, "--batch_size must be positive, found ", FLAGS_batch_size);
  CheckUsage(FLAGS_report_interval > 0, "--report_interval must be positive, found ",
             FLAGS_report_interval);
  CheckUsage(FLAGS_repeat > 0, "--repeat must be positive, found ", FLAGS_repeat);
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
