#include "train/observe/run_trace.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <sstream>

#include "caffe2/core/net.h"
#include "caffe2/core/net_observer.h"
#include "caffe2/utils/json_text.h"
#include "caffe2/utils/trace.h"
#include "distributed/host.h"
#include "train/atomic_file.h"
#include "train/observe/timeline_summary.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

class OperatorSpans : public NetObserver {
 public:
  OperatorSpans(const NetBase* net, bool watches_operators)
      : net_(net), watches_operators_(watches_operators), starts_(net->operators().size()) {}

  bool WatchesOperators() const override { return watches_operators_; }
  void NetStarts() override { start_ = Clock::now(); }
  void NetStops() override { AddToTrace("operator", "net " + net_->Name(), start_); }
  void OperatorStarts(size_t i) override { starts_[i] = Clock::now(); }
  void OperatorStops(size_t i) override {
    const OperatorDef& op = net_->net_def().op(static_cast<int>(i));
    const std::string& shown =
        !op.name().empty() || op.output_size() == 0 ? op.name() : op.output(0);
    AddToTrace("operator", op.type() + " " + shown, starts_[i]);
  }

 private:
  const NetBase* const net_;
  const bool watches_operators_;
  Clock::time_point start_;
  std::vector<Clock::time_point> starts_;  // by operator
};

// What a shard sends to shard 0: lines of text.
std::string Encode(const Trace& trace, const std::vector<ExchangeTimes>& exchanges) {
  const ProcessId self = ProcessId::Self();
  std::ostringstream text;
  text << JsonString(self.host) << "\n"
       << self.boot_id << "\n"
       << self.pid << " " << trace.dropped << " " << exchanges.size() << "\n";
  for (const ExchangeTimes& each : exchanges) text << each.entered << " " << each.left << "\n";
  for (const TraceSpan& span : trace.spans) {
    text << span.thread << " " << span.start << " " << span.end << " " << span.category << " "
         << JsonString(span.name) << "\n";
  }
  return text.str();
}

struct ShardTrace {
  struct Span {
    int thread = 0;
    int64_t start = 0, end = 0;
    std::string category, name_json;
  };
  std::string host_json, boot_id;
  int64_t pid = 0, dropped = 0;
  std::vector<ExchangeTimes> exchanges;
  std::vector<Span> spans;
};

ShardTrace Decode(const std::string& text) {
  ShardTrace shard;
  std::istringstream lines(text);
  std::getline(lines, shard.host_json);
  std::getline(lines, shard.boot_id);
  size_t exchanges = 0;
  lines >> shard.pid >> shard.dropped >> exchanges;
  for (size_t i = 0; i < exchanges; ++i) {
    ExchangeTimes times;
    lines >> times.entered >> times.left;
    shard.exchanges.push_back(times);
  }
  CAFFE_ENFORCE(!lines.fail(), "the timeline of a shard is cut short");
  ShardTrace::Span span;
  while (lines >> span.thread >> span.start >> span.end >> span.category) {
    std::getline(lines >> std::ws, span.name_json);
    shard.spans.push_back(span);
  }
  return shard;
}

std::string Microseconds(int64_t ns) {
  const char* sign = ns < 0 ? "-" : "";
  const int64_t size = ns < 0 ? -ns : ns;
  char text[40];
  std::snprintf(text, sizeof(text), "%s%lld.%03lld", sign, static_cast<long long>(size / 1000),
                static_cast<long long>(size % 1000));
  return text;
}

// Names and orders a process or a thread of the timeline.
std::string Metadata(const char* what, size_t shard, int thread, const std::string& args) {
  return MakeString("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", shard, ",\"tid\":", thread,
                    ",\"args\":{", args, "}}");
}

// Threads are named by what they did first.
std::string ThreadName(const std::string& category, int thread) {
  if (category == "iteration" || category == "operator") return "training";
  return MakeString(category, " ", thread);
}

class TimelineJson {
 public:
  explicit TimelineJson(const std::vector<ShardTrace>& shards) : shards_(shards) {
    for (const ShardTrace& shard : shards) {
      offsets_.push_back(
          AlignClock(shards[0].exchanges, shard.exchanges, shard.boot_id == shards[0].boot_id));
      for (const auto& span : shard.spans) {
        begin_ = std::min(begin_, span.start - offsets_.back().ahead);
      }
    }
  }

  std::string Text(const std::string& run_id) {
    for (size_t s = 0; s < shards_.size(); ++s) AddShard(s);
    std::string described;
    for (size_t s = 0; s < shards_.size(); ++s) {
      described +=
          (s == 0 ? "" : ",") + JsonObject()
                                    .Add("shard", static_cast<int64_t>(s))
                                    .AddJson("host", shards_[s].host_json)
                                    .Add("pid", shards_[s].pid)
                                    .AddJson("clock_ahead_us", Microseconds(offsets_[s].ahead))
                                    .AddJson("clock_error_us", Microseconds(offsets_[s].error))
                                    .Add("dropped_spans", shards_[s].dropped)
                                    .ToString();
    }
    return "{\"displayTimeUnit\":\"ms\",\"otherData\":" +
           JsonObject().Add("run_id", run_id).AddJson("shards", "[" + described + "]").ToString() +
           ",\"traceEvents\":[\n" + events_ + "\n]}\n";
  }

 private:
  void AddEvent(const std::string& json) { events_ += (events_.empty() ? "" : ",\n") + json; }

