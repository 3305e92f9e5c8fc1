// What an inspection found, for people and programs.
#include <algorithm>

#include "caffe2/core/logging.h"
#include "caffe2/utils/json_text.h"
#include "examples/doppio/data/inspect.h"
#include "examples/doppio/html.h"
#include "examples/doppio/report/table.h"
#include "examples/doppio/text.h"

namespace caffe2::data {
namespace {

constexpr size_t kMaxLines = 20;  // of labels
constexpr size_t kMaxCounts = 8;  // in a line

std::string Join(const std::vector<double>& values, const char* format) {
  std::string text;
  for (const double value : values)
    text += (text.empty() ? "" : ",") + report::Formatted(format, value);
  return text;
}

// The pairs (name, count), most frequent first.
std::vector<std::pair<std::string, int64_t>> ByCount(const std::map<std::string, int64_t>& counts) {
  std::vector<std::pair<std::string, int64_t>> pairs(counts.begin(), counts.end());
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return pairs;
}

// "28x28x1: 60,000; 32x32x3: 7", at most kMaxCounts of them.
std::string CountsText(const std::map<std::string, int64_t>& counts) {
  std::string text;
  size_t shown = 0;
  for (const auto& [name, count] : ByCount(counts)) {
    if (shown++ == kMaxCounts) return text + MakeString("; ", counts.size() - kMaxCounts, " more");
    text += (text.empty() ? "" : "; ") + name + ": " + Grouped(count);
  }
  return text.empty() ? "none" : text;
}

int64_t MeanBytes(const Inspection& found) {
  return found.bytes / std::max<int64_t>(1, found.records);
}

// records / (labels * records of the label) for the labels 0, 1, ...: all labels count alike in a
// loss with these weights. 0 for a label without records; empty if not all records were looked at,
// or there are negative labels or far more numbers than labels.
std::vector<double> BalancedWeights(const Inspection& found) {
  const std::map<int64_t, int64_t>& labels = found.labels;
  if (found.records < found.total || labels.empty() || labels.begin()->first < 0) return {};
  const int64_t size = labels.rbegin()->first + 1;
  if (size > 2 * static_cast<int64_t>(labels.size()) + 10) return {};
  double records = 0;
  for (const auto& [label, count] : labels) records += static_cast<double>(count);
  std::vector<double> weights(static_cast<size_t>(size));
  for (const auto& [label, count] : labels) {
    weights[static_cast<size_t>(label)] =
        records / (static_cast<double>(labels.size()) * static_cast<double>(count));
  }
  return weights;
}

// Rows (name, value) that text and page share.
std::vector<std::pair<std::string, std::string>> Facts(const Inspection& found) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"source", found.source + " (db_type " + found.db_type + ")"},
      {"records", Grouped(found.total) +
                      (found.records < found.total
                           ? ", of which the first " + Grouped(found.records) + " were looked at"
                           : "")},
      {"bytes", HumanBytes(found.bytes) + "; a record has " + HumanBytes(found.min_bytes) + " to " +
                    HumanBytes(found.max_bytes) + ", " + HumanBytes(MeanBytes(found)) +
                    " on average"},
      {"checksum",
       found.fingerprint.empty() ? "none, as records cannot be read" : found.fingerprint},
  };
  if (found.kinds.empty()) {
    facts.emplace_back("images", "no images");
  } else {
    facts.emplace_back("kinds of records", CountsText(found.kinds));
    facts.emplace_back("height x width x channels", CountsText(found.shapes));
  }
  if (!found.others.empty()) {
    facts.emplace_back("tensors that are no images", CountsText(found.others));
  }
  if (!found.mean.empty()) {
    const char* order = found.mean.size() == 3 ? " (blue,green,red)" : "";
    facts.emplace_back("mean of pixels" + std::string(order), Join(found.mean, "%.2f"));
    facts.emplace_back("standard deviation", Join(found.std, "%.2f"));
  }
  if (found.without_label > 0) facts.emplace_back("without a label", Grouped(found.without_label));
  facts.emplace_back("labels", Grouped(static_cast<int64_t>(found.labels.size())));
  const std::vector<double> weights = BalancedWeights(found);
  constexpr size_t kMaxShown = 20;
  if (weights.size() > 1 && weights.size() <= kMaxShown) {
    facts.emplace_back("balanced --class_weights", Join(weights, "%.4g"));
  }
  facts.emplace_back("damaged records", Grouped(found.num_damaged));
  if (found.records > 0 && found.num_damaged == found.records) {
    facts.emplace_back("warning",
                       "no record can be read as an image, so this may be no database of images");
  }
  for (const std::string& text : {found.left_out, found.incomplete}) {
    if (!text.empty()) facts.emplace_back("warning", text);
  }
  return facts;
}

