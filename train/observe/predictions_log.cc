#include "train/observe/predictions_log.h"

#include <filesystem>

#include "caffe2/core/logging.h"
#include "caffe2/utils/json_text.h"
#include "db/db.h"
#include "db/tar_archive.h"
#include "train/test_predictions.h"

namespace caffe2 {
namespace {

std::string CountsJson(const TestPredictions& predictions) {
  std::string json;
  for (const auto& [labels, count] : predictions.counts()) {
    json +=
        MakeString(json.empty() ? "" : ",", "[", labels.first, ",", labels.second, ",", count, "]");
  }
  return "[" + json + "]";
}

std::string NamesJson(const std::vector<std::string>& names) {
  std::string json;
  for (const std::string& name : names) json += (json.empty() ? "" : ",") + JsonString(name);
  return "[" + json + "]";
}

std::string WorstJson(const TestPredictions& predictions) {
  std::string json;
  for (const WrongImage& image : predictions.worst()) {
    json +=
        (json.empty() ? "" : ",") + JsonObject()
                                        .Add("record", image.record)
                                        .Add("key", image.key)
                                        .Add("label", image.label)
                                        .Add("predicted", image.predicted)
                                        .Add("confidence", double{image.confidence})
                                        .Add("label_probability", double{image.label_probability})
                                        .ToString();
  }
  return "[" + json + "]";
}

}  // namespace

void PredictionsLog::OnTest(const TestReport& report) {
  if (!report.predictions || failed_) return;
  const DataOptions& data = options_.data;
  const std::string type = data.db_type == "auto" ? db::GuessDBType(data.test_data) : data.db_type;
  // The page about the run may be made in another folder.
  std::error_code error;
  const bool is_path =
      std::filesystem::exists(data.test_data, error) || db::IsInArchive(data.test_data);
  const std::string database =
      is_path ? std::filesystem::absolute(data.test_data).string() : data.test_data;
  const std::string json = JsonObject()
                               .Add("epoch", report.epoch)
                               .Add("images", report.images)
                               .Add("num_labels", options_.model.shape.num_labels)
                               .Add("database", database)
                               .Add("db_type", type)
                               .AddJson("class_names", NamesJson(data.class_names))
                               .AddJson("counts", CountsJson(*report.predictions))
                               .AddJson("worst", WorstJson(*report.predictions))
                               .ToString();
  failed_ = !WriteRunFile(path_, json + "\n");
}

}  // namespace caffe2
