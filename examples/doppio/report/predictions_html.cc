#include <algorithm>
#include <cmath>
#include <memory>

#include "caffe2/core/logging.h"
#include "db/db.h"
#include "db/image/image_record.h"
#include "examples/doppio/pictures.h"
#include "examples/doppio/report/predictions.h"
#include "examples/doppio/report/table.h"
#include "examples/doppio/text.h"

namespace caffe2::report {
namespace {

constexpr size_t kMaxMatrix = 25;    // classes of a matrix that can be read
constexpr size_t kMaxMistakes = 30;  // rows of the table of mistakes

using Names = std::vector<std::string>;

std::string Percent(double part) { return Formatted("%.1f %%", 100 * part); }

std::string ClassesHtml(const std::vector<ClassResult>& classes, const Names& names) {
  std::string rows =
      Row(Head("class") + Head("images", true) + Head("right", true) + Head("recall", true) +
          Head("taken for it", true) + Head("precision", true) + Head("F1", true));
  for (const ClassResult& each : classes) {
    const double sum = each.precision.value_or(0) + each.recall.value_or(0);
    const double f1 = sum > 0 ? 2 * each.precision.value_or(0) * each.recall.value_or(0) / sum : 0.;
    rows +=
        Row(Cell(LabelText(names, each.label)) + Cell(Grouped(each.images), true) +
            Cell(Grouped(each.right), true) + Cell(each.recall ? Percent(*each.recall) : "", true) +
            Cell(Grouped(each.predicted), true) +
            Cell(each.precision ? Percent(*each.precision) : "", true) +
            Cell(Formatted("%.3f", f1), true));
  }
  return "<h3>By class</h3>" + Table(rows);
}

std::string SvgText(double x, double y, const char* anchor, const char* color,
                    const std::string& text) {
  return MakeString("<text x=\"", x, "\" y=\"", y, "\" text-anchor=\"", anchor,
                    "\" style=\"fill:var(--", color, ")\">", EscapeHtml(text), "</text>");
}

// A row for each label, a column for each prediction; the darker, the larger the part of the row.
std::string MatrixHtml(const Predictions& predictions, const std::vector<ClassResult>& classes,
                       const Names& names) {
  constexpr double kCell = 42, kTop = 46;
  constexpr double kNarrow = 0.7;  // numbers of a smaller matrix could not be read
  size_t longest = std::string("class").size();
  for (const ClassResult& each : classes) {
    longest = std::max(longest, std::min<size_t>(24, LabelText(names, each.label).size()));
  }
  const double left = 20 + 6.5 * static_cast<double>(longest);
  const double side = kCell * static_cast<double>(classes.size());
  std::string svg = MakeString("<svg viewBox=\"0 0 ", left + side + 2, " ", kTop + side + 2,
                               "\" style=\"max-width:", left + side + 2,
                               "px;min-width:", kNarrow * (left + side + 2), "px\" role=\"img\">");
  svg += SvgText(left - 8, kTop - 8, "end", "soft", "class");
  svg += SvgText(left + side / 2, 16, "middle", "soft", "taken for");
  for (size_t i = 0; i < classes.size(); ++i) {
    const double at = kCell * static_cast<double>(i);
    svg += SvgText(left + at + kCell / 2, kTop - 8, "middle", "soft",
                   std::to_string(classes[i].label));
    svg += SvgText(left - 8, kTop + at + kCell / 2 + 4, "end", "soft",
                   LabelText(names, classes[i].label).substr(0, 24));
    for (size_t j = 0; j < classes.size(); ++j) {
      const double x = left + kCell * static_cast<double>(j), y = kTop + at;
      const auto found = predictions.counts.find({classes[i].label, classes[j].label});
      const int64_t count = found == predictions.counts.end() ? 0 : found->second;
      const double part =
          count == 0 ? 0 : static_cast<double>(count) / static_cast<double>(classes[i].images);
      // The square root keeps rare mistakes visible.
      svg += MakeString("<rect x=\"", x, "\" y=\"", y, "\" width=\"", kCell - 2, "\" height=\"",
                        kCell - 2, "\" rx=\"3\" fill=\"var(--", i == j ? "c2" : "c1",
                        ")\" fill-opacity=\"", count == 0 ? 0.05 : 0.1 + 0.6 * std::sqrt(part),
                        "\"/>");
      if (count == 0) continue;
      svg += SvgText(x + (kCell - 2) / 2, y + kCell / 2 + 3, "middle", "ink", MakeString(count));
    }
  }
  return "<h3>Confusion matrix</h3><div class=\"scroll\">" + svg + "</svg></div>";
}

std::string MistakesHtml(const Predictions& predictions, const std::vector<ClassResult>& classes,
                         const Names& names) {
  std::map<int64_t, int64_t> images;
  for (const ClassResult& each : classes) images[each.label] = each.images;
  std::vector<std::pair<int64_t, std::pair<int64_t, int64_t>>> mistakes;
  for (const auto& [labels, count] : predictions.counts) {
    if (labels.first != labels.second) mistakes.emplace_back(count, labels);
  }
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (mistakes.size() > kMaxMistakes) mistakes.resize(kMaxMistakes);
  std::string rows =
      Row(Head("class") + Head("taken for") + Head("images", true) + Head("of the class", true));
  for (const auto& [count, labels] : mistakes) {
    const auto all = static_cast<double>(images[labels.first]);
    rows += Row(Cell(LabelText(names, labels.first)) + Cell(LabelText(names, labels.second)) +
                Cell(Grouped(count), true) + Cell(Percent(static_cast<double>(count) / all), true));
  }
  return "<h3>Most frequent mistakes</h3>" + Table(rows);
}

// No line of a caption ends before the sign.
std::string CaptionPercent(double probability) {
  return probability < 0.0005
             ? "under 0.1\u00a0%"
             : Formatted(probability < 0.1 ? "%.1f\u00a0%%" : "%.0f\u00a0%%", 100 * probability);
}

std::string FigureHtml(const WorstImage& image, const std::string& png, const Names& names) {
  const std::string right =
      LabelText(names, image.label) + ", " + CaptionPercent(image.label_probability);
  const std::string wrong =
      LabelText(names, image.predicted) + ", " + CaptionPercent(image.confidence);
  return "<figure><img src=\"data:image/png;base64," + Base64(png) + "\" alt=\"" +
         EscapeHtml(image.key) + "\" title=\"" +
         EscapeHtml(MakeString("record ", image.record, ", key ", image.key)) + "\"><figcaption>" +
         EscapeHtml(right) + "<br>taken for " + EscapeHtml(wrong) + "</figcaption></figure>";
}

std::string WorstHtml(const Predictions& predictions, const Names& names) {
  if (predictions.worst.empty()) return "";
  std::string html =
      "<h3>Worst images</h3><p class=\"note\">Wrong images with the probabilities of their own "
      "class "
      "and of the class that they were taken for. The first had the smallest of its own.</p><div "
      "class=\"pictures\">";
  const auto database = db::CreateDB(predictions.db_type, predictions.database, db::READ);
  const auto index = database->NewIndex();
  for (const WorstImage& image : predictions.worst) {
    CAFFE_ENFORCE(image.record >= 0 && image.record < index->NumRecords(),
                  "the database has no record ", image.record);
    std::string key, value;
    index->Read(image.record, &key, &value);
    CAFFE_ENFORCE(key == image.key, "record ", image.record, " has the key ", key,
                  "; when it was tested it had ", image.key);
    html += FigureHtml(image, Thumbnail(db::DecodeImageRecord(value).image.view), names);
  }
  return html + "</div>";
}

}  // namespace

std::string PredictionsHtml(const Predictions& predictions) {
  std::string worst;
  const Names& names = predictions.class_names;
  try {
    worst = WorstHtml(predictions, names);
  } catch (const Error& error) {
    worst = "<p class=\"warning\">The worst images cannot be shown from " +
            EscapeHtml(predictions.database) + ": " + EscapeHtml(error.what()) + "</p>";
  }
  const std::vector<ClassResult> classes = ClassResults(predictions);
  return MakeString("<h2>Predictions of the last test</h2><p class=\"note\">",
                    Grouped(predictions.images), " images after epoch ", predictions.epoch + 1,
                    ".</p>") +
         (classes.size() <= kMaxMatrix ? MatrixHtml(predictions, classes, names)
                                       : MistakesHtml(predictions, classes, names)) +
         worst + ClassesHtml(classes, names);
}

}  // namespace caffe2::report
