// Reading datasets: CreateTreeCursor, ResetCursor, ReadNextBatch, ReadRandomBatch, ComputeOffset,
// SortAndShuffle, CheckDatasetConsistency, TrimDataset.
#include "operators/dataset/dataset_op.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "caffe2/core/blob_serialization.h"
#include "operators/common/cpu_only.h"
#include "operators/common/created_object.h"
#include "operators/common/indices.h"
#include "operators/common/row_copier.h"

namespace caffe2 {
namespace {

using CursorPtr = std::unique_ptr<TreeCursor>;
using Rows = TreeFields::Rows;

class CreateTreeCursorOp final : public Operator<CPUContext> {
 public:
  CreateTreeCursorOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), fields_(GetRepeatedArgument<std::string>("fields")) {}
  bool RunOnDevice() override {
    *Output<CursorPtr>(0) = std::make_unique<TreeCursor>(fields_);
    return true;
  }

 private:
  TreeFields fields_;
};

// Operators whose input 0 is a cursor, and whose inputs from `first` are the columns.
class CursorOp : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;

 protected:
  TreeCursor* Cursor() const {
    return CreatedObject<CursorPtr>(*this, 0, "cursor", "CreateTreeCursor").get();
  }
  std::vector<const Tensor*> Columns(int first) const {
    std::vector<const Tensor*> columns;
    for (int i = first; i < InputSize(); ++i) columns.push_back(&Input(i));
    return columns;
  }
};

class ResetCursorOp final : public CursorOp {
 public:
  using CursorOp::CursorOp;
  bool RunOnDevice() override {
    TreeCursor* cursor = Cursor();
    const std::lock_guard<std::mutex> lock(cursor->mutex);
    cursor->offsets.clear();
    return true;
  }
};

class CheckDatasetConsistencyOp final : public CursorOp {
 public:
  CheckDatasetConsistencyOp(const OperatorDef& def, Workspace* ws)
      : CursorOp(def, ws), fields_(GetRepeatedArgument<std::string>("fields")) {}
  bool RunOnDevice() override {
    fields_.Check(Columns(0));
    return true;
  }

 private:
  TreeFields fields_;
};

class ReadNextBatchOp final : public CursorOp {
 public:
  ReadNextBatchOp(const OperatorDef& def, Workspace* ws)
      : CursorOp(def, ws),
        batch_size_(GetSingleArgument<int64_t>("batch_size", 1)),
        whole_(GetSingleArgument<bool>("enforce_batch_size", false)) {
    CAFFE_ENFORCE(batch_size_ > 0, "argument batch_size must be positive, found ", batch_size_);
  }
  bool RunOnDevice() override {
    TreeCursor* cursor = Cursor();
    const std::vector<const Tensor*> columns = Columns(1);
    const TreeFields& fields = cursor->fields;
    CAFFE_ENFORCE(OutputSize() == fields.size(), "there must be one output for each of the ",
                  fields.size(), " fields, found ", OutputSize());
    const int64_t records = fields.NumRecords(columns);
    Rows begin, counts;
    {
      const std::lock_guard<std::mutex> lock(cursor->mutex);
      if (cursor->offsets.empty()) cursor->offsets.assign(fields.num_levels(), 0);
      CAFFE_ENFORCE(cursor->offsets.size() == static_cast<size_t>(fields.num_levels()),
                    "the cursor has ", cursor->offsets.size(), " offsets for ", fields.num_levels(),
                    " levels, as after ReadRandomBatch: reset it before ReadNextBatch");
      int64_t n = std::min(batch_size_, std::max<int64_t>(0, records - cursor->offsets[0]));
      if (whole_ && n < batch_size_) n = 0;
      begin = cursor->offsets;
      counts = fields.Count(columns, begin, n);
      for (int level = 0; level < fields.num_levels(); ++level) {
        cursor->offsets[level] += counts[level];
      }
    }
    for (int i = 0; i < fields.size(); ++i) {
      CopyRows(*columns[i], begin[fields.level(i)], counts[fields.level(i)], Output(i));
    }
    return true;
  }

