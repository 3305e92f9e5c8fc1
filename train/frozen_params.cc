#include "train/frozen_params.h"

#include <algorithm>
#include <cctype>

#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"
#include "train/load_model.h"

namespace caffe2 {
namespace {

// "comp_1" begins comp_1_conv_1_w, but not comp_10_conv_1_w.
bool Begins(const std::string& prefix, const std::string& name) {
  if (!name.starts_with(prefix)) return false;
  const char next = name.c_str()[prefix.size()];  // 0 at the end
  return std::isdigit(static_cast<unsigned char>(prefix.back())) == 0 ||
         std::isdigit(static_cast<unsigned char>(next)) == 0;
}

}  // namespace

std::function<bool(const std::string&)> FrozenParams(const TrainOptions& options) {
  const std::vector<std::string>& prefixes = options.model.freeze;
  if (prefixes.empty()) return nullptr;
  if (prefixes[0] == kAllButLast) {
    return [last = LastLayerParams(options)](const std::string& name) {
      return std::find(last.begin(), last.end(), name) == last.end();
    };
  }
  return [prefixes](const std::string& name) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string& prefix) { return Begins(prefix, name); });
  };
}

void CheckFrozenParams(const TrainOptions& options, const ModelHelper& model,
                       const std::string& scope) {
  constexpr size_t kListed = 8;
  std::vector<std::string> names;
  int frozen = 0;
  std::string list;
  for (const Parameter& parameter : model.parameters()) {
    if (parameter.tag == ParameterTag::kComputed || !parameter.name.starts_with(scope)) continue;
    names.push_back(parameter.name.substr(scope.size()));
    if (names.size() <= kListed) list += (list.empty() ? "" : ", ") + names.back();
    frozen += parameter.frozen;
  }
  if (names.size() > kListed) list += ", ..., " + names.back();
  for (const std::string& prefix : options.model.freeze) {
    const bool found = prefix == kAllButLast ||
                       std::any_of(names.begin(), names.end(),
                                   [&](const std::string& name) { return Begins(prefix, name); });
    CheckUsage(found, "--freeze has ", prefix,
               ", but no parameter of the network begins with it: ", list);
  }
  const auto all = static_cast<int>(names.size());
  CheckUsage(frozen < all, "--freeze leaves no parameter to train: all ", all, " are frozen");
  if (frozen > 0) LOG(INFO) << "Frozen: " << frozen << " of " << all << " parameters (--freeze)";
}

}  // namespace caffe2
