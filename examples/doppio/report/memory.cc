#include "examples/doppio/report/memory.h"

#include <algorithm>

#include "caffe2/core/logging.h"
#include "examples/doppio/report/json_file.h"
#include "examples/doppio/report/table.h"
#include "examples/doppio/text.h"

namespace caffe2::report {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

std::string Size(double bytes) {
  return HumanBytes(static_cast<int64_t>(std::clamp(bytes, 0., 1e18)));
}

Memory MemoryOf(const Struct& object) {
  Memory memory;
  memory.iteration = Member(object, "iteration").number_value();
  memory.blob_bytes = Member(object, "blob_bytes").number_value();
  memory.distinct_bytes = Member(object, "distinct_bytes").number_value();
  for (const auto& [device, bytes] : Member(object, "peak_bytes").struct_value().fields()) {
    memory.peak_bytes.emplace_back(device, bytes.number_value());
  }
  std::sort(memory.peak_bytes.begin(), memory.peak_bytes.end());
  for (const Value& value : Member(object, "kinds").list_value().values()) {
    const Struct& kind = value.struct_value();
    memory.kinds.push_back({Member(kind, "kind").string_value(),
                            Member(kind, "blobs").number_value(),
                            Member(kind, "bytes").number_value()});
  }
  std::stable_sort(memory.kinds.begin(), memory.kinds.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  for (const Value& value : Member(object, "blobs").list_value().values()) {
    const Struct& blob = value.struct_value();
    memory.blobs.push_back({.name = Member(blob, "name").string_value(),
                            .shape = Member(blob, "shape").string_value(),
                            .type = Member(blob, "type").string_value(),
                            .kind = Member(blob, "kind").string_value(),
                            .bytes = Member(blob, "bytes").number_value(),
                            .shared_with = Member(blob, "shared_with").number_value()});
  }
  return memory;
}

std::string KindsHtml(const Memory& memory) {
  std::string rows =
      Row(Head("kind") + Head("blobs", true) + Head("size", true) + Head("share of all blobs"));
  for (const Memory::Kind& kind : memory.kinds) {
    rows +=
        Row(Cell(kind.name) + Cell(Formatted("%.0f", kind.blobs), true) +
            Cell(Size(kind.bytes), true) + BarCell(kind.bytes / std::max(memory.blob_bytes, 1.)));
  }
  return Table(rows);
}

std::string BlobsHtml(const Memory& memory) {
  constexpr size_t kMaxRows = 25;
  std::string rows = Row(Head("blob") + Head("kind") + Head("type") + Head("shape") +
                         Head("size", true) + Head("shares with", true));
  const size_t shown = std::min(kMaxRows, memory.blobs.size());
  for (size_t i = 0; i < shown; ++i) {
    const Memory::Blob& blob = memory.blobs[i];
    rows += Row(Cell(blob.name) + Cell(blob.kind) + Cell(blob.type) + Cell(blob.shape) +
                Cell(Size(blob.bytes), true) +
                Cell(blob.shared_with > 0 ? Formatted("%.0f", blob.shared_with) : "", true));
  }
  return MakeString("<h3>The ", shown, " largest of ", memory.blobs.size(), " blobs</h3>") +
         Table(rows);
}

}  // namespace

std::optional<Memory> ReadMemory(const std::string& directory) {
  const std::optional<Struct> object = ReadJsonFile(directory + "/memory.json");
  return object ? std::optional(MemoryOf(*object)) : std::nullopt;
}

std::string MemoryHtml(const Memory& memory) {
  std::string html =
      MakeString("<h2>Memory</h2><p class=\"note\">Of shard 0 after iteration ", memory.iteration,
                 ". Blobs that are not needed at the same time share memory.</p>");
  std::string rows = Row(Head("all blobs") + Cell(Size(memory.blob_bytes), true)) +
                     Row(Head("memory that they lie in") + Cell(Size(memory.distinct_bytes), true));
  for (const auto& [device, bytes] : memory.peak_bytes) {
    rows += Row(Head("peak of the process, " + device) + Cell(Size(bytes), true));
  }
  return html + Table(rows) + "<h3>By kind</h3>" + KindsHtml(memory) + BlobsHtml(memory);
}

}  // namespace caffe2::report
