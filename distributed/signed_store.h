// A store whose values only holders of a secret can write.
#pragma once

#include <string>

#include "distributed/store_handler.h"

namespace caffe2 {

// Wraps a store: each value is stored as "hmac-sha256 <64 hexadecimal digits> v<value>", signed
// together with its full key, and checked when it is read. TryGet and Get throw IoError
// (kNotPermitted), which names key and store, for a value that was forged, moved from another key
// or never signed. SetFields writes a record for people; it is not signed. Counters (Add) are a
// series of signed keys "<key>+1", "<key>+2", ... The maximum length of a value is kSignatureBytes
// less than in the wrapped store.
//
// Signatures do not hide values. They do not prevent deleting a key, or restoring an older value of
// the same key, so give each run a secret of its own.
//
// An empty secret returns `stores` itself.
StoreFactory SignedStores(StoreFactory stores, const std::string& secret);

inline constexpr size_t kSignatureBytes = 78;
inline constexpr size_t kMinSecretBytes = 16;

// The secret of a run: the first line of the file `path`, or, if `path` is empty, of the file that
// the environment variable CAFFE2_SECRET_FILE names; empty without a file. Throws like
// ReadPrivateFile, and UsageError if the line is shorter than kMinSecretBytes.
std::string FindStoreSecret(const std::string& path = "");

}  // namespace caffe2
