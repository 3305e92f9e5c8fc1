// Makes a database from the IDX files of MNIST.
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "db/idx_file.h"
#include "db/record_writer.h"

DEFINE_string(image_file, "", "IDX file of the images (required), plain or gzip-compressed");
DEFINE_string(label_file, "", "IDX file of the labels (required), plain or gzip-compressed");
DEFINE_string(output_file, "", "path of the database to make (required)");
DEFINE_string(db, "lmdb", "type of the database: lmdb, leveldb or minidb");
DEFINE_string(format, "datum",
              "type of records: datum (Caffe, for ImageInput) or tensorprotos (Caffe2, for "
              "TensorProtosDBInput)");
DEFINE_bool(channel_first, true, "images in TensorProtos are 1x28x28; otherwise 28x28x1");
DEFINE_int32(data_limit, -1, "number of images to use; -1: all");

namespace caffe2 {
namespace {

int Run() {
  CheckUsage(!FLAGS_image_file.empty() && !FLAGS_label_file.empty() && !FLAGS_output_file.empty(),
             "--image_file, --label_file and --output_file are needed");
  CheckUsage(FLAGS_format == "datum" || FLAGS_format == "tensorprotos", "--format is \"",
             FLAGS_format, "\", must be datum or tensorprotos");
  const db::IdxFile images = db::ReadIdxFile(FLAGS_image_file);
  const db::IdxFile labels = db::ReadIdxFile(FLAGS_label_file);
  CAFFE_ENFORCE(images.dims.size() == 3, FLAGS_image_file,
                " must have 3 dimensions to hold images, found ", images.dims.size());
  CAFFE_ENFORCE(labels.dims.size() == 1, FLAGS_label_file,
                " must have 1 dimension to hold labels, found ", labels.dims.size());
  CAFFE_ENFORCE(images.dims[0] == labels.dims[0], FLAGS_image_file, " has ", images.dims[0],
                " images, but ", FLAGS_label_file, " has ", labels.dims[0], " labels");
  const int64_t count =
      FLAGS_data_limit < 0 ? images.dims[0] : std::min<int64_t>(images.dims[0], FLAGS_data_limit);
  const int rows = static_cast<int>(images.dims[1]), columns = static_cast<int>(images.dims[2]);

  db::RecordWriter writer(FLAGS_db, FLAGS_output_file);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t bytes = int64_t{rows} * columns;
    const std::string_view pixels(images.data.data() + i * bytes, bytes);
    const int label = static_cast<unsigned char>(labels.data[i]);
    if (FLAGS_format == "datum") {
      writer.Add(db::MakeDatum(1, rows, columns, pixels, label));
    } else if (FLAGS_channel_first) {
      writer.Add(db::MakeTensorProtos(1, rows, columns, pixels, label));
    } else {
      writer.Add(db::MakeTensorProtos(rows, columns, 1, pixels, label));
    }
  }
  writer.Finish();
  std::printf("%lld records in %s (%s)\n", static_cast<long long>(writer.num_records()),
              FLAGS_output_file.c_str(), FLAGS_db.c_str());
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Makes a database from the IDX files of MNIST.",
                            caffe2::Run);
}
