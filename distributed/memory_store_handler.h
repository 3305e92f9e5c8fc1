// The store in this process: shards are threads. For tests.
#pragma once

#include "distributed/store_handler.h"

namespace caffe2 {

// Handlers that one factory makes share their keys, and are thread-safe. Keys expire as in Redis.
StoreFactory MemoryStores();

}  // namespace caffe2
