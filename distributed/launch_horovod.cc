// horovodrun with Gloo. With MPI, horovodrun starts mpirun, which sets its own variables.
#include "distributed/launch_dialects.h"

namespace caffe2 {

DialectReading ReadHorovod(const LaunchVariables& variables) {
  const std::string kAddress = "HOROVOD_GLOO_RENDEZVOUS_ADDR",
                    kPort = "HOROVOD_GLOO_RENDEZVOUS_PORT";
  if (!variables.HasAny({"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", kAddress, kPort})) {
    return {};
  }
  if (const std::string missing = variables.Missing({"HOROVOD_RANK", "HOROVOD_SIZE"});
      !missing.empty()) {
    return Incomplete("Horovod: " + missing);
  }
  Launch launch;
  launch.dialect = "Horovod";
  variables.ReadRank("HOROVOD_RANK", "HOROVOD_SIZE", &launch);
  variables.ReadLocalRank("HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE", &launch);
  const auto address = variables.Text(kAddress), port = variables.Text(kPort);
  if (!address || !port) {
    launch.store_hint = kAddress + " and " + kPort;
    return Found(launch);
  }
  const HostPort endpoint = ReadHostPort(kAddress + " and " + kPort, *address, *port);
  launch.run_id = RunIdOf("horovod_" + endpoint.host + "_" + std::to_string(endpoint.port));
  launch.store = StoreOnNextPort(StoreAt(endpoint));  // horovodrun itself listens on the port
  return Found(launch);
}

}  // namespace caffe2
