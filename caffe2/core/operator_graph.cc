#include "caffe2/core/operator_graph.h"

#include <set>
#include <string>
#include <unordered_map>

#include "caffe2/core/nested_net.h"

namespace caffe2 {

OperatorGraph BuildOperatorGraph(const NetDef& net) {
  struct Access {
    int last_writer = -1;
    std::vector<int> readers;  // since the last write
  };
  std::unordered_map<std::string, Access> blobs;
  std::vector<std::set<int>> parents(net.op_size());
  auto read = [&](int i, const std::string& blob) {
    Access& access = blobs[blob];
    if (access.last_writer >= 0 && access.last_writer != i) parents[i].insert(access.last_writer);
    access.readers.push_back(i);
  };
  for (int i = 0; i < net.op_size(); ++i) {
    const Operands operands = OperandsOf(net.op(i));
    for (const std::string& blob : operands.reads) read(i, blob);
    for (const std::string& blob : net.op(i).control_input()) read(i, blob);
    for (const std::string& blob : operands.writes) {
      Access& access = blobs[blob];
      if (access.last_writer >= 0 && access.last_writer != i) parents[i].insert(access.last_writer);
      for (int reader : access.readers) {
        if (reader != i) parents[i].insert(reader);
      }
      access.last_writer = i;
      access.readers.clear();
    }
  }
  OperatorGraph graph;
  graph.parents.resize(net.op_size());
  graph.children.resize(net.op_size());
  for (int i = 0; i < net.op_size(); ++i) {
    graph.parents[i].assign(parents[i].begin(), parents[i].end());
    for (int parent : parents[i]) graph.children[parent].push_back(i);
  }
  return graph;
}

std::vector<std::vector<int>> BuildChains(const OperatorGraph& graph,
                                          const std::vector<int>& lane) {
  const int n = static_cast<int>(graph.parents.size());
  std::vector<std::vector<int>> chains;
  std::vector<bool> taken(n, false);
  for (int i = 0; i < n; ++i) {
    if (taken[i]) continue;
    std::vector<int> chain;
    for (int op = i; !taken[op];) {
      taken[op] = true;
      chain.push_back(op);
      if (graph.children[op].size() != 1) break;
      const int next = graph.children[op][0];
      if (graph.parents[next].size() != 1 || lane[next] != lane[op]) break;
      op = next;
    }
    chains.push_back(std::move(chain));
  }
  return chains;
}

}  // namespace caffe2
