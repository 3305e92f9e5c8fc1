// Collective operations on device memory through a communicator for host memory.
#pragma once

#include <memory>

#include "distributed/collective.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// Each operation copies its data to a page-locked buffer, runs on the host in a thread of this
// object, and copies the result back. Both copies use the device's communication stream. There is
// one buffer for each operation name, kept for reuse. Several shards may use one device. Do not use
// `host` elsewhere. `timeout` is the time limit of each operation. Operations throw what `host`
// throws.
std::shared_ptr<Communicator> StageThroughHost(std::shared_ptr<Communicator> host, int device,
                                               milliseconds timeout);

}  // namespace caffe2
