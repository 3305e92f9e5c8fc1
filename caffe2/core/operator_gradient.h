// Gradient makers: each turns one operator into the operators that compute its gradient.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/registry.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// The gradient of one blob: a dense blob, a sparse pair (indices, values) of a blob that was read
// row by row, or nothing.
struct GradientWrapper {
  std::string dense;
  std::string indices;
  std::string values;

  bool IsDense() const { return !dense.empty(); }
  bool IsSparse() const { return !indices.empty() || !values.empty(); }
  bool IsEmpty() const { return !IsDense() && !IsSparse(); }
};

// The operators that compute the gradient of one operator, and the gradients of its inputs (empty
// for an input without one).
struct GradientOpsMeta {
  std::vector<OperatorDef> ops;
  std::vector<GradientWrapper> g_input;
};

// Builds the gradient of one operator. Subclasses override GetGradientDefs() and name blobs with I,
// O (inputs, outputs), GI, GO (their gradients). Calling GI(i) declares that input i gets a dense
// gradient. Keeps references to the arguments of the constructor.
class GradientMakerBase {
 public:
  GradientMakerBase(const OperatorDef& def, const std::vector<GradientWrapper>& g_output)
      : def_(def), g_output_(g_output), g_input_(def.input_size()) {}
  virtual ~GradientMakerBase();

  virtual bool CopyDeviceOption() const { return true; }
  virtual bool CopyEngine() const { return true; }
  virtual bool CopyArguments() const { return true; }
  virtual std::vector<OperatorDef> GetGradientDefs() = 0;

  // Returns GetGradientDefs() with is_gradient_op set, but cleared where the maker set it to false.
  // Copies the device, engine and arguments of the forward operator, unless a gradient operator has
  // its own or a Copy function returns false.
  GradientOpsMeta Get();

  const OperatorDef& Def() const { return def_; }

 protected:
  std::string I(int i) const;
  std::string O(int i) const;
  // "<input>_grad".
  std::string GI(int i);
  // Throws if output i has no dense gradient.
  std::string GO(int i) const;
  // The same for sparse gradients: "<input>_grad_indices" and "<input>_grad_values".
  std::string GI_I(int i);  // indices
  std::string GI_V(int i);  // values
  std::string GO_I(int i) const;
  std::string GO_V(int i) const;
  const GradientWrapper& GradOut(int i) const { return g_output_.at(i); }
  // Declares the gradient of input i to be an existing blob.
  void SetDense(int i, const std::string& name);
  void SetSparse(int i, const std::string& indices, const std::string& values);

  bool HasArgument(const std::string& name) const { return FindArgument(def_, name) != nullptr; }
  static std::string GradientName(const std::string& name) { return name + "_grad"; }

  // A list of one operator.
  template <typename... Args>
  static std::vector<OperatorDef> SingleGradientDef(const Args&... args) {
    return {CreateOperatorDef(args...)};
  }

 public:
  static OperatorDef CreateOperatorDef(const std::string& type, const std::string& name,
                                       const std::vector<std::string>& inputs,
                                       const std::vector<std::string>& outputs,
                                       const std::vector<Argument>& args = {});

 protected:
  const OperatorDef& def_;
  const std::vector<GradientWrapper>& g_output_;
  std::vector<GradientWrapper> g_input_;

 private:
  static int CheckIndex(int i, int size, const char* what);
};

// No gradient flows through the operator: its inputs have none.
class NoGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override;
};

// Asking for the gradient is an error.
class ThrowInTheTowel final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override;
};

using GradientMakerRegistry = Registry<std::string, GradientMakerBase, const OperatorDef&,
                                       const std::vector<GradientWrapper>&>;
extern template class Registry<std::string, GradientMakerBase, const OperatorDef&,
                               const std::vector<GradientWrapper>&>;
extern template struct Registerer<std::string, GradientMakerBase, const OperatorDef&,
                                  const std::vector<GradientWrapper>&>;
GradientMakerRegistry* GradientRegistry();

// The gradient of `def`, given the gradients of its outputs. Throws EnforceNotMet if its operator
// type has no gradient maker or `def` violates its schema.
GradientOpsMeta GetGradientForOp(const OperatorDef& def,
                                 const std::vector<GradientWrapper>& g_output);

#define REGISTER_GRADIENT(name, ...)                                                         \
  static ::caffe2::Registerer<std::string, ::caffe2::GradientMakerBase,                      \
                              const ::caffe2::OperatorDef&,                                  \
                              const std::vector<::caffe2::GradientWrapper>&>                 \
  CAFFE2_ANONYMOUS(gradient_registerer_)(                                                    \
      ::caffe2::GradientRegistry(), #name,                                                   \
      [](const ::caffe2::OperatorDef& def,                                                   \
         const std::vector<::caffe2::GradientWrapper>& g_output) {                           \
        return std::unique_ptr<::caffe2::GradientMakerBase>(new __VA_ARGS__(def, g_output)); \
      })
// The operator's inputs have no gradient.
#define NO_GRADIENT(name) REGISTER_GRADIENT(name, ::caffe2::NoGradient)
// No gradient can flow through this operator: asking for one is an error.
#define SHOULD_NOT_DO_GRADIENT(name) REGISTER_GRADIENT(name, ::caffe2::ThrowInTheTowel)

}  // namespace caffe2
