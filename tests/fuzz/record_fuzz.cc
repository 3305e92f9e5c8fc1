// Datum and TensorProtos records. Protobuf is the reference.
#include "caffe2/proto/caffe_datum.pb.h"
#include "db/record.h"
#include "tests/fuzz/fuzz_target.h"

namespace caffe2::testing {

FUZZ_TARGET(Datum, "datum", 5000) {
  db::DetectRecordKind(bytes);
  db::DatumView view;
  const db::ParseResult result = db::ParseDatum(bytes, &view);
  caffe::Datum datum;
  const bool parses = datum.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (result != db::ParseResult::kOk || !parses) return;
  CHECK_EQ(view.channels, datum.channels());
  CHECK_EQ(view.height, datum.height());
  CHECK_EQ(view.width, datum.width());
  CHECK_EQ(view.label, datum.label());
  CHECK_EQ(view.encoded, datum.encoded());
  CHECK(view.data == datum.data());
  CHECK_EQ(view.float_data.size(), static_cast<size_t>(datum.float_data_size()));
}

FUZZ_TARGET(TensorProtos, "tensor_protos", 5000) {
  db::DetectRecordKind(bytes);
  db::TensorView views[2];
  const db::ParseResult result = db::ParseTensorProtos(bytes, views, 2);
  TensorProtos protos;
  const bool parses = protos.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (result != db::ParseResult::kOk || !parses) return;
  CHECK_EQ(protos.protos_size(), 2);
  for (int i = 0; i < 2; ++i) {
    const TensorProto& proto = protos.protos(i);
    CHECK_EQ(views[i].num_dims, proto.dims_size());
    for (int d = 0; d < proto.dims_size(); ++d) CHECK_EQ(views[i].dims[d], proto.dims(d));
    CHECK(views[i].byte_data == proto.byte_data());
    std::vector<int32_t> values(static_cast<size_t>(proto.int32_data_size()));
    if (db::UnpackInt32(views[i].int32_data, proto.int32_data_size(), values.data())) {
      CHECK(std::equal(values.begin(), values.end(), proto.int32_data().begin()));
    }
  }
}

}  // namespace caffe2::testing
