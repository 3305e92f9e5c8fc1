// Operators written in Python: net.Python(f).
#include "caffe2/core/operator.h"
#include "python/pybind_active_runs.h"
#include "python/pybind_state.h"
#include "python/pybind_tensor.h"

namespace caffe2::python {
namespace {

constexpr char kGradientSuffix[] = "_gradient";

struct __attribute__((visibility("hidden"))) PythonFunction {
  // Or a tuple (builder, args, kwargs) whose call gives the function of one operator.
  py::object function;
  bool pass_workspace = false;
};

// By token. Kept for ever: nets may run until the process ends. Guarded by the GIL.
std::map<std::string, PythonFunction>& Functions() {
  static auto* functions = new std::map<std::string, PythonFunction>;
  return *functions;
}

// A Python exception on its way through nets, which add to its text where it arose.
class __attribute__((visibility("hidden"))) PythonError final : public Error {
 public:
  explicit PythonError(const py::error_already_set& error)
      : Error("raised by a Python operator"),
        error_(std::make_shared<py::error_already_set>(error)) {}

  // Raises the exception again, with its traceback and a note of the operator and net.
  void Raise() const {
    const py::object exception = error_->value();
    if (py::hasattr(exception, "add_note")) exception.attr("add_note")(what());  // from 3.11 on
    PyErr_Restore(error_->type().inc_ref().ptr(), exception.inc_ref().ptr(),
                  error_->trace().inc_ref().ptr());
  }

 private:
  std::shared_ptr<py::error_already_set> error_;
};

// Calls the function of its token with the inputs and outputs, lists of TensorCPU. What the
// function raises, the run of the net raises.
class __attribute__((visibility("hidden"))) PythonOp : public Operator<CPUContext> {
 public:
  PythonOp(const OperatorDef& def, Workspace* ws) : PythonOp(def, ws, GetToken(def)) {}
  ~PythonOp() override {
    const py::gil_scoped_acquire gil;
    function_ = py::object();
  }

  bool RunOnDevice() override {
    const py::gil_scoped_acquire gil;
    const InsideOperator inside(this);
    py::list inputs, outputs;
    for (int i = 0; i < InputSize(); ++i) {
      Input(i);  // throws if it is no tensor
      // Python has no const: writing to an input is the function's own fault.
      inputs.append(const_cast<Blob&>(InputBlob(i)).GetShared<Tensor>());
    }
    for (int i = 0; i < OutputSize(); ++i) {
      Output(i);
      outputs.append(OutputBlob(i)->GetShared<Tensor>());
    }
    try {
      if (pass_workspace_) {
        function_(inputs, outputs, py::cast(ws_, py::return_value_policy::reference));
      } else {
        function_(inputs, outputs);
      }
    } catch (const py::error_already_set& error) {
      throw PythonError(error);
    }
    return true;
  }

 protected:
  PythonOp(const OperatorDef& def, Workspace* ws, const std::string& token)
      : Operator<CPUContext>(def, ws), ws_(ws) {
    CAFFE_ENFORCE(!GetToken(def).empty(), "operator Python needs the argument token");
    const py::gil_scoped_acquire gil;
    const auto it = Functions().find(token);
    CAFFE_ENFORCE(it != Functions().end(), "no Python function is registered as ", token);
    pass_workspace_ = it->second.pass_workspace;
    function_ = it->second.function;
    if (!py::isinstance<py::tuple>(function_)) return;
    const py::tuple builder = function_;
    CAFFE_ENFORCE(builder.size() == 3, "a builder must be (function, args, kwargs), found ",
                  builder.size(), " items");
    try {
      function_ = builder[0](*py::tuple(builder[1]), **py::dict(builder[2]));
    } catch (const py::error_already_set& error) {
      throw PythonError(error);
    }
  }
  static std::string GetToken(const OperatorDef& def) {
    return ArgumentHelper(def).GetSingleArgument<std::string>("token", "");
  }

 private:
  Workspace* ws_;
  bool pass_workspace_ = false;
  py::object function_;
};

class PythonGradientOp final : public PythonOp {
 public:
  PythonGradientOp(const OperatorDef& def, Workspace* ws)
      : PythonOp(def, ws, GetToken(def) + kGradientSuffix) {}
};

REGISTER_CPU_OPERATOR(Python, PythonOp);
REGISTER_CPU_OPERATOR(PythonGradient, PythonGradientOp);

OPERATOR_SCHEMA(Python)
    .AllowInplace([](int, int) { return true; })
    .SetDoc("Runs a Python function on the inputs. In Python: net.Python(f)(inputs, outputs).")
    .Arg<std::string>("token", "Names the function, as register_python_op returned it.",
                      /*required=*/true)
    .ArgList<int>("grad_input_indices", "Inputs that get a gradient; default all.")
    .ArgList<int>("grad_output_indices",
                  "Outputs whose gradient the gradient function reads; default all.");
OPERATOR_SCHEMA(PythonGradient)
    .AllowInplace([](int, int) { return true; })
    .SetDoc(
        "Runs the gradient function of a Python operator on its inputs, outputs and the "
        "gradients of its outputs.")
    .Arg<std::string>("token", "The token of the forward function.", /*required=*/true);

class GetPythonGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs(Def().input().begin(), Def().input().end());
    inputs.insert(inputs.end(), Def().output().begin(), Def().output().end());
    for (int i : Indices("grad_output_indices", Def().output_size())) inputs.push_back(GO(i));
    std::vector<std::string> outputs;
    for (int i : Indices("grad_input_indices", Def().input_size())) outputs.push_back(GI(i));
    return SingleGradientDef("PythonGradient", "", inputs, outputs);
  }

 private:
  std::vector<int> Indices(const std::string& argument, int size) const {
    std::vector<int> indices = ArgumentHelper(Def()).GetRepeatedArgument<int>(argument);
    if (indices.empty()) {
      for (int i = 0; i < size; ++i) indices.push_back(i);
    }
    return indices;
  }
};
REGISTER_GRADIENT(Python, GetPythonGradient);
NO_GRADIENT(PythonGradient);

std::string RegisterPythonOp(const py::object& function, bool pass_workspace,
                             const std::string& name) {
  std::string token = name;
  if (token.empty()) {
    const bool builds = py::isinstance<py::tuple>(function);
    const py::object named = builds ? py::object(py::tuple(function)[0]) : function;
    const std::string stem =
        py::str(py::getattr(named, "__name__", py::str("function"))).cast<std::string>();
    token = stem + ":" + std::to_string(Functions().size());
  }
  CAFFE_ENFORCE(Functions().emplace(token, PythonFunction{function, pass_workspace}).second,
                "a Python function is registered as ", token, " already");
  return token;
}

}  // namespace

void AddPythonOperators(py::module_& m) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const PythonError& error) {
      error.Raise();
    }
  });
  m.def("register_python_op", &RegisterPythonOp, py::arg("func"), py::arg("pass_workspace"),
        py::arg("name") = "",
        "Keeps a function for operators of type Python, or a tuple (builder, args, kwargs) with "
        "which each operator builds its own function; returns the token.");
  m.def(
      "register_python_gradient_op",
      [](const std::string& token, const py::object& function) {
        const auto it = Functions().find(token);
        CAFFE_ENFORCE(it != Functions().end(), "no Python function is registered as ", token);
        Functions()[token + kGradientSuffix] = {function, it->second.pass_workspace};
      },
      py::arg("token"), py::arg("func"));
}

}  // namespace caffe2::python
