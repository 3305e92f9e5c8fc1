// Measures how fast a database is read.
#include <gflags/gflags.h>

#include <chrono>
#include <cstdio>

#include "caffe2/core/operator.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/core/workspace.h"
#include "caffe2/utils/program.h"
#include "db/db_reader.h"
#include "db/record.h"

DEFINE_string(input_db, "", "Path of the database.");
DEFINE_string(input_db_type, "lmdb", "Type of the database: lmdb, leveldb or minidb.");
DEFINE_int32(batch_size, 64, "Records in a batch.");
DEFINE_int32(report_interval, 1000, "Number of batches in one measurement.");
DEFINE_int32(repeat, 5, "Number of measurements.");
DEFINE_bool(shuffle, false, "Read in random order.");

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
  Measure("TensorProtosDBInput", [&] { CAFFE_ENFORCE(input->Run()); });
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Measures how fast a database is read.", caffe2::Run);
}
