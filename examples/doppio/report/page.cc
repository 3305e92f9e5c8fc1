#include "examples/doppio/report/page.h"

#include <algorithm>
#include <set>

#include "caffe2/core/logging.h"
#include "examples/doppio/html.h"
#include "examples/doppio/report/chart.h"
#include "examples/doppio/report/memory.h"
#include "examples/doppio/report/predictions.h"
#include "examples/doppio/report/table.h"
#include "examples/doppio/report/timeline.h"

namespace caffe2::report {
namespace {

Series SeriesOf(const std::string& name, const std::vector<Event>& events, const std::string& y) {
  Series series{name, {}, {}, false};
  for (const Event& event : events) {
    if (!event.Has(y)) continue;
    series.x.push_back(event.Number("total_iterations"));
    series.y.push_back(event.Number(y));
  }
  series.dots = series.x.size() <= 60;
  return series;
}

// A chart with a title; empty without points.
std::string Card(const std::string& title, const std::vector<Series>& series) {
  const std::string svg = ChartSvg(series, "iterations");
  return svg.empty() ? ""
                     : "<div class=\"card\"><h3>" + EscapeHtml(title) + "</h3>" + svg + "</div>";
}

struct Curve {
  const char* title;
  const char* y;  // in iterations and tests
  bool of_tests;  // tests have it too
};
constexpr Curve kCurves[] = {
    {"Loss", "loss", true},
    {"Accuracy (top 1)", "accuracy", true},
    {"Images per second, all shards", "images_per_second", false},
    {"Learning rate", "learning_rate", false},
    {"Share of time that waits for input", "input_wait", false},
};

std::string ResultsHtml(const RunRecords& run) {
  std::string rows;
  for (const Result& result : ResultsOf(run)) {
    rows += Row(Head(result.name) + Cell(result.text, true));
  }
  return Table(rows);
}

std::string ShardName(size_t shard, const std::string& number) {
  return MakeString("shards.", shard, ".", number);
}

// How many shards the iterations tell of.
size_t CountShards(const RunRecords& run) {
  size_t count = 0;
  for (const Event& event : run.iterations) {
    while (event.Has(ShardName(count, "images_per_second"))) ++count;
  }
  return count;
}

// A series for each shard; of many shards the smallest, the middle and the largest value of each
// iteration.
std::vector<Series> ShardSeries(const RunRecords& run, size_t shards, const std::string& number) {
  constexpr size_t kMaxSeries = 6;
  std::vector<Series> series;
  if (shards <= kMaxSeries) {
    for (size_t s = 0; s < shards; ++s) {
      series.push_back(SeriesOf(MakeString("shard ", s), run.iterations, ShardName(s, number)));
    }
    return series;
  }
  series = {{"smallest", {}, {}}, {"median", {}, {}}, {"largest", {}, {}}};
  for (const Event& event : run.iterations) {
    std::vector<double> values;
    for (size_t s = 0; event.Has(ShardName(s, number)); ++s) {
      values.push_back(event.Number(ShardName(s, number)));
    }
    if (values.empty()) continue;
    std::sort(values.begin(), values.end());
    for (size_t i = 0; i < series.size(); ++i) {
      series[i].x.push_back(event.Number("total_iterations"));
      series[i].y.push_back(values[i * (values.size() - 1) / 2]);
    }
  }
  return series;
}

// Empty for runs of one shard.
std::string ShardsHtml(const RunRecords& run) {
  const size_t shards = CountShards(run);
  if (shards == 0) return "";
  std::string html =
      "<h2>Shards</h2><p class=\"note\">Shards that sum their gradients all go as fast as the "
      "slowest. It is the one that spends the least time in exchanges: the others wait there for "
      "it.</p><div class=\"grid\">";
  html += Card("Images per second, by shard", ShardSeries(run, shards, "images_per_second"));
  html += Card("Share of time in exchanges", ShardSeries(run, shards, "exchanging"));
  std::string rows = Row(Head("shard", true) + Head("images/s", true) + Head("input wait", true) +
                         Head("in exchanges", true));
  for (size_t s = 0; s < shards; ++s) {
    const auto mean = [&](const char* number) { return MeanOverTime(run, ShardName(s, number)); };
    rows +=
        Row(Cell(MakeString(s), true) + Cell(Formatted("%.1f", mean("images_per_second")), true) +
            Cell(Formatted("%.1f %%", 100 * mean("input_wait")), true) +
            Cell(Formatted("%.1f %%", 100 * mean("exchanging")), true));
  }
  return html + "</div>" + Table(rows);
}

std::string EpochsHtml(const RunRecords& run) {
  if (run.epochs.empty()) return "";
  std::string rows =
      Row(Head("epoch", true) + Head("training loss", true) + Head("training accuracy", true) +
          Head("test accuracy", true) + Head("seconds", true) + Head("images/s", true));
  for (const Event& epoch : run.epochs) {
    const double seconds = epoch.Number("seconds");
    rows +=
        Row(Cell(Formatted("%.0f", epoch.Number("epoch") + 1), true) +
            Cell(Formatted("%.4f", epoch.Number("loss")), true) +
            Cell(Formatted("%.4f", epoch.Number("accuracy")), true) +
            Cell(epoch.Has("test_accuracy") ? Formatted("%.4f", epoch.Number("test_accuracy")) : "",
                 true) +
            Cell(Formatted("%.1f", seconds), true) +
            Cell(seconds > 0 ? Formatted("%.1f", epoch.Number("images") / seconds) : "", true));
  }
  return "<h2>Epochs</h2>" + Table(rows);
}

std::string PairsHtml(const std::string& title, const std::map<std::string, std::string>& pairs) {
  if (pairs.empty()) return "";
  std::string rows;
  for (const auto& [name, value] : pairs) rows += Row(Head(name) + LongCell(value));
  return "<h2>" + EscapeHtml(title) + "</h2>" + Table(rows);
}

std::string Notes(const RunRecords& run) {
  std::string html;
  if (run.starts.size() > 1) {
    html += MakeString("<p class=\"note\">The run was started ", run.starts.size(),
                       " times. Iterations that a restart did not keep are left out.</p>");
  }
  if (run.unreadable_lines > 0) {
    html += MakeString("<p class=\"warning\">", run.unreadable_lines,
                       " lines of metrics.jsonl cannot be read.</p>");
  }
  return html;
}

constexpr char kEqual[] = "the settings are equal";

// The names of flags whose values differ.
std::vector<std::string> Differences(const RunRecords& a, const RunRecords& b) {
  std::set<std::string> names;
  for (const auto* run : {&a, &b}) {
    for (const auto& [name, value] : run->flags) names.insert(name);
  }
  std::vector<std::string> different;
  for (const std::string& name : names) {
    const auto in_a = a.flags.find(name), in_b = b.flags.find(name);
    if (in_a == a.flags.end() || in_b == b.flags.end() || in_a->second != in_b->second) {
      different.push_back(name);
    }
  }
  return different;
}

std::string FlagOf(const RunRecords& run, const std::string& name) {
  const auto found = run.flags.find(name);
  return found == run.flags.end() ? "(no such flag)" : found->second;
}

// The results of both runs by name: what one run lacks is "".
struct Compared {
  std::string name, a, b;
};
std::vector<Compared> CompareResults(const RunRecords& a, const RunRecords& b) {
  std::vector<Compared> rows;
  for (const Result& result : ResultsOf(a)) rows.push_back({result.name, result.text, ""});
  for (const Result& result : ResultsOf(b)) {
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const Compared& row) { return row.name == result.name; });
    if (same == rows.end()) {
      rows.push_back({result.name, "", result.text});
    } else {
      same->b = result.text;
    }
  }
  return rows;
}