std::string FactsHtml(const Inspection& found) {
  std::string rows;
  for (const auto& [name, value] : Facts(found)) {
    rows += report::Row(report::Head(name) + report::LongCell(value));
  }
  return report::Table(rows);
}

std::string LabelsHtml(const Inspection& found) {
  int64_t max = 1;
  for (const auto& [label, count] : found.labels) max = std::max(max, count);
  std::string rows =
      report::Row(report::Head("label") + report::Head("records", true) + report::Head(""));
  for (const auto& [label, count] : found.labels) {
    rows += report::Row(report::Cell(LabelText(found, label)) + report::Cell(Grouped(count), true) +
                        report::BarCell(static_cast<double>(count) / static_cast<double>(max)));
  }
  return "<h2>Labels</h2>" + report::Table(rows);
}

std::string PicturesHtml(const Inspection& found) {
  std::string html;
  for (const auto& [label, pictures] : found.pictures) {
    html += "<h3>" + (label < 0 ? "without a label" : EscapeHtml(LabelText(found, label))) +
            "</h3><div class=\"pictures\">";
    for (const Picture& picture : pictures) {
      const std::string key = EscapeHtml(picture.key);
      html += "<img alt=\"" + key + "\" title=\"" + key + "\" src=\"data:image/png;base64," +
              Base64(picture.file) + "\">";
    }
    html += "</div>";
  }
  return html.empty() ? "" : "<h2>Pictures</h2>" + html;
}

std::string DamagedHtml(const Inspection& found) {
  if (found.num_damaged == 0) return "";
  std::string html = "<h2 class=\"warning\">Damaged records</h2><ul>";
  for (const std::string& text : found.damaged)
    html += "<li><code>" + EscapeHtml(text) + "</code></li>";
  const auto more = found.num_damaged - static_cast<int64_t>(found.damaged.size());
  if (more > 0) html += "<li>" + Grouped(more) + " more</li>";
  return html + "</ul>";
}

std::string JsonCounts(const std::map<std::string, int64_t>& counts) {
  JsonObject object;
  for (const auto& [name, count] : counts) object.Add(name, count);
  return object.ToString();
}

template <typename T, typename F>
std::string JsonList(const std::vector<T>& values, const F& json) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + json(value);
  return "[" + text + "]";
}

}  // namespace

std::string InspectionText(const Inspection& found) {
  std::string text;
  for (const auto& [name, value] : Facts(found)) text += name + ": " + value + "\n";
  size_t shown = 0;
  for (const auto& [label, count] : found.labels) {
    if (shown++ == kMaxLines) {
      text +=
          MakeString("  ", found.labels.size() - kMaxLines, " more labels (--json lists all)\n");
      break;
    }
    text += "  label " + LabelText(found, label) + ": " + Grouped(count) + "\n";
  }
  for (const std::string& each : found.damaged) text += "damaged: " + each + "\n";
  return text;
}

std::string InspectionJson(const Inspection& found) {
  std::map<std::string, int64_t> labels;
  for (const auto& [label, count] : found.labels) labels[std::to_string(label)] = count;
  JsonObject object;
  object.Add("source", found.source).Add("db_type", found.db_type);
  object.Add("fingerprint", found.fingerprint);
  object.Add("total", found.total).Add("records", found.records).Add("bytes", found.bytes);
  object.Add("min_bytes", found.min_bytes).Add("max_bytes", found.max_bytes);
  object.AddJson("kinds", JsonCounts(found.kinds)).AddJson("shapes", JsonCounts(found.shapes));
  object.AddJson("others", JsonCounts(found.others));
  object.AddJson("labels", JsonCounts(labels)).Add("without_label", found.without_label);
  object.AddJson("balanced_class_weights", JsonList(BalancedWeights(found), JsonNumber));
  object.AddJson("class_names", JsonList(found.class_names, JsonString));
  object.Add("left_out", found.left_out);
  object.Add("incomplete", found.incomplete);
  object.AddJson("mean", JsonList(found.mean, JsonNumber));
  object.AddJson("std", JsonList(found.std, JsonNumber));
  object.Add("num_damaged", found.num_damaged);
  object.AddJson("damaged", JsonList(found.damaged, JsonString));
  return object.ToString() + "\n";
}

std::string InspectionHtml(const Inspection& found) {
  return HtmlPage("Records of " + found.source,
                  FactsHtml(found) + DamagedHtml(found) + LabelsHtml(found) + PicturesHtml(found));
}

}  // namespace caffe2::data
