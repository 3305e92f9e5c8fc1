// The table that steers the work on kernels: what each operator of a net takes, and what it should.
#pragma once

#include "benchmarks/net_measure.h"
#include "caffe2/core/net.h"
#include "caffe2/core/operator_schema.h"

namespace caffe2::benchmark {

// What one operator costs at least, and what it took.
struct Line {
  std::string name;  // type and shapes of the inputs
  int count = 0;
  double seconds = 0, bytes = 0, flops = 0;  // of one
};

inline double BytesOf(const Workspace& ws, const std::string& name) {
  const Blob* blob = ws.GetBlob(name);
  if (blob == nullptr || !blob->IsType<Tensor>()) return 0;
  const auto& tensor = blob->Get<Tensor>();
  return tensor.has_data() ? static_cast<double>(tensor.nbytes()) : 0;
}

// Each input is read once, each output written once; only products count as operations.
inline Line CostOf(const OperatorDef& def, const Workspace& ws) {
  Line line;
  std::vector<TensorShape> inputs;
  for (const std::string& name : def.input()) {
    line.bytes += BytesOf(ws, name);
    const Blob* blob = ws.GetBlob(name);
    inputs.push_back(blob != nullptr ? GetTensorShapeOfBlob(*blob) : UnknownTensorShape());
  }
  for (const std::string& name : def.output()) line.bytes += BytesOf(ws, name);
  const OpSchema* schema = OpSchemaRegistry::Schema(def.type());
  if (schema != nullptr && schema->HasCostInference()) {
    line.flops = static_cast<double>(schema->InferCost(def, inputs).flops);
  }
  line.name = def.type();
  for (const TensorShape& shape : inputs) {
    if (shape.dims_size() > 1) line.name += " " + ShapeString(GetDimsVector(shape));
  }
  return line;
}

// What memory and arithmetic can do at most.
struct Ceilings {
  double bytes_per_second = 0, flops_per_second = 0;
};

// The larger of the times that a line takes at the ceilings.
inline double FloorOf(const Line& line, const Ceilings& ceilings) {
  return std::max(line.bytes / ceilings.bytes_per_second, line.flops / ceilings.flops_per_second);
}

inline void PrintLines(std::vector<Line> lines, const Ceilings& ceilings, int most_lines) {
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return a.seconds * a.count > b.seconds * b.count; });
  std::printf("ceilings: %.0f GB/s, %.2f TFLOP/s\n", ceilings.bytes_per_second / 1e9,
              ceilings.flops_per_second / 1e12);
  double total = 0, floor = 0;
  for (const Line& line : lines) {
    total += line.seconds * line.count;
    floor += FloorOf(line, ceilings) * line.count;
  }
  std::printf("%6s %5s %9s %9s %8s %8s %7s  %s\n", "share", "count", "us", "MB", "GB/s", "TFLOP/s",
              "floor", "operator");
  int printed = 0;
  for (const Line& line : lines) {
    if (printed++ == most_lines) break;
    std::printf("%5.1f%% %5d %9.1f %9.2f %8.0f %8.1f %6.0f%%  %s\n",
                100 * line.seconds * line.count / total, line.count, line.seconds * 1e6,
                line.bytes / 1e6, line.bytes / line.seconds / 1e9, line.flops / line.seconds / 1e12,
                100 * FloorOf(line, ceilings) / line.seconds, line.name.c_str());
  }
  std::printf("all: %.0f us; at the ceilings %.0f us (%.0f%%)\n", total * 1e6, floor * 1e6,
              100 * floor / total);
}

// Times the operators of a net that has run, each by itself; operators of one type and shape once.
// To stdout the ceilings, then one line for each, most expensive first: how often it comes,
// microseconds, the bytes it must move (each input and output once), the products that it must
// compute, the rates that follow, and the share of the time that is its floor. Blobs are
// overwritten with whatever running operators out of order makes of them.
inline void PrintOperatorTable(const NetBase& net, const Workspace& ws, const Ceilings& ceilings,
                               int most_lines) {
  std::map<std::string, Line> by_name;
  for (const auto& op : net.operators()) {
    const Line cost = CostOf(op->debug_def(), ws);
    Line& line = by_name[cost.name];
    if (line.count++ > 0) continue;  // the first of its kind speaks for all
    line = cost;
    line.count = 1;
    line.seconds = MedianSeconds(op.get());
  }
  std::vector<Line> lines;
  for (const auto& [name, line] : by_name) lines.push_back(line);
  PrintLines(lines, ceilings, most_lines);
}

}  // namespace caffe2::benchmark
