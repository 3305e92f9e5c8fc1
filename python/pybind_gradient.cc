// Gradients of operators and nets.
#include "caffe2/core/operator_gradient.h"
#include "caffe2/graph/gradient.h"
#include "python/pybind_state.h"

namespace caffe2::python {
namespace {

std::vector<py::bytes> SerializedOps(const std::vector<OperatorDef>& ops) {
  std::vector<py::bytes> bytes;
  for (const OperatorDef& op : ops) bytes.push_back(ProtoBytes(op));
  return bytes;
}

// A gradient maker written in Python: a function (op bytes, list of GradientWrapper) -> (list of
// op bytes, list of GradientWrapper), one for each input.
class __attribute__((visibility("hidden"))) PythonGradientMaker final : public GradientMakerBase {
 public:
  PythonGradientMaker(const OperatorDef& def, const std::vector<GradientWrapper>& g_output,
                      PyObject* function)
      : GradientMakerBase(def, g_output), function_(function) {}

  bool CopyDeviceOption() const override { return false; }
  bool CopyEngine() const override { return false; }
  bool CopyArguments() const override { return false; }

  std::vector<OperatorDef> GetGradientDefs() override {
    const py::gil_scoped_acquire gil;
    const auto [ops, g_input] =
        py::reinterpret_borrow<py::function>(function_)(ProtoBytes(def_), g_output_)
            .cast<std::pair<std::vector<std::string>, std::vector<GradientWrapper>>>();
    CAFFE_ENFORCE(g_input.size() == g_input_.size(), "the gradient of ", def_.type(),
                  " must name one gradient for each of the ", g_input_.size(), " inputs, found ",
                  g_input.size());
    g_input_ = g_input;
    std::vector<OperatorDef> parsed;
    for (const std::string& op : ops) {
      parsed.push_back(ParseProto<OperatorDef>(op));
      // Only those that the function marks are marked, as in Caffe2.
      if (!parsed.back().has_is_gradient_op()) parsed.back().set_is_gradient_op(false);
    }
    return parsed;
  }

 private:
  PyObject* function_;
};

void RegisterPythonGradient(const std::string& type, const py::function& function) {
  // Kept for ever, as the registry is.
  PyObject* kept = function.inc_ref().ptr();
  GradientRegistry()->Register(
      type, [kept](const OperatorDef& def, const std::vector<GradientWrapper>& g_output) {
        return std::make_unique<PythonGradientMaker>(def, g_output, kept);
      });
}

}  // namespace

void AddGradients(py::module_& m) {
  py::class_<GradientWrapper>(m, "GradientWrapper",
                              "The gradient of a blob: dense, sparse or none.")
      .def(py::init<>())
      .def_readwrite("dense", &GradientWrapper::dense)
      .def_readwrite("indices", &GradientWrapper::indices)
      .def_readwrite("values", &GradientWrapper::values)
      .def("is_dense", &GradientWrapper::IsDense)
      .def("is_sparse", &GradientWrapper::IsSparse)
      .def("is_empty", &GradientWrapper::IsEmpty);
  m.def(
      "get_gradient_defs",
      [](const std::string& op, const std::vector<GradientWrapper>& g_output) {
        const GradientOpsMeta meta = GetGradientForOp(ParseProto<OperatorDef>(op), g_output);
        return std::make_pair(SerializedOps(meta.ops), meta.g_input);
      },
      py::arg("op"), py::arg("g_output"),
      "The gradient operators of one operator, and the gradients of its inputs.");
  m.def(
      "get_backward_pass",
      [](const std::string& net, const LossGradients& losses) {
        const BackwardPass pass = GetBackwardPass(ParseProto<NetDef>(net), losses);
        return std::make_pair(SerializedOps(pass.ops), pass.gradients);
      },
      py::arg("net"), py::arg("losses"),
      "The operators to append to a net, and blob -> GradientWrapper. `losses` are pairs of a loss "
      "and its gradient blob, or '' to start from ones.");
  m.def("register_python_gradient", &RegisterPythonGradient, py::arg("type"), py::arg("function"));
  m.def("has_gradient", [](const std::string& type) { return GradientRegistry()->Has(type); });
}

}  // namespace caffe2::python
