// What the programs that time nets and operators share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/memory_plan.h"
#include "caffe2/utils/seconds_since.h"

namespace caffe2::benchmark {

using Clock = std::chrono::steady_clock;

// Feeds blob "data" with uniform values in [-1, 1).
inline void FeedImages(const std::vector<int64_t>& shape, Workspace* ws) {
  Tensor* data = BlobGetMutableTensor(ws->CreateBlob("data"), Device{});
  data->Resize(shape);
  RandomGenerator random(1);
  float* values = data->mutable_data<float>();
  for (int64_t i = 0; i < data->numel(); ++i) values[i] = 2 * random.Uniform() - 1;
}

// Moves a fed blob to the device on which the net reads it.
inline void MoveTo(const Device& device, const std::string& name, Workspace* ws) {
  if (device.type == CPU) return;
  Blob moved;
  BlobGetMutableTensor(&moved, device)->CopyFrom(ws->GetBlob(name)->Get<Tensor>());
  ws->GetBlob(name)->swap(moved);
}

inline void PrintPlan(const MemoryPlan& plan) {
  std::fprintf(stderr, "memory plan: %.1f MiB instead of %.1f\n",
               static_cast<double>(plan.arena_bytes) / (1 << 20),
               static_cast<double>(plan.unplanned_bytes) / (1 << 20));
}

// Plans the memory of an inference net from the shapes of its inputs in the workspace.
inline void ShareMemory(const NetDef& net, Workspace* ws, const Device& device) {
  std::map<std::string, TensorShape> shapes;
  for (const std::string& blob : ws->Blobs()) {
    shapes[blob] = GetTensorShapeOfBlob(*ws->GetBlob(blob));
  }
  const MemoryPlan plan = PlanMemory(net, InferBlobShapesAndTypes(shapes, {&net}));
  PrintPlan(plan);
  ApplyMemoryPlan(plan, device, ws);
}

// The time of one of n runs that follow each other.
inline double SecondsOfRuns(OperatorBase* op, int n) {
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < n; ++i) CAFFE_ENFORCE(op->RunAsync());
  op->Finish();
  return SecondsSince(begin) / n;
}

// The median time of a run, in groups of about 4 ms after a warm-up.
inline double MedianSeconds(OperatorBase* op) {
  SecondsOfRuns(op, 1);
  const int n = std::clamp(static_cast<int>(4e-3 / std::max(SecondsOfRuns(op, 2), 1e-7)), 1, 1000);
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) seconds.push_back(SecondsOfRuns(op, n));
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

// The least time of a run, in groups of about 0.2 ms: long ones are interrupted on busy machines.
inline double LeastSeconds(OperatorBase* op) {
  double min = SecondsOfRuns(op, 1);
  for (int i = 0; i < 5; ++i) min = std::min(min, SecondsOfRuns(op, 1));
  const int n = std::max(1, static_cast<int>(2e-4 / min));
  for (int i = 0; i < 50; ++i) min = std::min(min, SecondsOfRuns(op, n));
  return min;
}

// Images per second of each run after a warm-up, until `min_seconds` have passed, at least 7 runs.
inline std::vector<double> MeasureRates(NetBase* net, int batch, double min_seconds) {
  for (int i = 0; i < 2; ++i) CAFFE_ENFORCE(net->Run());
  std::vector<double> rates;
  const Clock::time_point start = Clock::now();
  while (rates.size() < 7 || (SecondsSince(start) < min_seconds && rates.size() < 20'000)) {
    const Clock::time_point begin = Clock::now();
    CAFFE_ENFORCE(net->Run());
    rates.push_back(batch / SecondsSince(begin));
  }
  std::sort(rates.begin(), rates.end());
  return rates;
}

// One JSON object on one line: images a second, and the most of the device's memory in use.
inline void PrintRates(const std::string& name, const std::vector<double>& rates,
                       const Device& device) {
  std::printf(
      "{\"peer\": \"doppio\", \"case\": \"%s\", \"unit\": \"img/s\", \"median\": %.4f, "
      "\"min\": %.4f, \"max\": %.4f, \"n\": %zu, \"peak_mib\": %.0f}\n",
      name.c_str(), rates[rates.size() / 2], rates.front(), rates.back(), rates.size(),
      static_cast<double>(PeakMemory(device)) / (1 << 20));
  std::fflush(stdout);
}

// Milliseconds a run by operator type, largest first: the mean over `runs`, to stderr.
inline void PrintOperatorTimes(const NetBase& net, int runs) {
  std::map<std::string, std::pair<double, int>> by_type;
  double total = 0;
  for (int i = 0; i < runs; ++i) {
    for (const auto& op : net.operators()) {
      const Clock::time_point begin = Clock::now();
      CAFFE_ENFORCE(op->Run());
      const double milliseconds = SecondsSince(begin) * 1e3 / runs;
      auto& [sum, count] = by_type[op->type()];
      sum += milliseconds;
      count += i == 0;
      total += milliseconds;
    }
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [type, time] : by_type) order.emplace_back(time.first, type);
  std::sort(order.rbegin(), order.rend());
  for (const auto& [time, type] : order) {
    std::fprintf(stderr, "%10.3f ms %5.1f %%  %4d  %s\n", time, 100 * time / total,
                 by_type[type].second, type.c_str());
  }
  std::fprintf(stderr, "%10.3f ms in all\n", total);
}

}  // namespace caffe2::benchmark