 private:
  int64_t batch_size_;
  bool whole_;
};

class ComputeOffsetOp final : public CursorOp {
 public:
  using CursorOp::CursorOp;
  bool RunOnDevice() override {
    const TreeFields& fields = Cursor()->fields;
    const std::vector<const Tensor*> columns = Columns(1);
    const int64_t records = fields.NumRecords(columns);
    Tensor* offsets = Output(0);
    offsets->Resize(records + 1, fields.num_levels());
    int64_t* row = offsets->mutable_data<int64_t>();
    Rows at(fields.num_levels(), 0);
    row = std::copy(at.begin(), at.end(), row);
    for (int64_t i = 0; i < records; ++i) {
      const Rows counts = fields.Count(columns, at, 1);
      for (size_t level = 0; level < at.size(); ++level) at[level] += counts[level];
      row = std::copy(at.begin(), at.end(), row);
    }
    return true;
  }
};

// Sorts the records of each group of shuffle_size batches, then shuffles the batches.
class SortAndShuffleOp final : public CursorOp {
 public:
  SortAndShuffleOp(const OperatorDef& def, Workspace* ws)
      : CursorOp(def, ws),
        sort_by_(GetSingleArgument<int>("sort_by_field_idx", 1)),
        batch_size_(GetSingleArgument<int64_t>("batch_size", 1)),
        shuffle_size_(GetSingleArgument<int64_t>("shuffle_size", 1)) {
    CAFFE_ENFORCE(batch_size_ > 0, "argument batch_size must be positive, found ", batch_size_);
    CAFFE_ENFORCE(shuffle_size_ > 0, "argument shuffle_size must be positive, found ",
                  shuffle_size_);
  }
  bool RunOnDevice() override {
    const TreeFields& fields = Cursor()->fields;
    const std::vector<const Tensor*> columns = Columns(1);
    const int64_t n = fields.NumRecords(columns);
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), int64_t{0});
    Shuffle(1, &order);
    if (sort_by_ != -1) SortGroups(fields, columns, &order);
    Shuffle(batch_size_, &order);
    Tensor* Y = Output(0);
    Y->Resize(n);
    std::copy(order.begin(), order.end(), Y->mutable_data<int64_t>());
    return true;
  }

 private:
  void SortGroups(const TreeFields& fields, const std::vector<const Tensor*>& columns,
                  std::vector<int64_t>* order) const {
    CAFFE_ENFORCE(sort_by_ >= 0 && sort_by_ < fields.size() && fields.level(sort_by_) == 0,
                  "argument sort_by_field_idx (", sort_by_,
                  ") must be the index of a field of the records");
    const std::vector<int64_t> keys = ReadIntegers(*columns[sort_by_], "the field to sort by");
    CAFFE_ENFORCE(keys.size() == order->size(),
                  "the field to sort by must have one row for each of the ", order->size(),
                  " records, found ", keys.size());
    const auto n = static_cast<int64_t>(order->size());
    const int64_t group = std::min(n, shuffle_size_) * std::min(n, batch_size_);
    for (int64_t begin = 0; begin < n; begin += group) {
      std::stable_sort(order->begin() + begin, order->begin() + std::min(n, begin + group),
                       [&keys](int64_t a, int64_t b) { return keys[a] < keys[b]; });
    }
  }
  // Shuffles whole blocks; a shorter one at the end stays there.
  void Shuffle(int64_t block, std::vector<int64_t>* order) {
    const int64_t blocks = static_cast<int64_t>(order->size()) / block;
    for (int64_t i = blocks - 1; i > 0; --i) {
      const auto j = static_cast<int64_t>(context_.random().UniformInt(i + 1));
      if (i == j) continue;
      std::swap_ranges(order->begin() + i * block, order->begin() + (i + 1) * block,
                       order->begin() + j * block);
    }
  }

  int sort_by_;
  int64_t batch_size_, shuffle_size_;
};

