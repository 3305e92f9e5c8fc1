#include "examples/doppio/report/predictions.h"

#include "examples/doppio/report/json_file.h"

namespace caffe2::report {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

int64_t Integer(const Value& value) { return static_cast<int64_t>(value.number_value()); }

Predictions PredictionsOf(const Struct& object) {
  Predictions predictions;
  predictions.epoch = Integer(Member(object, "epoch"));
  predictions.images = Integer(Member(object, "images"));
  predictions.database = Member(object, "database").string_value();
  predictions.db_type = Member(object, "db_type").string_value();
  for (const Value& name : Member(object, "class_names").list_value().values()) {
    predictions.class_names.push_back(name.string_value());
  }
  for (const Value& cell : Member(object, "counts").list_value().values()) {
    const auto& numbers = cell.list_value().values();
    if (numbers.size() != 3) continue;
    predictions.counts[{Integer(numbers[0]), Integer(numbers[1])}] += Integer(numbers[2]);
  }
  for (const Value& value : Member(object, "worst").list_value().values()) {
    const Struct& image = value.struct_value();
    predictions.worst.push_back(
        {.record = Integer(Member(image, "record")),
         .label = Integer(Member(image, "label")),
         .predicted = Integer(Member(image, "predicted")),
         .key = Member(image, "key").string_value(),
         .confidence = Member(image, "confidence").number_value(),
         .label_probability = Member(image, "label_probability").number_value()});
  }
  return predictions;
}

}  // namespace

std::optional<Predictions> ReadPredictions(const std::string& directory) {
  const std::optional<Struct> object = ReadJsonFile(directory + "/predictions.json");
  return object ? std::optional(PredictionsOf(*object)) : std::nullopt;
}

std::vector<ClassResult> ClassResults(const Predictions& predictions) {
  std::map<int64_t, ClassResult> classes;
  for (const auto& [labels, count] : predictions.counts) {
    const auto& [label, predicted] = labels;
    classes[label].images += count;
    classes[predicted].predicted += count;
    if (label == predicted) classes[label].right += count;
  }
  const auto part = [](int64_t right, int64_t all) {
    return all == 0 ? std::nullopt
                    : std::optional(static_cast<double>(right) / static_cast<double>(all));
  };
  std::vector<ClassResult> results;
  for (auto& [label, result] : classes) {
    result.label = label;
    result.precision = part(result.right, result.predicted);
    result.recall = part(result.right, result.images);
    results.push_back(result);
  }
  return results;
}

}  // namespace caffe2::report
