// Published data sets, read as databases without conversion: which files belong to which type.
//
// | type     | source                                                                        |
// |----------|-------------------------------------------------------------------------------|
// | `cifar`  | folder or file of CIFAR-10's or CIFAR-100's binary version                    |
// | `stl10`  | folder or *_X.bin file of STL-10's binary version, with labels in *_y.bin     |
// | `idx`    | folder or *-images-idx3-ubyte file of MNIST or its like, plain or gzip        |
// | `images` | folder with one sub-folder of image files for each class                      |
// | `tar`    | tar archive, or folder of tar archives, of images (labels: tar_archive.h)     |
#pragma once

#include <string>
#include <vector>

namespace caffe2::db {

// A data set at a path. `train` and `test` are sources to open with the type; "" for a missing
// part. If the path is a file, or has no separate parts for training and tests, both are the path.
struct DataSet {
  std::string type;  // "" if the path holds no known data set
  std::string train, test;
};

// Recognizes a data set by the names of its files (a single IDX file also by its first bytes, one
// of CIFAR also by its size). A
// folder may hold both parts, in separate files or in sub-folders: train, and test or val. A tar
// archive, also the only one of a folder, may hold such folders, with class folders in them; its
// parts are then paths like "photos.tar/train". Sub-folders of images take precedence over archives
// beside them. With a `type` other than "auto", finds only a data set of this type.
DataSet FindDataSet(const std::string& path, const std::string& type = "auto");

// True for the types of databases that are data sets as people download them. They are only read,
// and their index is a RecordList.
bool IsDataSetType(const std::string& db_type);

// The type that FindDataSet(path) finds. Reads no archive.
std::string TypeOfDataSet(const std::string& path);

// What to do with images that lie directly in the folder `path`, not in a sub-folder for their
// class, as the end of an error: "; it holds 3 images itself: move them ...". "" if there are none.
std::string LooseImagesHint(const std::string& path);

// The regular files directly in the folder `path` whose names match prefix*suffix, sorted; empty if
// there is no such folder. If `path` is a file whose name matches, the result is that file.
std::vector<std::string> FilesOf(const std::string& path, const std::string& prefix,
                                 const std::string& suffix);

// True if DecodeImage reads files with this ending (.jpg, .jpeg, .png, ...).
bool IsImageName(const std::string& name);
// True for files and folders that operating systems add to a user's own: hidden ones, Thumbs.db,
// desktop.ini and __MACOSX. `name` has no folder.
bool IsSystemName(const std::string& name);

}  // namespace caffe2::db
