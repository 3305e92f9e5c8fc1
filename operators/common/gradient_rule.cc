#include "operators/common/gradient_rule.h"

#include <sstream>

namespace caffe2 {

std::string GradientRuleMaker::Blob(const std::string& word) {
  const size_t digits = word.find_first_of("0123456789");
  CAFFE_ENFORCE(digits != std::string::npos, "\"", word, "\" in a gradient rule names no blob");
  const std::string kind = word.substr(0, digits);
  const int i = std::stoi(word.substr(digits));
  if (kind == "GO") return GO(i);
  if (kind == "GI") return GI(i);
  if (kind == "O") return O(i);
  CAFFE_ENFORCE(kind == "I", "\"", word, "\" in a gradient rule names no blob");
  for (const std::string& output : Def().output()) {
    CAFFE_ENFORCE(I(i) != output, "the gradient of ", Def().type(), " needs its input ", output,
                  ", but the operator overwrites it in place");
  }
  return I(i);
}

std::vector<OperatorDef> GradientRuleMaker::Follow(const std::string& rule) {
  std::istringstream words(rule);
  std::string type = Def().type() + "Gradient";
  std::vector<std::string> inputs, outputs;
  std::vector<std::string>* side = &inputs;
  for (std::string word; words >> word;) {
    if (word.back() == ':') {
      type = word.substr(0, word.size() - 1);
    } else if (word == "->") {
      side = &outputs;
    } else if (word.back() == '*') {
      word.pop_back();
      for (int i = 0; i < Def().input_size(); ++i) side->push_back(Blob(word + std::to_string(i)));
    } else {
      side->push_back(Blob(word));
    }
  }
  return SingleGradientDef(type, "", inputs, outputs);
}

}  // namespace caffe2