  void AddShard(size_t s) {
    const ShardTrace& shard = shards_[s];
    const std::string host = shard.host_json.substr(1, shard.host_json.size() - 2);
    AddEvent(Metadata("process_name", s, 0,
                      MakeString("\"name\":\"shard ", s, " (", host, ", pid ", shard.pid,
                                 ", clock +/- ", Microseconds(offsets_[s].error), " us)\"")));
    AddEvent(Metadata("process_sort_index", s, 0, MakeString("\"sort_index\":", s)));
    std::map<int, std::string> threads;
    for (const auto& span : shard.spans) threads.emplace(span.thread, span.category);
    for (const auto& span : shard.spans) {
      if (span.category == "iteration") threads[span.thread] = span.category;
    }
    for (const auto& [thread, category] : threads) {
      AddEvent(Metadata("thread_name", s, thread,
                        "\"name\":" + JsonString(ThreadName(category, thread))));
    }
    for (const auto& span : shard.spans) {
      AddEvent(MakeString("{\"ph\":\"X\",\"cat\":\"", span.category, "\",\"name\":", span.name_json,
                          ",\"pid\":", s, ",\"tid\":", span.thread,
                          ",\"ts\":", Microseconds(span.start - offsets_[s].ahead - begin_),
                          ",\"dur\":", Microseconds(span.end - span.start), "}"));
    }
  }

  const std::vector<ShardTrace>& shards_;
  std::vector<ClockOffset> offsets_;
  int64_t begin_ = std::numeric_limits<int64_t>::max();
  std::string events_;
};

// Without quotation marks and escapes: what the summary needs of it is plain words.
std::string PlainName(const std::string& name_json) {
  return name_json.substr(1, name_json.size() - 2);
}

std::string SummaryOf(const std::vector<ShardTrace>& shards, const OutputOptions& output) {
  std::vector<ShardTimeline> timelines(shards.size());
  for (size_t s = 0; s < shards.size(); ++s) {
    for (const ShardTrace::Span& span : shards[s].spans) {
      timelines[s].Add(span.category, PlainName(span.name_json), span.start, span.end);
    }
  }
  return TimelineSummaryJson(output.trace_path, output.trace_first, output.trace_last, timelines);
}

}  // namespace

ClockOffset AlignClock(const std::vector<ExchangeTimes>& first,
                       const std::vector<ExchangeTimes>& other, bool same_clock) {
  CAFFE_ENFORCE(!first.empty());
  CAFFE_ENFORCE_EQ(first.size(), other.size());
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < first.size(); ++i) {
    low = std::max(low, other[i].entered - first[i].left);
    high = std::min(high, other[i].left - first[i].entered);
  }
  if (same_clock && low <= 0 && high >= 0) return {};
  return {.ahead = low + (high - low) / 2, .error = (high - low + 1) / 2};
}

RunTrace::RunTrace(const TrainOptions& options, const TrainNets& nets, Workspace* ws, ShardRun* run)
    : options_(options), nets_(nets), ws_(ws), run_(run) {}

RunTrace::~RunTrace() {
  if (state_ == State::kRecording) StopTrace();
}

void RunTrace::BeforeIteration(int64_t number) {
  if (state_ != State::kBefore || number < options_.output.trace_first) return;
  if (number <= options_.output.trace_last) return Start();
  state_ = State::kDone;
  LOG(WARNING) << "--trace: the run goes on with iteration " << number
               << ", after --trace_iterations: there is no timeline";
}

void RunTrace::Start() {
  state_ = State::kRecording;
  StartTrace(kMaxSpans);
  NetBase* net = ws_->GetNet(nets_.train.name());
  // Recorded CUDA graphs have no operators of their own.
  observer_ = net->AttachObserver(std::make_unique<OperatorSpans>(net, !options_.cuda_graph));
}

void RunTrace::AfterIteration(int64_t number) {
  if (state_ == State::kRecording && number >= options_.output.trace_last) Write();
}

void RunTrace::Finish() {
  if (state_ == State::kRecording) Write();
  if (state_ == State::kDone) return;
  state_ = State::kDone;
  LOG(WARNING) << "--trace: the run ended before iteration " << options_.output.trace_first
               << " of --trace_iterations: there is no timeline";
}

void RunTrace::Write() {
  const Trace trace = StopTrace();
  state_ = State::kDone;
  ws_->GetNet(nets_.train.name())->DetachObserver(observer_);
  constexpr int kExchanges = 16;
  std::vector<ExchangeTimes> exchanges;
  for (int i = 0; i < kExchanges; ++i) {
    std::vector<double> nothing = {0};
    ExchangeTimes times;
    times.entered = NowNs();
    run_->Sum(&nothing);
    times.left = NowNs();
    exchanges.push_back(times);
  }
  const std::vector<std::string> texts = run_->Gather(Encode(trace, exchanges));
  if (!run_->IsWriter()) return;
  std::vector<ShardTrace> shards;
  for (const std::string& text : texts) shards.push_back(Decode(text));
  const std::string& path = options_.output.trace_path;
  try {
    WriteWholeFile(path, TimelineJson(shards).Text(run_->identity().run_id));
    LOG(INFO) << "Timeline: " << path << " (open it in https://ui.perfetto.dev)";
  } catch (const IoError& error) {
    LOG(WARNING) << error.what() << ". There is no timeline.";
  }
  const std::string& summary = options_.output.trace_summary_path;
  if (summary.empty()) return;
  try {
    WriteWholeFile(summary, SummaryOf(shards, options_.output) + "\n");
  } catch (const IoError& error) {
    LOG(WARNING) << error.what() << ". The timeline has no summary.";
  }
}

}  // namespace caffe2
