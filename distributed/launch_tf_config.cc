// TF_CONFIG, the cluster of TensorFlow's strategies as JSON:
//   {"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index":
//   0}}
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <set>

#include "caffe2/core/usage_error.h"
#include "caffe2/utils/crc32.h"
#include "distributed/launch_dialects.h"
#include "distributed/run_record.h"

namespace caffe2 {

namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr char kExample[] =
    R"(; an example: {"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 0}})";

template <typename... Args>
[[noreturn]] void Refuse(const Args&... args) {
  ThrowUsage("TF_CONFIG: ", args..., kExample);
}

const Value* Find(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? nullptr : &found->second;
}

// The member `name`, which must be an object.
const Struct& Object(const Struct& parent, const std::string& name) {
  const Value* value = Find(parent, name);
  if (value == nullptr || !value->has_struct_value()) Refuse("\"", name, "\" is not an object");
  return value->struct_value();
}

// The addresses of a kind of tasks; none if the cluster has no such kind.
std::vector<HostPort> TasksOf(const Struct& cluster, const std::string& type) {
  const Value* value = Find(cluster, type);
  if (value == nullptr) return {};
  if (!value->has_list_value()) Refuse("\"", type, "\" is not a list of addresses");
  std::vector<HostPort> tasks;
  for (const Value& address : value->list_value().values()) {
    if (!address.has_string_value()) Refuse("\"", type, "\" holds a value that is not a string");
    tasks.push_back(ParseHostPort("TF_CONFIG: " + type, address.string_value()));
  }
  return tasks;
}

int IndexOf(const Struct& task) {
  const Value* value = Find(task, "index");
  double index = -1;
  if (value != nullptr && value->has_number_value()) index = value->number_value();
  if (value != nullptr && value->has_string_value()) {
    const std::string& text = value->string_value();
    const bool digits = !text.empty() && text.size() < 7 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    if (digits) index = std::stoi(text);
  }
  const bool valid = index >= 0 && index <= LaunchVariables::kMaxShards;
  if (!valid || index != std::floor(index)) {
    Refuse("the index of \"task\" must be a number from 0 to ", LaunchVariables::kMaxShards);
  }
  return static_cast<int>(index);
}

// Refuses evaluators, and parameter servers in programs that have none.
[[noreturn]] void RefuseRole(const std::string& type) {
  ThrowUsage("TF_CONFIG: there is no work for a task of type ", type,
             ": training is synchronous and takes place in the tasks of types chief and worker; ",
             type == "evaluator" ? "--test_data tests after each epoch; start no evaluator"
                                 : "take \"ps\" out of the cluster, on all tasks");
}

void CheckServers(const LaunchVariables& variables, int servers) {
  const auto& flag = variables.param_servers();
  if (servers > 0 && !flag) RefuseRole("ps");
  if (flag.value_or(0) != 0 && *flag != servers) {
    Refuse("the cluster has ", servers, " tasks of type ps, but --param_servers is ", *flag,
           ": leave the flag out");
  }
}

// The tasks: the chief, if there is one, the workers, and the parameter servers.
struct Cluster {
  std::string chief_type = "chief";
  int chiefs = 0, workers = 0, servers = 0;
  std::vector<HostPort> tasks;  // in this order
};

Cluster ReadCluster(const Struct& object) {
  Cluster cluster;
  if (Find(object, "master") != nullptr) cluster.chief_type = "master";
  cluster.tasks = TasksOf(object, cluster.chief_type);
  cluster.chiefs = static_cast<int>(cluster.tasks.size());
  if (cluster.chiefs > 1) {
    Refuse("there are ", cluster.chiefs, " tasks of type ", cluster.chief_type, ", must be 1");
  }
  const std::vector<HostPort> workers = TasksOf(object, "worker"), servers = TasksOf(object, "ps");
  cluster.workers = static_cast<int>(workers.size());
  cluster.servers = static_cast<int>(servers.size());
  cluster.tasks.insert(cluster.tasks.end(), workers.begin(), workers.end());
  cluster.tasks.insert(cluster.tasks.end(), servers.begin(), servers.end());
  return cluster;
}

// The rank of the task: the tasks that train come first.
int RankOf(const Struct& task, const std::string& type, const Cluster& cluster) {
  if (type != cluster.chief_type && type != "worker" && type != "ps") {
    Refuse("the type of \"task\" is \"", OneLine(type), "\", must be chief or worker",
           cluster.servers > 0 ? " or ps" : "");
  }
  const int index = IndexOf(task);
  const int training = cluster.chiefs + cluster.workers;
  const int first = type == "ps" ? training : type == "worker" ? cluster.chiefs : 0;
  const int end = type == "ps"       ? training + cluster.servers
                  : type == "worker" ? training
                                     : cluster.chiefs;
  if (first + index >= end) {
    Refuse("this task is ", type, " ", index, ", but the cluster has ", end - first,
           " of that type");
  }
  return first + index;
}

// Sets the place among the tasks of this host, and a run_id that is the same for all tasks.
void ReadTasks(const std::vector<HostPort>& tasks, Launch* launch) {
  std::set<std::string> addresses;
  std::string list;
  for (int i = 0; i < launch->size; ++i) {
    const std::string address = FormatHostPort(tasks[i].host, tasks[i].port);
    if (!addresses.insert(address).second) Refuse("two tasks have the address ", address);
    list += address + " ";
    if (tasks[i].host != tasks[launch->rank].host) continue;
    if (i < launch->rank) ++launch->local_rank;
    ++launch->local_size;
  }
  launch->run_id = RunIdOf("tf_" + std::to_string(Crc32(list.data(), list.size())));
}

}  // namespace

DialectReading ReadTfConfig(const LaunchVariables& variables) {
  const auto text = variables.Text("TF_CONFIG");
  if (!text) return {};
  Struct config;
  const auto parsed = google::protobuf::util::JsonStringToMessage(*text, &config);
  if (!parsed.ok()) Refuse("it is not JSON (", OneLine(parsed.ToString()), ")");
  const Struct& cluster_object = Object(config, "cluster");
  const Struct& task = Object(config, "task");
  const Value* type_value = Find(task, "type");
  const std::string type = type_value == nullptr ? "" : type_value->string_value();
  if (type == "evaluator" || (type == "ps" && !variables.param_servers())) RefuseRole(type);
  const Cluster cluster = ReadCluster(cluster_object);
  CheckServers(variables, cluster.servers);
  Launch launch;
  launch.dialect = "TF_CONFIG";
  launch.rank = RankOf(task, type, cluster);
  launch.size = static_cast<int>(cluster.tasks.size());
  launch.num_servers = cluster.servers;
  if (type == "ps") launch.role = Launch::Role::kServer;
  ReadTasks(cluster.tasks, &launch);
  launch.store = StoreAt(cluster.tasks[0]);
  return Found(launch);
}

}  // namespace caffe2
