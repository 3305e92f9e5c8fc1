#include "distributed/launcher/launch_report.h"

#include <cstdio>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "distributed/run_record.h"

namespace caffe2 {

namespace {

constexpr int kSshFailure = 255;

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

std::string Status(const LaunchPlan& plan, int status) {
  std::string why = DescribeExitStatus(status);
  if (status > 128 && !why.empty()) return why;
  if (status == kSshFailure && plan.engine == LaunchEngine::kSsh) why = "ssh cannot connect";
  return MakeString("exit status ", status, why.empty() ? "" : " (" + why + ")");
}

std::string DescribeEnd(const LaunchPlan& plan, const ShardEnd& end) {
  return MakeString("shard ", end.shard, " on ", end.host, ": ", Status(plan, end.status),
                    " after ", Seconds(end.seconds));
}

std::string DescribeDone(const LaunchPlan& plan, const AttemptResult& result) {
  std::vector<int> lost;
  for (const ShardEnd& end : result.ends) {
    if (end.was_expendable) lost.push_back(end.shard);
  }
  if (lost.empty()) return MakeString("all ", plan.num_shards, " shards are done");
  return MakeString("done without ", ListOfShards(lost), " of ", plan.num_shards);
}

// The shard refuses its flags or variables, and has said so in its only lines.
bool IsRefusal(const ShardEnd& end) {
  constexpr size_t kMaxLines = 2;
  return end.status == static_cast<int>(ExitCode::kUsage) && !end.last_lines.empty() &&
         end.last_lines.size() <= kMaxLines;
}

// All shards refuse the same flags, so one line says what the output above does not.
std::string DescribeRefusals(const LaunchPlan& plan, const AttemptResult& result,
                             const ShardEnd& first) {
  std::vector<int> others;
  for (const ShardEnd& end : result.ends) {
    if (&end != &first && IsRefusal(end)) others.push_back(end.shard);
  }
  std::string text = DescribeEnd(plan, first);
  if (!others.empty()) text += ", then " + ListOfShards(others) + " in the same way";
  return text + "\n";
}

std::string LastLines(const ShardEnd& end, const std::string& log_dir) {
  if (end.last_lines.empty()) return MakeString("doppio: shard ", end.shard, " printed nothing\n");
  std::string text = MakeString("doppio: last lines of shard ", end.shard);
  if (!log_dir.empty()) text += MakeString(" (all: ", LogPath(log_dir, end.shard), ")");
  text += ":\n";
  for (const std::string& line : end.last_lines) text += "doppio:   | " + line + "\n";
  return text;
}

}  // namespace

std::string ReportOf(const LaunchPlan& plan, const AttemptResult& result,
                     const std::string& log_dir) {
  const std::string start = MakeString("doppio: run ", plan.run_id, ": ");
  const std::string after = " after " + Seconds(result.seconds) + "\n";
  if (result.StoppedToGrow()) return MakeString(start, "stopped to go on with more shards", after);
  if (result.ok()) return MakeString(start, DescribeDone(plan, result), after);
  const ShardEnd* first = result.FirstFailure();
  if (result.signal != 0) {
    return MakeString(start, "ended by ", DescribeExitStatus(128 + result.signal), after);
  }
  if (first == nullptr) {
    return MakeString(start, "the launcher failed: ", Status(plan, result.launcher_status), after);
  }
  const bool refused = IsRefusal(*first);
  std::string text = MakeString(
      start, "failed; first ",
      refused ? DescribeRefusals(plan, result, *first) : DescribeEnd(plan, *first) + "\n");
  for (const ShardEnd& end : result.ends) {
    if (&end != first && !(refused && IsRefusal(end)))
      text += MakeString("doppio:   then ", DescribeEnd(plan, end), "\n");
  }
  return refused ? text : text + LastLines(*first, log_dir);
}

int LauncherExitStatus(const AttemptResult& result) {
  if (result.signal != 0) return 128 + result.signal;
  const ShardEnd* first = result.FirstFailure();
  return first != nullptr ? first->status : result.launcher_status;
}

}  // namespace caffe2
