// ReservoirSampling: a uniform random sample of a stream of rows.
#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_set>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/created_object.h"
#include "operators/dataset/dataset_op.h"
#include "operators/sparse/map_op.h"

namespace caffe2 {
namespace {

class ReservoirSamplingOp final : public Operator<CPUContext> {
 public:
  ReservoirSamplingOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), capacity_(GetSingleArgument<int64_t>("num_to_collect", -1)) {
    CAFFE_ENFORCE(capacity_ > 0 && capacity_ <= std::numeric_limits<int32_t>::max(),
                  "argument num_to_collect must be positive and fit an int32, found ", capacity_);
  }

  bool RunOnDevice() override {
    const auto& mutex =
        CreatedObject<std::unique_ptr<std::mutex>>(*this, kMutex, "mutex", "CreateMutex");
    const std::lock_guard<std::mutex> lock(*mutex);
    const Tensor& X = Input(kData);
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(),
                  "DATA must have at least one axis and hold elements, found ", X.DebugString());
    Tensor* visited = Output(kNumVisited);
    CAFFE_ENFORCE(visited->numel() == 1, "NUM_VISITED must have one element, found ",
                  visited->numel());
    int64_t* count = visited->mutable_data<int64_t>();
    Tensor* reservoir = Output(kReservoir);
    if (!HasRows(*reservoir)) Start(X, reservoir, count);
    CheckState(X, *reservoir, *count);
    if (InputSize() <= kObjectId) {
      for (int64_t row = 0; row < X.size(0); ++row) Offer(X, row, reservoir, count);
    } else {
      OfferObjects(X, reservoir, count);
    }
    return true;
  }

 private:
  enum Inputs { kData = 2, kMutex, kObjectId };
  enum Outputs { kReservoir, kNumVisited, kObjectToPos, kPosToObject };

  // Makes an empty reservoir for rows of X's type and shape.
  void Start(const Tensor& X, Tensor* reservoir, int64_t* count) {
    std::vector<int64_t> dims = X.sizes();
    dims[0] = 0;
    reservoir->Resize(dims);
    reservoir->raw_mutable_data(X.dtype());
    *count = 0;
    if (OutputSize() <= kObjectToPos) return;
    Output<MapInt64ToInt32>(kObjectToPos)->clear();
    Output(kPosToObject)->Resize(0);
    Output(kPosToObject)->mutable_data<int64_t>();
  }

  void CheckState(const Tensor& X, const Tensor& reservoir, int64_t count) {
    CAFFE_ENFORCE(reservoir.dtype() == X.dtype() && reservoir.dim() == X.dim() &&
                      std::equal(X.sizes().begin() + 1, X.sizes().end(),
                                 reservoir.sizes().begin() + 1, reservoir.sizes().end()),
                  "rows of ", X.DebugString(), " do not fit the reservoir ",
                  reservoir.DebugString());
    const int64_t rows = std::min(count, capacity_);
    CAFFE_ENFORCE(count >= 0 && reservoir.size(0) == rows,
                  "the reservoir must hold as many rows as were collected: it has ",
                  reservoir.size(0), " rows after ", count, " visits with num_to_collect ",
                  capacity_);
    if (OutputSize() <= kObjectToPos) return;
    CAFFE_ENFORCE(Output(kPosToObject)->numel() == rows,
                  "POS_TO_OBJECT must have one element for each of the ", rows,
                  " rows of the reservoir, found ", Output(kPosToObject)->numel());
  }

  // Row n of the stream (counted from 0) replaces a random row with the probability capacity / (n +
  // 1), so that all rows so far are equally likely to be kept. Returns its place, or -1 if it is
  // not kept.
  int64_t Offer(const Tensor& X, int64_t row, Tensor* reservoir, int64_t* count) {
    const int64_t seen = (*count)++;
    int64_t place = seen;
    if (seen < capacity_) {
      reservoir->ExtendTo(seen + 1, /*growth_percent=*/50);
    } else {
      place = static_cast<int64_t>(context_.random().UniformInt(static_cast<uint64_t>(seen) + 1));
      if (place >= capacity_) return -1;
    }
    const int64_t width = X.size_from_dim(1);
    const int64_t bytes = width * static_cast<int64_t>(X.itemsize());
    context_.CopyItems(X.dtype(), width, static_cast<const char*>(X.raw_data()) + row * bytes,
                       static_cast<char*>(reservoir->raw_mutable_data()) + place * bytes);
    return place;
  }

