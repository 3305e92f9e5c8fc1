// The checkpoint to resume from, among the ones that lie at a path: several runs may have left
// some.
//
// A run gets a lineage when it begins anew: 32 random hexadecimal digits, which every checkpoint
// has in its header, and which a resumed run takes from the checkpoint that it goes on from. Two
// runs at one path may have the same settings, so only their lineages tell their checkpoints apart.
// Checkpoints of older programs have none.
#pragma once

#include <string>

#include "caffe2/proto/checkpoint.pb.h"
#include "train/options.h"

namespace caffe2 {

std::string NewLineage();

// The bytes of a header, with the lineage first: LineageOf then finds it in a file whose other
// parts are lost.
std::string HeaderBytes(CheckpointProto header);

// The lineage in the first bytes of the file, which may be damaged; "" if there is none.
std::string LineageOf(const std::string& file);

// True if there is a file at checkpoint_path, or one of the earlier checkpoints that the run keeps
// (keep_checkpoints).
bool HasCheckpoint(const OutputOptions& output);

// The newest of "<path>", "<path>.1", ... (keep_checkpoints) whose checksum is right and that is of
// the run which wrote the newest of them, as far as lineages say: a file without one may be of any
// run. Logs a warning for each file that it skips, because it is damaged or of another run. Renames
// damaged ones to "<file>.damaged" if the run writes checkpoints: later saves must not keep them in
// place of intact ones.
//
// Throws IoError, and renames none, if there is no such file, or if a newer one cannot be read: it
// may be intact, and later saves would replace it. If an earlier run left an intact one, the error
// says how to go on from that.
std::string NewestCheckpoint(const std::string& path, const OutputOptions& output);

}  // namespace caffe2
