// Tells what kind of file a path names, for errors about models and checkpoints.
#pragma once

#include <string>

namespace caffe2 {

// Throws IoError if `path` is clearly not an exported model but a folder, an ONNX model, a file of
// PyTorch or safetensors, a picture, a checkpoint or a NetDef (kBadData), or if it cannot be read
// (kNoInput). The message names the path, what it is and what to do. Does not look for damage.
void CheckIsModel(const std::string& path);

// The same for a checkpoint (train/checkpoint.h).
void CheckIsCheckpoint(const std::string& path);

// Throws IoError (kCannotWrite) if `path` is a file, not empty, that does not begin as a checkpoint
// does: a run that begins anew would destroy it.
void CheckCanBeCheckpoint(const std::string& path);

// True for a file that begins as an exported model does.
bool IsModelFile(const std::string& path);

}  // namespace caffe2
