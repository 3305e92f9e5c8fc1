// Blobs of a workspace to and from a minidb file, by the Save and Load operators.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/workspace.h"

namespace caffe2 {

// Writes the blobs, wherever they lie, in this order, with a checksum behind them. The file appears
// whole or not at all. Throws IoError with the path.
void SaveBlobs(Workspace* ws, const std::vector<std::string>& blobs, const std::string& path);

// Reads these blobs into `ws`; tensors that lie on a device stay there. Throws IoError if the file
// is damaged (see VerifyChecksum; with `need_checksum` false a file without a checksum will do, as
// other programs write them), and EnforceNotMet if a blob is missing.
void LoadBlobs(Workspace* ws, const std::vector<std::string>& blobs, const std::string& path,
               bool need_checksum);

}  // namespace caffe2
