// Replaces a header of Gloo that Debian 12's package lacks, although its gloo/transport/tcp/pair.h
// and context.h include it. Used only if the real header is missing (-idirafter). Only the layout
// matters: weak references to buffers that their users may free.
#pragma once

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr;

template <typename T>
class WeakNonOwningPtr final {
  std::weak_ptr<T> referent_;
};

}  // namespace gloo
