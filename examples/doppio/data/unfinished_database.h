// A database in the making that outlives the command which makes it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "db/db.h"
#include "train/run_lock.h"

namespace caffe2::data {

// The records of a database, and how far its source has been read.
struct Summary {
  int64_t source_records = 0;  // read from the source, also the damaged ones
  int64_t records = 0, bad_records = 0, bytes = 0;
  uint32_t checksum = 0;  // CRC-32 of keys and values, in order
  std::map<int64_t, int64_t> labels;

  void Count(const std::string& key, const std::string& value);
};

// Writes the database of `path` to "<path>.unfinished", and beside it the settings and a Summary
// ("<path>.unfinished.state"). If the command ends before Finish(), for whatever reason, both stay,
// and the next UnfinishedDatabase goes on after the records that were saved. A lock keeps a second
// process away. Not thread-safe.
class UnfinishedDatabase {
 public:
  // `settings` is one line that says everything on which the records depend. Removes what is
  // damaged or was made with other settings, with a line on stderr. Throws RunConflict if another
  // process writes the database; IoError if there is a database at `path`, or something else at
  // "<path>.unfinished", or if what is there cannot be opened or belongs to a stranger.
  UnfinishedDatabase(const std::string& db_type, const std::string& path,
                     const std::string& settings);
  // Removes the files if nothing was saved.
  ~UnfinishedDatabase();
  UnfinishedDatabase(const UnfinishedDatabase&) = delete;
  UnfinishedDatabase& operator=(const UnfinishedDatabase&) = delete;

  // What is in the database already: the next record is the source's record `source_records`.
  const Summary& saved() const { return saved_; }
  void Add(const std::string& key, const std::string& value);
  // Makes the records that were added durable, together with `summary`, which counts them. After a
  // failed Add() or Save() of records it throws, and what was saved before stays.
  void Save(const Summary& summary);
  // The bytes of records that were added since Save().
  size_t unsaved_bytes() const { return unsaved_bytes_; }
  // After Save(): gives the database its name. Throws IoError if another process has made one there
  // meanwhile.
  void Finish();

 private:
  void Open();
  // Returns false if there is nothing to go on with.
  bool Continue();
  void Flush() const;
  void WriteState(const Summary& summary) const;
  void Remove();

  const std::string db_type_, path_, unfinished_, state_path_, settings_;
  const RunLock lock_;
  Summary saved_;
  std::unique_ptr<db::DB> db_;
  std::unique_ptr<db::Transaction> transaction_;
  size_t unsaved_bytes_ = 0;
  bool failed_ = false;  // it is unknown which of the unsaved records are in the database
};

}  // namespace caffe2::data