  // Offers one row of each object that was not in the reservoir before this batch.
  void OfferObjects(const Tensor& X, Tensor* reservoir, int64_t* count) {
    const Tensor& ids = Input(kObjectId);
    CAFFE_ENFORCE(ids.dim() == 1 && ids.numel() == X.size(0),
                  "OBJECT_ID must have one id for each row of DATA: OBJECT_ID has shape ",
                  ShapeString(ids.sizes()), ", DATA ", ShapeString(X.sizes()));
    const int64_t* id = ids.data<int64_t>();
    auto& places = *Output<MapInt64ToInt32>(kObjectToPos);
    Tensor* objects = Output(kPosToObject);
    std::unordered_set<int64_t> done;
    for (int64_t row = 0; row < X.size(0); ++row) {
      if (places.count(id[row]) != 0 || !done.insert(id[row]).second) continue;
      const int64_t place = Offer(X, row, reservoir, count);
      if (place < 0) continue;
      if (place < objects->numel()) {
        const int64_t replaced = objects->data<int64_t>()[place];
        places.erase(replaced);
        done.insert(replaced);
      } else {
        objects->ExtendTo(place + 1, /*growth_percent=*/50);
      }
      objects->mutable_data<int64_t>()[place] = id[row];
      places[id[row]] = static_cast<int32_t>(place);
    }
  }

  const int64_t capacity_;
};

// As if the reservoir were full.
std::vector<TensorShape> InferReservoir(const OperatorDef& def,
                                        const std::vector<TensorShape>& in) {
  std::vector<TensorShape> out(def.output_size(), UnknownTensorShape());
  const int64_t capacity = ArgumentHelper(def).GetSingleArgument<int64_t>("num_to_collect", -1);
  if (!in[2].unknown_shape() && in[2].dims_size() > 0) {
    out[0] = in[2];
    out[0].set_dims(0, capacity);
  }
  out[1] = CreateTensorShape({}, TensorProto::INT64);
  if (out.size() > 3) out[3] = CreateTensorShape({capacity}, TensorProto::INT64);
  return out;
}

}  // namespace

REGISTER_CPU_OPERATOR(ReservoirSampling, ReservoirSamplingOp);
OPERATOR_SCHEMA(ReservoirSampling)
    .NonTensorInputs({0, 3, 5, 6})  // the reservoir is empty at first
    .NumInputs({4, 7})
    .NumOutputs({2, 4})
    .NumInputsOutputs([](int inputs, int outputs) { return (inputs == 7) == (outputs == 4); })
    .EnforceInplace([](int input, int output) {
      return (output < 2 && input == output) || (output >= 2 && input == output + 3);
    })
    .TensorInferenceFunction(InferReservoir)
    .SetDoc(R"DOC(
Keeps a uniform random sample of num_to_collect rows of all inputs. With ids of objects, rows of
objects that are in the reservoir are skipped, and so are all rows of an object but the first in one
input. An empty reservoir starts again. Random numbers are the operator's own, seeded by
device_option.random_seed. Shapes are inferred as if the reservoir were full.
)DOC")
    .Arg<int>("num_to_collect", "(> 0) Rows of the full reservoir.", true)
    .Input(0, "RESERVOIR", "The rows; empty before the first run.")
    .Input(1, "NUM_VISITED", "int64, one element: the number of rows offered so far.")
    .Input(2, "DATA", "Rows [n, ...] of any type; PackRecords makes them of several tensors.")
    .Input(3, "MUTEX", "A mutex made by CreateMutex, held while rows are copied.")
    .Input(4, "OBJECT_ID", "Optional: int64 [n], the object that each row belongs to.")
    .Input(5, "OBJECT_TO_POS_MAP", "With OBJECT_ID: a map made by CreateMap, int64 to int32.")
    .Input(6, "POS_TO_OBJECT", "With OBJECT_ID: int64, the objects of the rows.")
    .Output(0, "RESERVOIR", "The rows, in place.")
    .Output(1, "NUM_VISITED", "In place.")
    .Output(2, "OBJECT_TO_POS_MAP", "In place.")
    .Output(3, "POS_TO_OBJECT", "In place.")
    .CpuOnly(cpu_only::kRecords);
SHOULD_NOT_DO_GRADIENT(ReservoirSampling);

}  // namespace caffe2