std::string Padded(std::string cell, size_t width) {
  cell.resize(std::max(cell.size(), width), ' ');
  return cell;
}

std::vector<Series> BothRuns(const RunRecords& a, const RunRecords& b, const Curve& curve,
                             std::vector<Event> RunRecords::*events) {
  return {SeriesOf("A", a.*events, curve.y), SeriesOf("B", b.*events, curve.y)};
}

}  // namespace

std::string ReportPage(const RunRecords& run) {
  std::string body = Notes(run) + "<h2>Results</h2>" + ResultsHtml(run);
  body += "<h2>Curves</h2><div class=\"grid\">";
  for (const Curve& curve : kCurves) {
    std::vector<Series> series = {SeriesOf("training", run.iterations, curve.y)};
    if (curve.of_tests) series.push_back(SeriesOf("test", run.tests, curve.y));
    body += Card(curve.title, series);
  }
  body += "</div>" + ShardsHtml(run);
  if (run.predictions) body += PredictionsHtml(*run.predictions);
  body += EpochsHtml(run);
  if (run.timeline) body += TimelineHtml(*run.timeline);
  if (run.memory) body += MemoryHtml(*run.memory);
  body += PairsHtml("The run", run.facts) + PairsHtml("Settings", run.flags);
  return HtmlPage("Run " + run.directory, body);
}

std::string ComparePage(const RunRecords& a, const RunRecords& b) {
  std::string body = "<p>A: <code>" + EscapeHtml(a.directory) + "</code><br>B: <code>" +
                     EscapeHtml(b.directory) + "</code></p><h2>Results</h2>";
  std::string rows = Row(Head("") + Head("A", true) + Head("B", true));
  for (const Compared& row : CompareResults(a, b)) {
    rows += Row(Head(row.name) + Cell(row.a, true) + Cell(row.b, true));
  }
  body += Table(rows) + "<h2>Settings that differ</h2>";
  rows = Row(Head("flag") + Head("A") + Head("B"));
  const std::vector<std::string> different = Differences(a, b);
  for (const std::string& name : different) {
    rows += Row(Head(name) + LongCell(FlagOf(a, name)) + LongCell(FlagOf(b, name)));
  }
  body += different.empty() ? "<p>None: " + std::string(kEqual) + ".</p>" : Table(rows);
  body += "<h2>Curves</h2><div class=\"grid\">";
  for (const Curve& curve : kCurves) {
    body += Card(std::string(curve.title) + (curve.of_tests ? ", training" : ""),
                 BothRuns(a, b, curve, &RunRecords::iterations));
    if (!curve.of_tests) continue;
    body += Card(std::string(curve.title) + ", test", BothRuns(a, b, curve, &RunRecords::tests));
  }
  return HtmlPage("Comparison of two runs", body + "</div>");
}

std::string CompareText(const RunRecords& a, const RunRecords& b) {
  std::string text = "A: " + a.directory + "\nB: " + b.directory + "\n\n";
  const auto add = [&](const std::string& name, const std::string& in_a, const std::string& in_b) {
    text += Padded(name, 28) + "  " + Padded(in_a, 24) + "  " + in_b + "\n";
  };
  add("", "A", "B");
  for (const Compared& row : CompareResults(a, b)) add(row.name, row.a, row.b);
  const std::vector<std::string> different = Differences(a, b);
  for (const std::string& name : different) add("--" + name, FlagOf(a, name), FlagOf(b, name));
  return text + (different.empty() ? std::string(kEqual) + "\n" : "");
}

}  // namespace caffe2::report
