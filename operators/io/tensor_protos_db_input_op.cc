// TensorProtosDBInput: batches of TensorProtos records.
#include <cstring>
#include <vector>

#include "caffe2/core/blob_serialization.h"
#include "db/record.h"
#include "operators/io/db_input_op.h"

namespace caffe2 {
namespace {

constexpr int kRecordsAtOnce = 64;

// Copies the elements of a view to `output`. Returns false unless it holds `n` elements of this
// type.
bool CopyElements(const db::TensorView& view, int64_t n, TypeMeta meta, void* output) {
  const auto copy = [&](std::string_view bytes) {
    if (bytes.size() != static_cast<size_t>(n) * meta.itemsize()) return false;
    std::memcpy(output, bytes.data(), bytes.size());
    return true;
  };
  switch (view.data_type) {
    case TensorProto::BYTE:
    case TensorProto::UINT8:
      return copy(view.byte_data);
    case TensorProto::FLOAT:
      return view.byte_data.empty() && copy(view.float_data);
    case TensorProto::INT32:
      return view.byte_data.empty() &&
             db::UnpackInt32(view.int32_data, n, static_cast<int32_t*>(output));
    case TensorProto::STRING:
      if (!view.has_string || n != 1) return false;
      static_cast<std::string*>(output)->assign(view.string_data);
      return true;
    default:
      return false;
  }
}

// Decodes TensorProtos records, one output for each tensor of a record. Outputs are [batch_size,
// dims...], or with batch_size 0 one record with its own dims.
class TensorProtosDecoder {
 public:
  TensorProtosDecoder(int num_outputs, int batch_size, int64_t max_bad_records)
      : num_outputs_(num_outputs), batch_size_(batch_size), max_bad_records_(max_bad_records) {
    CAFFE_ENFORCE(batch_size_ >= 0, "argument batch_size must not be negative, found ",
                  batch_size_);
  }
  void Prepare(db::InputBatch* batch) const;
  void Decode(db::InputBatch* batch, int item) const;

 private:
  void DecodeUnusual(db::InputBatch* batch, int item) const;
  // False if this needs DecodeUnusual.
  bool DecodePlain(db::InputBatch* batch, int item) const;
  TensorProtos Parse(const std::string& record) const;