class ReadRandomBatchOp final : public CursorOp {
 public:
  ReadRandomBatchOp(const OperatorDef& def, Workspace* ws)
      : CursorOp(def, ws),
        batch_size_(GetSingleArgument<int64_t>("batch_size", 1)),
        whole_(GetSingleArgument<bool>("enforce_batch_size", false)),
        loop_(GetSingleArgument<bool>("loop_over", false)) {
    CAFFE_ENFORCE(batch_size_ > 0, "argument batch_size must be positive, found ", batch_size_);
  }
  bool RunOnDevice() override {
    TreeCursor* cursor = Cursor();
    const TreeFields& fields = cursor->fields;
    const Tensor &order = Input(1), &offsets = Input(2);
    const std::vector<const Tensor*> columns = Columns(3);
    CAFFE_ENFORCE(OutputSize() == fields.size(), "there must be one output for each of the ",
                  fields.size(), " fields, found ", OutputSize());
    CAFFE_ENFORCE(static_cast<int>(columns.size()) == fields.size(),
                  "there must be one column for each of the ", fields.size(), " fields, found ",
                  columns.size());
    CAFFE_ENFORCE(offsets.dim() == 2 && offsets.size(1) == fields.num_levels(),
                  "offsets must be a matrix of ", fields.num_levels(), " columns, found shape ",
                  ShapeString(offsets.sizes()));
    const std::vector<int64_t> records = NextRecords(cursor, order);
    CheckIndices(static_cast<int64_t>(records.size()), records.data(), offsets.size(0) - 1);
    const int64_t* offset = offsets.data<int64_t>();
    for (int i = 0; i < fields.size(); ++i) {
      Gather(*columns[i], records, offset + fields.level(i), fields.num_levels(), Output(i));
    }
    return true;
  }

 private:
  // The records of this batch. The cursor's offset counts the records read so far; a batch that is
  // not full counts as one that is.
  std::vector<int64_t> NextRecords(TreeCursor* cursor, const Tensor& order) const {
    const int64_t n = order.numel();
    const std::lock_guard<std::mutex> lock(cursor->mutex);
    if (cursor->offsets.empty()) cursor->offsets.assign(1, 0);
    int64_t begin = cursor->offsets[0];
    if (begin >= n && loop_) begin = 0;
    int64_t end = std::min(n, begin + batch_size_);
    if (whole_ && end - begin < batch_size_) {
      if (loop_ && n >= batch_size_) {
        begin = 0;
        end = batch_size_;
      } else {
        end = begin;
      }
    }
    cursor->offsets[0] = begin + batch_size_;
    std::vector<int64_t> records;
    for (int64_t i = begin; i < end; ++i) records.push_back(order.data<int64_t>()[i]);
    return records;
  }
  // Rows [offset[r], offset[r + 1]) of each record r; offsets lie `stride` apart.
  void Gather(const Tensor& X, const std::vector<int64_t>& records, const int64_t* offset,
              int64_t stride, Tensor* Y) {
    int64_t total = 0;
    for (const int64_t r : records) {
      const int64_t begin = offset[r * stride], end = offset[(r + 1) * stride];
      CAFFE_ENFORCE(begin >= 0 && begin <= end && end <= X.size(0), "rows ", begin, " to ", end,
                    " are out of range for a column of shape ", ShapeString(X.sizes()));
      total += end - begin;
    }
    RowCopier rows(X, total, Y);
    for (const int64_t r : records) {
      rows.Append(offset[r * stride], offset[(r + 1) * stride] - offset[r * stride]);
    }
  }

  int64_t batch_size_;
  bool whole_, loop_;
};

