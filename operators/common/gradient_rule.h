// Gradients that are one operator, written as one line of text:
//   REGISTER_GRADIENT(DotProduct, GradientRule<"I0 I1 GO0 -> GI0 GI1">);
// makes DotProductGradient with inputs (X, Y, dDot) and outputs (dX, dY).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "caffe2/core/operator_gradient.h"

namespace caffe2 {

// A string literal as a template argument.
template <size_t n>
struct RuleText {
  constexpr RuleText(const char (&literal)[n]) { std::copy_n(literal, n, text); }
  char text[n];
};

// Makes the gradient for any rule (see GradientRule).
class GradientRuleMaker : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;

 protected:
  // Throws EnforceNotMet for a malformed rule, and for an input that the rule reads and the
  // operator has overwritten.
  std::vector<OperatorDef> Follow(const std::string& rule);

 private:
  // The blob of a word: I0, O1, GO0, GI2 ...
  std::string Blob(const std::string& word);
};

// rule: "[type:] inputs -> outputs" in words I<i>, O<i> (inputs and outputs of the forward
// operator), GO<i> (gradients of outputs) and GI<i> (gradients of inputs). The default type is the
// forward operator's followed by "Gradient". "I*" means all inputs, "GI*" the gradients of all
// inputs.
template <RuleText rule>
class GradientRule final : public GradientRuleMaker {
 public:
  using GradientRuleMaker::GradientRuleMaker;
  std::vector<OperatorDef> GetGradientDefs() override { return Follow(rule.text); }
};

}  // namespace caffe2
