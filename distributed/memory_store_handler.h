// A store in the memory of this process, for shards that are threads.
#pragma once

#include "distributed/store_handler.h"

namespace caffe2 {

// All handlers of one factory share their keys. They are thread-safe. Keys expire as in Redis.
StoreFactory MemoryStores();

}  // namespace caffe2