class TrimDatasetOp final : public CursorOp {
 public:
  TrimDatasetOp(const OperatorDef& def, Workspace* ws)
      : CursorOp(def, ws),
        fields_(GetRepeatedArgument<std::string>("fields")),
        multiple_of_(GetSingleArgument<int64_t>("multiple_of", 1)) {
    CAFFE_ENFORCE(multiple_of_ > 0, "argument multiple_of must be positive, found ", multiple_of_);
  }
  bool RunOnDevice() override {
    const std::vector<const Tensor*> columns = Columns(0);
    const int64_t records = fields_.NumRecords(columns);
    const Rows counts = fields_.Count(columns, Rows(fields_.num_levels(), 0),
                                      records / multiple_of_ * multiple_of_);
    for (int i = 0; i < fields_.size(); ++i) Output(i)->ShrinkTo(counts[fields_.level(i)]);
    return true;
  }

 private:
  TreeFields fields_;
  int64_t multiple_of_;
};

// Caffe2's format: the offsets as a tensor, the names of the fields as content.
class TreeCursorSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& /*options*/) override {
    const auto& cursor = blob.Get<CursorPtr>();
    CAFFE_ENFORCE(cursor != nullptr, "the cursor \"", name, "\" was not created");
    BlobProto proto;
    proto.set_name(name);
    proto.set_type(blob.TypeName());
    const std::lock_guard<std::mutex> lock(cursor->mutex);
    const auto n = static_cast<int64_t>(cursor->offsets.size());
    if (n > 0) SerializeTensor(Tensor({n}, cursor->offsets), name, 0, n, proto.mutable_tensor());
    std::string fields;
    for (const std::string& field : cursor->fields.names()) fields += field + " ";
    proto.set_content(fields);
    acceptor(name, proto.SerializeAsString());
  }
  void Deserialize(const BlobProto& proto, Blob* blob) override {
    std::istringstream content(proto.content());
    const std::vector<std::string> names{std::istream_iterator<std::string>(content), {}};
    auto cursor = std::make_unique<TreeCursor>(TreeFields(names));
    if (proto.has_tensor()) {
      Tensor offsets;
      DeserializeTensor(proto.tensor(), &offsets);
      cursor->offsets = ReadIntegers(offsets, "offsets");
      for (const int64_t offset : cursor->offsets)
        CAFFE_ENFORCE(offset >= 0, "an offset of the cursor must not be negative, found ", offset);
      CAFFE_ENFORCE(cursor->offsets.size() <= static_cast<size_t>(cursor->fields.num_levels()),
                    "the cursor \"", proto.name(), "\" has ", cursor->offsets.size(),
                    " offsets, more than the ", cursor->fields.num_levels(),
                    " levels of its fields");
    }
    *blob->GetMutable<CursorPtr>() = std::move(cursor);
  }
};

void DescribeFields(OpSchema& schema) {
  schema.ArgList<std::string>("fields", "The names of the columns: paths with ':'.");
}

}  // namespace

REGISTER_CPU_OPERATOR(CreateTreeCursor, CreateTreeCursorOp);
REGISTER_CPU_OPERATOR(ResetCursor, ResetCursorOp);
REGISTER_CPU_OPERATOR(CheckDatasetConsistency, CheckDatasetConsistencyOp);
REGISTER_CPU_OPERATOR(ReadNextBatch, ReadNextBatchOp);
REGISTER_CPU_OPERATOR(ComputeOffset, ComputeOffsetOp);
REGISTER_CPU_OPERATOR(SortAndShuffle, SortAndShuffleOp);
REGISTER_CPU_OPERATOR(ReadRandomBatch, ReadRandomBatchOp);
REGISTER_CPU_OPERATOR(TrimDataset, TrimDatasetOp);
REGISTER_BLOB_SERIALIZER("std::unique_ptr<TreeCursor>", TreeCursorSerializer);

