#include "train/observe/event_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "caffe2/utils/crc32.h"
#include "distributed/host.h"
#include "distributed/run_record.h"

namespace caffe2 {
namespace {

constexpr int kBuckets = 64;

// Little-endian, as the hosts that this library runs on.
template <typename T>
std::string BytesOf(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// A checksum of data that itself holds checksums would be weak; TensorFlow rotates it and adds a
// constant.
std::string MaskedChecksum(const std::string& bytes) {
  const uint32_t crc = Crc32c(bytes.data(), bytes.size());
  return BytesOf<uint32_t>(((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

std::string PathOfNewFile(const std::string& directory) {
  const ProcessId self = ProcessId::Self();
  return MakeString(directory, "/events.out.tfevents.", NowMs() / 1000, ".", self.host, ".",
                    self.pid);
}

// Names of nodes are letters, digits and "._-/", and do not begin with "._-/".
std::string NodeName(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool allowed =
        std::isalnum(static_cast<unsigned char>(c)) || (!name.empty() && std::strchr("._-/", c));
    name += allowed ? c : (name.empty() ? 'x' : '_');
  }
  return name;
}

std::string Unique(const std::string& name, std::set<std::string>* taken) {
  std::string unique = name;
  for (int i = 1; !taken->insert(unique).second; ++i) unique = MakeString(name, "_", i);
  return unique;
}

tensorboard::AttrValue AttrOf(const Argument& argument) {
  tensorboard::AttrValue attr;
  if (argument.has_i()) {
    attr.set_i(argument.i());
  } else if (argument.has_f()) {
    attr.set_f(argument.f());
  } else if (argument.has_s()) {
    attr.set_s(argument.s());
  } else {
    auto* list = attr.mutable_list();
    for (const auto value : argument.ints()) list->add_i(value);
    for (const auto value : argument.floats()) list->add_f(value);
    for (const auto& value : argument.strings()) list->add_s(value);
  }
  return attr;
}

}  // namespace

std::string FrameRecord(const std::string& bytes) {
  const std::string length = BytesOf<uint64_t>(bytes.size());
  return length + MaskedChecksum(length) + bytes + MaskedChecksum(bytes);
}

EventFile::EventFile(const std::string& directory) : file_(PathOfNewFile(directory)) {
  tensorboard::Event version;
  version.set_file_version("brain.Event:2");
  Append(0, version);
}

void EventFile::Append(int64_t step, tensorboard::Event event) {
  event.set_wall_time(static_cast<double>(NowMs()) / 1e3);
  event.set_step(step);
  file_.Append(FrameRecord(event.SerializeAsString()));
}

tensorboard::GraphDef GraphOf(const NetDef& net) {
  tensorboard::GraphDef graph;
  std::set<std::string> taken;
  std::map<std::string, std::string> writer;  // blob -> "node" or "node:output"
  for (const OperatorDef& op : net.op()) {
    std::vector<std::string> inputs;
    for (const std::string& blob : op.input()) {
      if (!writer.count(blob)) {
        tensorboard::NodeDef* outside = graph.add_node();
        outside->set_name(Unique(NodeName(blob), &taken));
        outside->set_op("Blob");
        writer[blob] = outside->name();
      }
      inputs.push_back(writer[blob]);
    }
    std::string name = op.name();
    if (name.empty()) name = op.output_size() > 0 ? op.output(0) : op.type();
    tensorboard::NodeDef* node = graph.add_node();
    node->set_name(Unique(NodeName(name), &taken));
    node->set_op(op.type());
    if (op.has_device_option()) {
      const DeviceOption& device = op.device_option();
      node->set_device(
          MakeString("/device:", device.device_type() == 0 ? "CPU:" : "GPU:", device.device_id()));
    }
    for (const std::string& input : inputs) node->add_input(input);
    for (const Argument& argument : op.arg()) {
      (*node->mutable_attr())[argument.name()] = AttrOf(argument);
    }
    for (int i = 0; i < op.output_size(); ++i) {
      writer[op.output(i)] = i == 0 ? node->name() : MakeString(node->name(), ":", i);
    }
  }
  graph.mutable_versions()->set_producer(1);
  return graph;
}

tensorboard::HistogramProto HistogramOf(const float* values, int64_t size) {
  tensorboard::HistogramProto histogram;
  std::vector<double> finite;
  for (int64_t i = 0; i < size; ++i) {
    if (std::isfinite(values[i])) finite.push_back(values[i]);
  }
  if (finite.empty()) return histogram;
  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  const double min = *low, width = (*high - *low) / kBuckets;
  std::vector<int64_t> counts(width > 0 ? kBuckets : 1, 0);
  double sum = 0, squares = 0;
  for (const double value : finite) {
    const auto place = width > 0 ? static_cast<size_t>((value - min) / width) : 0;
    ++counts[std::min(place, counts.size() - 1)];
    sum += value;
    squares += value * value;
  }
  histogram.set_min(min);
  histogram.set_max(*high);
  histogram.set_num(static_cast<double>(finite.size()));
  histogram.set_sum(sum);
  histogram.set_sum_squares(squares);
  for (size_t i = 0; i < counts.size(); ++i) {
    histogram.add_bucket_limit(i + 1 == counts.size() ? *high
                                                      : min + width * static_cast<double>(i + 1));
    histogram.add_bucket(static_cast<double>(counts[i]));
  }
  return histogram;
}

}  // namespace caffe2