  const int num_outputs_;
  const int batch_size_;
  const int64_t max_bad_records_;
};

TensorProtos TensorProtosDecoder::Parse(const std::string& record) const {
  TensorProtos protos;
  if (!protos.ParseFromString(record) || protos.protos_size() == 0) {
    const bool datum = db::DetectRecordKind(record) == db::RecordKind::kDatum;
    CAFFE_THROW("the record is not a TensorProtos",
                datum ? "; it looks like a caffe Datum: read it with ImageInput" : "");
  }
  CAFFE_ENFORCE(protos.protos_size() == num_outputs_,
                "a record must have one tensor for each of the ", num_outputs_, " outputs, found ",
                protos.protos_size());
  return protos;
}

// The first record that is whole; the first of all if none is. Decoding names the records before.
const db::Record& FirstWhole(const db::InputBatch& batch) {
  for (const db::Record& record : batch.source.records) {
    TensorProtos protos;
    if (protos.ParseFromString(record.value) && protos.protos_size() > 0) return record;
  }
  return batch.source.records[0];
}

void TensorProtosDecoder::Prepare(db::InputBatch* batch) const {
  const db::Record& first = max_bad_records_ > 0 ? FirstWhole(*batch) : batch->source.records[0];
  try {
    const TensorProtos protos = Parse(first.value);
    if (batch->outputs.empty()) batch->outputs.resize(num_outputs_);
    for (int i = 0; i < num_outputs_; ++i) {
      const TensorProto& proto = protos.protos(i);
      std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
      // A record cannot hold more elements than bytes. Checked before memory is allocated.
      CAFFE_ENFORCE(CheckedNumel(dims) <= static_cast<int64_t>(first.value.size()), "tensor ", i,
                    " has ", CheckedNumel(dims), " elements, more than its record has bytes (",
                    first.value.size(), ")");
      if (batch_size_ > 0) dims.insert(dims.begin(), batch_size_);
      const TypeMeta meta = DataTypeToTypeMeta(proto.data_type());
      CAFFE_ENFORCE(meta, "tensor ", i, " has data type ", proto.data_type(),
                    ", which is not supported");
      batch->outputs[i].Resize(dims);
      batch->outputs[i].raw_mutable_data(meta);
    }
  } catch (Error& error) {
    error.AddContext("record \"" + first.key + "\"");
    throw;
  }
}

void TensorProtosDecoder::Decode(db::InputBatch* batch, int item) const {
  if (!DecodePlain(batch, item)) DecodeUnusual(batch, item);
}

bool TensorProtosDecoder::DecodePlain(db::InputBatch* batch, int item) const {
  constexpr int kMaxOutputs = 8;
  if (num_outputs_ > kMaxOutputs) return false;
  db::TensorView views[kMaxOutputs];
  const std::string& record = batch->source.records[item].value;
  if (db::ParseTensorProtos(record, views, num_outputs_) != db::ParseResult::kOk) return false;
  const int batch_dims = batch_size_ > 0 ? 1 : 0;
  for (int i = 0; i < num_outputs_; ++i) {
    Tensor& output = batch->outputs[i];
    const db::TensorView& view = views[i];
    if (DataTypeToTypeMeta(view.data_type) != output.dtype() ||
        view.num_dims + batch_dims != output.dim() ||
        !std::equal(view.dims, view.dims + view.num_dims, output.sizes().begin() + batch_dims)) {
      return false;
    }
    const int64_t n = batch_dims ? output.numel() / batch_size_ : output.numel();
    auto* data = static_cast<char*>(output.raw_mutable_data());
    if (!CopyElements(view, n, output.dtype(), data + item * n * output.itemsize())) return false;
  }
  return true;
}

void TensorProtosDecoder::DecodeUnusual(db::InputBatch* batch, int item) const {
  const TensorProtos protos = Parse(batch->source.records[item].value);
  for (int i = 0; i < num_outputs_; ++i) {
    Tensor& output = batch->outputs[i];
    Tensor one;
    DeserializeTensor(protos.protos(i), &one);
    std::vector<int64_t> dims = one.sizes();
    if (batch_size_ > 0) dims.insert(dims.begin(), batch_size_);
    CAFFE_ENFORCE(one.dtype() == output.dtype() && dims == output.sizes(), "tensor ", i, " is ",
                  one.DebugString(), " where the batch began with ", output.DebugString());
    const int64_t n = one.numel();
    CPUContext().CopyItems(
        one.dtype(), n, one.raw_data(),
        static_cast<char*>(output.raw_mutable_data()) + item * n * output.itemsize());
  }
}

// The pipeline makes no random choices, so the seed is not used.
std::unique_ptr<db::BatchPipeline> MakeTensorProtosPipeline(const OperatorBase& op,
                                                            uint64_t /*seed*/,
                                                            db::BatchUploader* uploader) {
  const int batch_size = op.GetSingleArgument<int>("batch_size", 0);
  db::BatchPipeline::Options options;
  options.max_bad_records = op.GetSingleArgument<int64_t>("max_bad_records", 0);
  const auto decoder =
      std::make_shared<TensorProtosDecoder>(op.OutputSize(), batch_size, options.max_bad_records);
  options.batch_size = batch_size == 0 ? 1 : batch_size;
  options.items_at_once = kRecordsAtOnce;
  return std::make_unique<db::BatchPipeline>(
      options, [decoder](db::InputBatch* batch) { decoder->Prepare(batch); },
      [decoder](db::InputBatch* batch, int item) { decoder->Decode(batch, item); }, uploader);
}

}  // namespace

REGISTER_INPUT_PIPELINE(TensorProtosDBInput, MakeTensorProtosPipeline);
REGISTER_CPU_OPERATOR(TensorProtosDBInput, DBInputOp<CPUContext>);

OPERATOR_SCHEMA(TensorProtosDBInput)
    .NumInputs(1)
    .NonTensorInputs({0})
    .NumOutputs([](int n) { return n > 0; })
    .SetDoc(R"DOC(
Reads records that are serialized TensorProtos, one output for each tensor of a record. Records
are read ahead of their use by a thread of its own. On a CUDA device batches are copied there on a
stream of their own while the net works on earlier ones; text stays on the host.
)DOC")
    .Arg<int>("batch_size",
              "(>= 0, default 0) Records in a batch. Output i is [batch_size, dims...], where dims "
              "are the "
              "dimensions of tensor i in the record. With 0 one record is read, and "
              "the outputs have its dimensions.")
    .Arg<int>("max_bad_records",
              "(>= 0, default 0) Different records that may be damaged: each is logged with its "
              "key, and its place "
              "in the batch gets a copy of the record before it (db/batch_pipeline.h). "
              "Not in Caffe2.")
    .Input(0, "reader", "The reader made by CreateDB.")
    .Output(0, "tensors", "The tensors of the records, an output for each.");

NO_GRADIENT(TensorProtosDBInput);

}  // namespace caffe2
