// Which form of a part of a net is faster, measured on the device that will run it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "caffe2/graph/form_choice.h"
#include "caffe2/utils/plan_cache.h"

namespace caffe2 {

struct MeasuredFormsOptions {
  PlanCache cache;  // where answers are kept; nothing is measured if it has no folder
  std::string executor = "simple";  // type of the nets that are measured
  // Blobs that the nets read and do not write: parameters, and input that is made elsewhere.
  std::map<std::string, TensorShape> shapes;
  // With several shards: the string of shard 0, which alone measures, on all of them.
  bool measures = true;
  std::function<std::string(const std::string&)> share;
};

// Answers FormSites. Both forms, with the gradients of their results, run in turns on random
// values; the faster one by the median is kept in the cache, whose answers are taken without
// measuring. A place that equals an earlier one, whatever its blobs are called, has the same
// answer. All shards ask about the same places in the same order, and get the same answers.
class MeasuredForms {
 public:
  explicit MeasuredForms(MeasuredFormsOptions options) : options_(std::move(options)) {}

  // Nothing for a place that cannot be measured: the shape of an input is not known, or a form does
  // not run; which is logged. Throws EnforceNotMet if shards ask about different places.
  std::optional<bool> operator()(const FormSite& site);
  int measured() const { return measured_; }

 private:
  std::optional<bool> Answer(const FormSite& site, const std::string& text,
                             const std::map<std::string, TensorShape>& shapes);
  std::optional<bool> Measure(const FormSite& site, const std::string& key,
                              const std::map<std::string, TensorShape>& shapes);

  const MeasuredFormsOptions options_;
  std::map<std::string, std::optional<bool>> known_;
  int measured_ = 0;
};

}  // namespace caffe2
