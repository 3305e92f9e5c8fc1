// Nets, plans and single operators: create and run.
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "caffe2/core/inputs_text.h"
#include "caffe2/core/net.h"
#include "distributed/run_membership.h"
#include "python/pybind_active_runs.h"
#include "python/pybind_state.h"
#include "train/run_time_limit.h"

namespace caffe2::python {
namespace {

// The workspace in which the main thread runs something, for the signal handler.
std::atomic<Workspace*> interruptible_workspace{nullptr};
std::atomic<bool> interrupted{false};
struct sigaction python_handler;

// Python's own handler only notes the signal, for the interpreter to act on when it runs again.
void StopAndNote(int signal, siginfo_t* info, void* context) {
  if (Workspace* ws = interruptible_workspace.load(std::memory_order_relaxed)) {
    ws->RequestStop();
    interrupted.store(true, std::memory_order_relaxed);
  }
  if (python_handler.sa_flags & SA_SIGINFO) {
    python_handler.sa_sigaction(signal, info, context);
  } else {
    python_handler.sa_handler(signal);
  }
}

// Puts StopAndNote before Python's handler of SIGINT, unless it is there. Python replaces the
// handler whenever signal.signal is called, so this looks again before each run.
void HookInterrupt() {
  struct sigaction current;
  if (sigaction(SIGINT, nullptr, &current) != 0) return;
  if (current.sa_flags & SA_SIGINFO) {
    if (current.sa_sigaction == &StopAndNote) return;
  } else if (current.sa_handler == SIG_DFL || current.sa_handler == SIG_IGN) {
    return;  // the signal ends the process, or nothing
  }
  python_handler = current;
  struct sigaction hooked = current;
  hooked.sa_flags |= SA_SIGINFO | SA_ONSTACK;
  hooked.sa_sigaction = &StopAndNote;
  sigaction(SIGINT, &hooked, nullptr);
}

// The main thread's run of a workspace, within an ActiveRun: interrupts reach it while this lives.
class InterruptScope {
 public:
  explicit InterruptScope(Workspace* ws) : ws_(ws) {
    HookInterrupt();
    outer_ = interruptible_workspace.exchange(ws, std::memory_order_relaxed);
  }
  ~InterruptScope() {
    interruptible_workspace.store(outer_, std::memory_order_relaxed);
    if (outer_ == nullptr) interrupted.store(false, std::memory_order_relaxed);
    if (ws_->StopRequested()) StopRuns(ws_);
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  Workspace* ws_;
  Workspace* outer_;
};

// Python handles signals in its main thread, which need not be the one that imports this module.
bool InMainThread() {
  static const auto main_thread =
      py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
  return PyThread_get_thread_ident() == main_thread;
}

// Within an ActiveRun of the net.
bool RunNetTimes(Workspace* ws, NetBase* net, int num_iter, bool allow_fail) {
  const bool ok = RunInterruptible(ws, [net, num_iter] {
    for (int i = 0; i < num_iter; ++i) {
      if (!net->Run()) return false;
    }
    return true;
  });
  CAFFE_ENFORCE(ok || allow_fail, "Error running net ", net->Name());
  return ok;
}

// Milliseconds: the mean of the main runs of the whole net and, if wanted, of each operator.
std::vector<float> BenchmarkNet(const std::string& name, int warmup_runs, int main_runs,
                                bool run_individual) {
  Workspace* ws = CurrentWorkspace();
  NetBase* net = GetNetOrThrow(ws, name);
  CAFFE_ENFORCE(warmup_runs >= 0 && main_runs > 0, "cannot run a net ", warmup_runs, " + ",
                main_runs, " times");
  using Clock = std::chrono::steady_clock;
  auto milliseconds = [main_runs](Clock::duration time) {
    return std::chrono::duration<float, std::milli>(time).count() / static_cast<float>(main_runs);
  };
  std::vector<float> results;
  const ActiveRun active(ws, *net);
  RunNetTimes(ws, net, warmup_runs, false);
  const auto begin = Clock::now();
  RunNetTimes(ws, net, main_runs, false);
  results.push_back(milliseconds(Clock::now() - begin));
  if (!run_individual) return results;
  std::vector<Clock::duration> times(net->operators().size());
  RunInterruptible(ws, [&] {
    for (int run = 0; run < main_runs; ++run) {
      for (size_t i = 0; i < times.size(); ++i) {
        const auto start = Clock::now();
        CAFFE_ENFORCE(net->operators()[i]->Run(), "operator ", i, " of net ", name, " failed");
        times[i] += Clock::now() - start;
      }
    }
    return true;
  });
  for (const auto& time : times) results.push_back(milliseconds(time));
  return results;
}

// Where a distributed run has failed every shard shall see the same text: without the operator that
// found it out here.
bool WithPlainRunFailures(const std::function<bool()>& body) {
  try {
    return body();
  } catch (const RunFailed& error) {
    throw RunFailed(error.line());
  }
}

}  // namespace

bool MainThreadIsInterrupted() { return interrupted.load(std::memory_order_relaxed); }

bool RunInterruptible(Workspace* ws, const std::function<bool()>& body) {
  if (!InMainThread()) {
    py::gil_scoped_release release;
    return WithPlainRunFailures(body);
  }
  const InterruptScope scope(ws);
  // An interrupt from before, while a net was made, has only been noted.
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  try {
    py::gil_scoped_release release;
    return WithPlainRunFailures(body);
  } catch (const Error&) {
    if (ws->StopRequested() && PyErr_CheckSignals() != 0) throw py::error_already_set();
    throw;
  }
}

bool WaitForRuns(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  py::gil_scoped_release release;
  while (AnyRunIsActive()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

NetBase* GetNetOrThrow(Workspace* ws, const std::string& name) {
  NetBase* net = ws->GetNet(name);
  CAFFE_ENFORCE(net != nullptr, "net ", name, " does not exist in this workspace");
  return net;
}

CreatedNet CreateNetIn(Workspace* ws, const NetDef& net, bool overwrite) {
  if (overwrite) EnforceNetIsIdle(ws->GetNet(net.name()), "cannot overwrite net " + net.name());
  const ActiveRun making(ws);
  return {ws->shared_from_this(), ws->CreateNet(net, overwrite)->Name()};
}

void RunNetOnce(const NetDef& def, double max_seconds, Workspace* ws) {
  const ActiveRun making(ws);
  const auto net = CreateNet(std::make_shared<const NetDef>(def), ws);
  const ActiveRun active(ws, *net);
  const auto run = [&] {
    return RunWithin(max_seconds, "net " + net->Name(), ws, [&] { return net->Run(); });
  };
  CAFFE_ENFORCE(RunInterruptible(ws, run), "Error running net ", net->Name());
}

void RunPlan(const PlanDef& plan, Workspace* ws) {
  const ActiveRun active(ws, plan);
  CAFFE_ENFORCE(RunInterruptible(ws, [&] { return ws->RunPlan(plan); }), "Error running plan ",
                plan.name());
}

// Runs a created operator. An EnforceNotMet is rethrown with the types and shapes of its inputs.
void RunCreated(OperatorBase* op, Workspace* ws) {
  const OperatorDef& def = op->debug_def();
  try {
    CAFFE_ENFORCE(RunInterruptible(ws, [&] { return op->Run(); }), "Error running operator ",
                  def.type());
  } catch (EnforceNotMet& error) {
    const std::string inputs = InputsText(def, *ws);
    if (!inputs.empty()) error.AddContext(inputs);
    throw;
  }
}

void RunOperator(const OperatorDef& def, Workspace* ws) {
  try {
    const ActiveRun making(ws);
    const auto op = CreateOperator(def, ws);
    const ActiveRun active(ws, *op);
    RunCreated(op.get(), ws);
  } catch (Error& error) {
    error.AddContext("operator " + def.type() +
                     (def.output_size() ? " that writes " + def.output(0) : ""));
    throw;
  }
}

void AddNets(py::module_& m) {
  py::class_<CreatedNet>(m, "Net", "A created net, by its name in its workspace.")
      .def(
          "run",
          [](const CreatedNet& self, double max_seconds) {
            NetBase* net = GetNetOrThrow(self.ws.get(), self.name);
            const ActiveRun active(net->workspace(), *net);
            const auto run = [&] {
              return RunWithin(max_seconds, "net " + self.name, net->workspace(),
                               [&] { return net->Run(); });
            };
            CAFFE_ENFORCE(RunInterruptible(net->workspace(), run), "Error running net ", self.name);
          },
          py::arg("max_seconds") = 0.0,
          "Fails before its next operator after `max_seconds`; 0: no limit. RuntimeError if the "
          "net was deleted.")
      .def(
          "cancel", [](const CreatedNet& self) { StopRuns(self.ws.get()); },
          "Makes the runs in the workspace of the net fail before their next operator, also if "
          "they wait for a queue. Does nothing if nothing runs there.")
      .def_property_readonly("name", [](const CreatedNet& self) { return self.name; });

  m.def(
      "create_net",
      [](const std::string& net, bool overwrite) {
        CreateNetIn(CurrentWorkspace(), ParseProto<NetDef>(net), overwrite);
        return true;
      },
      py::arg("net"), py::arg("overwrite") = false);
  m.def(
      "run_net",
      [](const std::string& name, int num_iter, bool allow_fail) {
        Workspace* ws = CurrentWorkspace();
        NetBase* net = GetNetOrThrow(ws, name);
        const ActiveRun active(ws, *net);
        return RunNetTimes(ws, net, num_iter, allow_fail);
      },
      py::arg("name"), py::arg("num_iter") = 1, py::arg("allow_fail") = false);
  m.def("delete_net", [](const std::string& name) {
    Workspace* ws = CurrentWorkspace();
    EnforceNetIsIdle(ws->GetNet(name), "cannot delete net " + name);
    ws->DeleteNet(name);
    return true;
  });
  m.def("nets", [] { return CurrentWorkspace()->Nets(); });
  m.def("run_net_once", [](const std::string& bytes) {
    Workspace* ws = CurrentWorkspace();
    RunNetOnce(ParseProto<NetDef>(bytes), 0, ws);
    return true;
  });
  m.def("run_operator_once", [](const std::string& bytes) {
    Workspace* ws = CurrentWorkspace();
    RunOperator(ParseProto<OperatorDef>(bytes), ws);
    return true;
  });
  m.def("run_plan", [](const std::string& bytes) {
    Workspace* ws = CurrentWorkspace();
    RunPlan(ParseProto<PlanDef>(bytes), ws);
    return true;
  });
  m.def("benchmark_net", &BenchmarkNet, py::arg("name"), py::arg("warmup_runs"),
        py::arg("main_runs"), py::arg("run_individual"));
}

}  // namespace caffe2::python
