#include "examples/doppio/data/kinds.h"

#include <algorithm>
#include <filesystem>

#include "caffe2/core/closest_word.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"

namespace caffe2::data {
namespace {

const char* NameOf(Part part) { return part == Part::kTrain ? "training" : "test"; }

// CIFAR-100's files have other names than CIFAR-10's, and records of another size.
bool HasFilesOf(const Kind& kind, const std::string& source) {
  if (kind.name == "cifar10") {
    return !db::FilesOf(source, "data_batch", ".bin").empty() ||
           !db::FilesOf(source, "test_batch", ".bin").empty();
  }
  if (kind.name == "cifar100") {
    return !db::FilesOf(source, "train", ".bin").empty() ||
           !db::FilesOf(source, "test.bin", "").empty();
  }
  return true;
}

std::string Needs(const Kind& kind) {
  return kind.name + " needs " + kind.files + ", from " + kind.from;
}

[[noreturn]] void ThrowOtherKind(const Kind& kind, const std::string& input) {
  const std::string type = db::TypeOfDataSet(input);
  ThrowIoError(ExitCode::kNoInput, "--input ", input, " is not a data set of the kind ", kind.name,
               type.empty() ? "" : " (it looks like db_type " + type + ")", "; ", Needs(kind),
               kind.db_type == "images" ? db::LooseImagesHint(input) : "");
}

}  // namespace

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"mnist", "idx", "train-images-idx3-ubyte.gz and the three files like it (or unpacked)",
       "https://ossci-datasets.s3.amazonaws.com/mnist/ (the site of the authors: "
       "http://yann.lecun.com/exdb/mnist/)",
       false},
      {"cifar10", "cifar", "data_batch_1.bin to data_batch_5.bin and test_batch.bin",
       "cifar-10-binary.tar.gz of https://www.cs.toronto.edu/~kriz/cifar.html; unpack it with tar "
       "-xf",
       false},
      {"cifar100", "cifar", "train.bin and test.bin",
       "cifar-100-binary.tar.gz of https://www.cs.toronto.edu/~kriz/cifar.html; unpack it with tar "
       "-xf",
       false},
      {"stl10", "stl10", "train_X.bin, train_y.bin, test_X.bin and test_y.bin",
       "stl10_binary.tar.gz of https://cs.stanford.edu/~acoates/stl10/; unpack it with tar -xf",
       false},
      {"folder", "images", "a folder with a sub-folder of image files for each class",
       "your own pictures"},
      {"imagenet-tar", "tar", "ILSVRC2012_img_train.tar, or a folder of its archives n*.tar",
       "https://image-net.org/download.php, after registration"},
      {"webdataset", "tar", "tar archives with a .cls file beside each image",
       "a WebDataset, as https://github.com/webdataset/webdataset describes it"},
  };
  return kinds;
}

const Kind& KindNamed(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const Kind& kind : Kinds()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
    list += (list.empty() ? "" : ", ") + kind.name;
  }
  const std::string closest = ClosestWord(name, names);
  ThrowUsage("there is no data set ", name,
             closest.empty() ? "." : "; do you mean " + closest + "?", " Known: ", list);
}

db::DataSet FindDataSetOf(const Kind& kind, const std::string& input) {
  std::error_code error;
  if (!std::filesystem::exists(input, error)) {
    ThrowIoError(ExitCode::kNoInput, "there is nothing at --input ", input, "; ", Needs(kind));
  }
  db::DataSet set = db::FindDataSet(input, kind.db_type);
  if (set.type.empty()) ThrowOtherKind(kind, input);
  return set;
}

void CheckPart(const Kind& kind, const db::DataSet& set, const std::string& input, Part part) {
  const std::string& source = part == Part::kTrain ? set.train : set.test;
  if (source.empty()) {
    ThrowIoError(ExitCode::kNoInput, "--input ", input, " holds no ", NameOf(part), " part of ",
                 kind.name, "; ", Needs(kind));
  }
  if (!HasFilesOf(kind, source)) ThrowOtherKind(kind, input);
}

}  // namespace caffe2::data
