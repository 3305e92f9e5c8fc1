// Collective operations on device memory by a communicator of host memory.
#pragma once

#include <memory>

#include "distributed/collective.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// Operations go through page-locked buffers: a copy to the host, the operation there, on a thread
// of this object's own, and a copy back, both on the device's communication stream. Buffers are
// kept, one for each name of an operation. Several shards may use one device. `host` must not be
// used elsewhere; `timeout` is that of each operation.
std::shared_ptr<Communicator> StageThroughHost(std::shared_ptr<Communicator> host, int device,
                                               milliseconds timeout);

}  // namespace caffe2
