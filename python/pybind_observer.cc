// What watches nets run: net.AddObserver("TimeObserver").
#include "caffe2/core/net_observer.h"
#include "python/pybind_active_runs.h"
#include "python/pybind_state.h"

namespace caffe2::python {
void AddObservers(py::module_& m) {
  py::class_<NetObserver, std::shared_ptr<NetObserver>>(m, "Observer", "Watches a net.")
      .def("average_time", &NetObserver::AverageTime,
           "Milliseconds of a run of the net, on average.")
      .def("average_time_children", &NetObserver::AverageTimeChildren,
           "Milliseconds of a run of an operator, on average.")
      .def("debug_info", &NetObserver::DebugInfo, "The measurements as text.");
  m.def(
      "add_observer_to_net",
      [](const std::string& net_name, const std::string& observer_type) {
        NetBase* net = GetNetOrThrow(CurrentWorkspace(), net_name);
        EnforceNetIsIdle(net, "cannot add an observer to net " + net_name);
        std::shared_ptr<NetObserver> observer = CreateNetObserver(observer_type, net);
        net->AttachObserver(observer);
        return observer;
      },
      py::arg("net_name"), py::arg("observer_type"));
  m.def(
      "remove_observer_from_net",
      [](const std::string& net_name, const NetObserver* observer) {
        NetBase* net = GetNetOrThrow(CurrentWorkspace(), net_name);
        EnforceNetIsIdle(net, "cannot remove an observer from net " + net_name);
        CAFFE_ENFORCE(net->DetachObserver(observer) != nullptr, "net ", net_name,
                      " has no such observer");
      },
      py::arg("net_name"), py::arg("observer"));
  m.def(
      "num_observers_on_net",
      [](const std::string& net_name) {
        return GetNetOrThrow(CurrentWorkspace(), net_name)->NumObservers();
      },
      py::arg("net_name"));
}

}  // namespace caffe2::python
