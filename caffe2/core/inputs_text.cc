#include "caffe2/core/inputs_text.h"

#include <algorithm>

#include "caffe2/core/operator_schema.h"
#include "caffe2/core/tensor.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {
namespace {

// `describe(i)` says what input i is, after its name.
template <typename Describe>
std::string ListOfInputs(const OperatorDef& op, int count, const Describe& describe) {
  constexpr int kMaxInputs = 6;  // more make the message unreadable
  std::string text;
  for (int i = 0; i < std::min(count, kMaxInputs); ++i) {
    text += MakeString(i == 0 ? "inputs: " : ", ", op.input(i), describe(i));
  }
  if (count > kMaxInputs) text += MakeString(", and ", count - kMaxInputs, " more");
  return text;
}

}  // namespace

std::string InputsText(const OperatorDef& op, const Workspace& ws) {
  return ListOfInputs(op, op.input_size(), [&](int i) -> std::string {
    const Blob* blob = ws.GetBlob(op.input(i));
    if (blob == nullptr) return "";
    if (!blob->IsType<Tensor>()) return MakeString(" ", blob->TypeName());
    const auto& tensor = blob->Get<Tensor>();
    return MakeString(" ", tensor.dtype().name(), " ", ShapeString(tensor.sizes()));
  });
}

std::string InputsText(const OperatorDef& op, const std::vector<TensorShape>& shapes) {
  const int count = std::min(op.input_size(), static_cast<int>(shapes.size()));
  return ListOfInputs(
      op, count, [&](int i) { return MakeString(" ", ShapeString(GetDimsVector(shapes[i]))); });
}

}  // namespace caffe2
