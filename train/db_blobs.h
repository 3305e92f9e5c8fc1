// Saves blobs of a workspace to a minidb file and loads them, with the Save and Load operators.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "train/atomic_file.h"

namespace caffe2 {

// Writes the blobs, which may be on any device, in this order, and then a checksum. The file
// appears complete or not at all (AtomicFile). Throws IoError with the path; if the disk is too
// full for the blobs, also with their bytes and the free ones.
void SaveBlobs(Workspace* ws, const std::vector<std::string>& blobs, const FileTarget& target);

// Reads these blobs into `ws`; a tensor that is on a device already stays there. With
// `need_checksum` it first checks the file (VerifyChecksum); without, it also reads files of other
// programs. Throws IoError if the file is damaged, and EnforceNotMet if a blob is missing.
void LoadBlobs(Workspace* ws, const std::vector<std::string>& blobs, const std::string& path,
               bool need_checksum);

}  // namespace caffe2
