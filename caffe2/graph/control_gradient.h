// Gradients of If, While and Do. These operators run subnets. As in Caffe2, the gradient of each is
// the same operator, which runs the gradients of the subnets:
//
//   If(c; then_net, else_net)  If(c; gradient of then_net, gradient of else_net). A branch gives
//                              zeros for an input that it does not use, and passes on the gradient
//                              of an output that it does not write.
//   Do(scope; net)             Do(scope; gradient of net), marked is_gradient_op. It pops the
//                              workspace of its forward run, which holds the inner blobs, from the
//                              scope. Incoming and outgoing gradients are bound like other blobs,
//                              each under an inner name of its own.
//   While(c; loop_net)         While(HasScope(scope); gradient of loop_net): one iteration for each
//                              iteration of the forward loop, the last one first. The body must be
//                              one Do with a scope of its own, which keeps the inner blobs of every
//                              iteration. The gradient of a blob that the body writes changes with
//                              each iteration. The gradients of a blob that the body only reads are
//                              summed.
//
// The makers are registered like other gradient makers, so that the backward pass (gradient.h),
// subnets and Python find them. An If or While that they get lists all blobs that its subnets touch
// as inputs and outputs. Gradients are dense, and zeros that a maker adds are float. Do also passes
// on sparse gradients.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/core/operator_gradient.h"

namespace caffe2 {

class ControlGradientMaker : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  bool CopyEngine() const override { return false; }
  bool CopyArguments() const override { return false; }

 protected:
  // The backward pass of a subnet.
  struct Nested {
    std::vector<OperatorDef> ops;
    // The gradients of the values that blobs have before the net runs, by blob name.
    std::map<std::string, GradientWrapper> gradients;
  };

  // Differentiates `net`. `seeds` maps blobs to the gradients of their values after the run. A blob
  // that the net does not touch keeps its seed as its gradient.
  static Nested Differentiate(const NetDef& net, const std::map<std::string, std::string>& seeds);
  // The net in argument `name`, or an empty net of this name.
  NetDef NetArgument(const std::string& name) const;
  // A net of `ops`, with the name ("_grad" added), type and device of `forward`.
  static NetDef GradientNet(const NetDef& forward, const std::vector<OperatorDef>& ops);
  // The gradient of each output that has one.
  std::map<std::string, std::string> OutputGradients() const;
  // The indices of the inputs from `begin` on. Of inputs with the same name, only the first counts.
  std::vector<int> DistinctInputs(int begin) const;

  // Operators that copy a gradient, or fill one with zeros. They run on the device of `near`, or
  // else of the first operator in it that names a device; otherwise on the host.
  static OperatorDef Copy(const std::string& from, const std::string& to, const NetDef& near);
  static OperatorDef Zeros(const std::string& like, const std::string& to, const NetDef& near);
  // Returns the name of the dense gradient; throws EnforceNotMet if the gradient of blob `of` is
  // sparse.
  std::string Dense(const GradientWrapper& gradient, const std::string& of) const;
  // Makes the blobs that the operator and its subnets read its inputs, and the blobs that they
  // write its outputs.
  static void ListOperands(OperatorDef* op);
};

}  // namespace caffe2
