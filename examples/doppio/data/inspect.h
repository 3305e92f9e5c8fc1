// Looks at every record of a database or data set.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace caffe2::data {

struct InspectOptions {
  std::string path;
  std::string db_type = "auto";  // as --db_type of the trainers
  bool test_part = false;        // inspect the test part of a path that holds both parts
  int threads = 0;               // that decode images; 0: one for each core
  int64_t max_records = 0;       // look at this many records from the first on; 0: all
  int pictures = 0;              // pictures to keep for each label
};

struct Picture {
  std::string key;
  std::string file;  // a PNG
};

// What is in a database.
struct Inspection {
  std::string source, db_type;
  std::string fingerprint;  // db::RecordFingerprint; "" if one is unreadable
  int64_t total = 0;        // records of the database
  int64_t records = 0;      // inspected records
  int64_t bytes = 0, min_bytes = 0, max_bytes = 0;  // of the values of records
  std::map<std::string, int64_t> kinds;             // of images: "Datum, image file" -> records
  std::map<std::string, int64_t> others;  // intact, without an image: "FLOAT [4], INT32 [1]"
  std::map<std::string, int64_t> shapes;  // "96x96x3": height, width, channels
  std::map<int64_t, int64_t> labels;
  int64_t without_label = 0;
  std::vector<std::string> class_names;  // by label; empty if the source has none
  std::string incomplete;                // a data set that lacks files (db::DescribeMissing); or ""
  std::string left_out;                  // files that are not read (db::Describe); "" without any
  // Mean and standard deviation of all pixels for each channel, blue, green, red or gray; empty if
  // images have different numbers of channels or no pixels.
  std::vector<double> mean, std;
  int64_t num_damaged = 0;
  std::vector<std::string> damaged;  // the first ones: "record 17, key cat/3.jpg: ..."
  std::map<int64_t, std::vector<Picture>> pictures;
};

// Decodes every record. Records of other tensors than an image are no damaged ones. Damaged records
// are counted and named; throws IoError only if the database cannot be opened. Shows progress on
// stderr.
Inspection Inspect(const InspectOptions& options);

// The whole result, as lines for people, as JSON, or as a page with pictures.
std::string InspectionText(const Inspection& found);
std::string InspectionJson(const Inspection& found);
std::string InspectionHtml(const Inspection& found);

// The name of a label: "3 (ship)", or "3".
std::string LabelText(const Inspection& found, int64_t label);

}  // namespace caffe2::data
