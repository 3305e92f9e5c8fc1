// What watches nets run: net.AddObserver("TimeObserver").
#include "caffe2/core/net_observer.h"
#include "python/pybind_state.h"

namespace caffe2::python {
namespace {

NetBase* NetOrThrow(const std::string& name) {
  NetBase* net = CurrentWorkspace()->GetNet(name);
  CAFFE_ENFORCE(net != nullptr, "net ", name, " does not exist in this workspace");
  return net;
}

}  // namespace

void AddObservers(py::module_& m) {
  py::class_<NetObserver>(m, "Observer", "Watches a net; valid until it is removed from it.")
      .def("average_time", &NetObserver::AverageTime,
           "Milliseconds of a run of the net, on average.")
      .def("average_time_children", &NetObserver::AverageTimeChildren,
           "Milliseconds of a run of an operator, on average.")
      .def("debug_info", &NetObserver::DebugInfo, "The measurements as text.");
  m.def(
      "add_observer_to_net",
      [](const std::string& net_name, const std::string& observer_type) {
        NetBase* net = NetOrThrow(net_name);
        return net->AttachObserver(CreateNetObserver(observer_type, net));
      },
      py::arg("net_name"), py::arg("observer_type"), py::return_value_policy::reference);
  m.def(
      "remove_observer_from_net",
      [](const std::string& net_name, const NetObserver* observer) {
        CAFFE_ENFORCE(NetOrThrow(net_name)->DetachObserver(observer) != nullptr, "net ", net_name,
                      " has no such observer");
      },
      py::arg("net_name"), py::arg("observer"));
  m.def(
      "num_observers_on_net",
      [](const std::string& net_name) { return NetOrThrow(net_name)->NumObservers(); },
      py::arg("net_name"));
}

}  // namespace caffe2::python