OPERATOR_SCHEMA(CreateTreeCursor)
    .NonTensorOutputs({0})
    .NumInputs(0)
    .NumOutputs(1)
    .FillUsing(DescribeFields)
    .SetDoc(
        "Makes a cursor over the columns of a dataset. A column is named by its path. A column "
        "\"P:lengths\" means that the columns below P hold a list for each entry above, and gives "
        "the lengths of these lists.")
    .Output(0, "cursor", "The cursor, a blob that is not a tensor; at the beginning.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(ResetCursor)
    .NonTensorInputs({0})
    .NumInputs(1)
    .NumOutputs(0)
    .SetDoc("Puts a cursor back to the beginning.")
    .Input(0, "cursor", "The cursor.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(CheckDatasetConsistency)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(0)
    .FillUsing(DescribeFields)
    .SetDoc("Fails, naming the column, unless the rows of all columns match the lengths.")
    .Input(0, "field_0", "The first column; the others follow.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(ReadNextBatch)
    .NonTensorInputs({0})
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1, OpSchema::kUnlimited)
    .SetDoc(
        "Reads the rows of the next records from each column. At the end there are fewer records, "
        "and then none.")
    .Arg<int>("batch_size", "(> 0, default 1) The most records.")
    .Arg<bool>("enforce_batch_size", "(default 0) 1: no records instead of fewer.")
    .Input(0, "cursor", "A cursor made by CreateTreeCursor; it moves on. The columns follow.")
    .Output(0, "field_0", "Rows of the first column; the others follow.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(ComputeOffset)
    .NonTensorInputs({0})
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1)
    .SetDoc("The first row of each record at every level, and the ends of the last record.")
    .Input(0, "cursor", "A cursor made by CreateTreeCursor. The columns follow.")
    .Output(0, "offsets", "int64 [records + 1, levels].")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(SortAndShuffle)
    .NonTensorInputs({0})
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1)
    .SetDoc(
        "Makes an order of the records in which the records of a batch have similar keys and the "
        "batches are shuffled: sorts the shuffled records in groups of shuffle_size batches.")
    .Arg<int>("sort_by_field_idx", "(default 1) The column of the keys; -1: none.")
    .Arg<int>("batch_size", "(> 0, default 1) Records of a batch.")
    .Arg<int>("shuffle_size", "(> 0, default 1) Batches of a group.")
    .Input(0, "cursor", "A cursor made by CreateTreeCursor. The columns follow.")
    .Output(0, "indices", "int64: the numbers of the records, in this order.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(ReadRandomBatch)
    .NonTensorInputs({0})
    .NumInputs(3, OpSchema::kUnlimited)
    .NumOutputs(1, OpSchema::kUnlimited)
    .SetDoc("ReadNextBatch in a given order.")
    .Arg<int>("batch_size", "(> 0, default 1) The most records.")
    .Arg<bool>("enforce_batch_size", "(default 0) 1: no records instead of fewer.")
    .Arg<bool>("loop_over", "(default 0) 1: begins again at the end.")
    .Input(0, "cursor", "A cursor made by CreateTreeCursor; it moves on.")
    .Input(1, "idx", "int64: the order, as SortAndShuffle makes it.")
    .Input(2, "offsetsmat", "The offsets, as ComputeOffset makes them. The columns follow.")
    .Output(0, "field_0", "Rows of the first column; the others follow.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(TrimDataset)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1, OpSchema::kUnlimited)
    .FillUsing(DescribeFields)
    .EnforceOneToOneInplace()
    .SetDoc("Drops records at the end, so that their number is a multiple of multiple_of.")
    .Arg<int>("multiple_of", "(> 0, default 1) The divisor of the number of records.")
    .Input(0, "field_0", "The first column; the others follow. All are shortened.")
    .Output(0, "field_0", "The same column; the others follow.")
    .CpuOnly(cpu_only::kRecords);
SHOULD_NOT_DO_GRADIENT(CreateTreeCursor);
SHOULD_NOT_DO_GRADIENT(ResetCursor);
SHOULD_NOT_DO_GRADIENT(CheckDatasetConsistency);
SHOULD_NOT_DO_GRADIENT(ReadNextBatch);
SHOULD_NOT_DO_GRADIENT(ComputeOffset);
SHOULD_NOT_DO_GRADIENT(SortAndShuffle);
SHOULD_NOT_DO_GRADIENT(ReadRandomBatch);
SHOULD_NOT_DO_GRADIENT(TrimDataset);

}  // namespace caffe2
