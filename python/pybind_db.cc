// Databases of records: C.create_db, DB, Cursor, Transaction.
#include <glog/logging.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "db/db.h"
#include "db/image/image_record.h"
#include "db/record_fingerprint.h"
#include "python/pybind_state.h"

namespace caffe2::python {
namespace {

// As in Caffe2, a transaction that is dropped is committed. Scripts rely on it.
void CommitDropped(db::Transaction* transaction) {
  try {
    transaction->Commit();
  } catch (const std::exception& error) {
    LOG(ERROR) << "the last records of a transaction are lost: " << error.what();
  }
}

class Database;

// A transaction or cursor, which the database must outlive. After its database is closed it refuses
// to work.
class DatabaseUser {
 public:
  explicit DatabaseUser(std::shared_ptr<Database> database);
  virtual ~DatabaseUser();
  virtual void End() = 0;  // when the database is closed

 protected:
  const std::shared_ptr<Database> database_;
};

class Database {
 public:
  explicit Database(std::unique_ptr<db::DB> database) : database_(std::move(database)) {}
  // As in Caffe2, a database that is dropped keeps what was committed.
  ~Database() {
    try {
      Close();
    } catch (const std::exception& error) {
      LOG(ERROR) << "a database is lost: " << error.what();
    }
  }

  db::DB& get() {
    CAFFE_ENFORCE(!closed_, "the database is closed");
    return *database_;
  }
  void Close() {
    if (closed_) return;
    // Not changed meanwhile: the objects exist on.
    for (DatabaseUser* user : users_) user->End();
    closed_ = true;
    database_->Close();
  }
  std::set<DatabaseUser*>& users() { return users_; }

 private:
  std::unique_ptr<db::DB> database_;
  bool closed_ = false;
  std::set<DatabaseUser*> users_;
};

DatabaseUser::DatabaseUser(std::shared_ptr<Database> database) : database_(std::move(database)) {
  database_->users().insert(this);
}
DatabaseUser::~DatabaseUser() { database_->users().erase(this); }

class Transaction final : public DatabaseUser {
 public:
  explicit Transaction(std::shared_ptr<Database> database)
      : DatabaseUser(std::move(database)), transaction_(database_->get().NewTransaction()) {}
  ~Transaction() override {
    if (transaction_) CommitDropped(transaction_.get());
  }
  void End() override {
    if (transaction_) transaction_->Commit();
    transaction_.reset();
  }
  db::Transaction& get() {
    CAFFE_ENFORCE(transaction_, "the database of this transaction is closed");
    return *transaction_;
  }

 private:
  std::unique_ptr<db::Transaction> transaction_;
};

class Cursor final : public DatabaseUser {
 public:
  explicit Cursor(std::shared_ptr<Database> database)
      : DatabaseUser(std::move(database)), cursor_(database_->get().NewCursor()) {}
  void End() override { cursor_.reset(); }
  db::Cursor& get() {
    CAFFE_ENFORCE(cursor_, "the database of this cursor is closed");
    return *cursor_;
  }

 private:
  std::unique_ptr<db::Cursor> cursor_;
};

}  // namespace

void AddDatabases(py::module_& m) {
  py::enum_<db::Mode>(m, "Mode", "How a database is opened.")
      .value("read", db::READ)
      .value("write", db::WRITE)
      .value("new", db::NEW)
      .export_values();
  py::class_<Transaction>(
      m, "Transaction",
      "Adds records. They are committed by commit() or, at the latest, when the object is freed or "
      "the database is closed.")
      .def(
          "put",
          [](Transaction& self, const std::string& key, const std::string& value) {
            self.get().Put(key, value);
          },
          py::arg("key"), py::arg("value"))
      .def(
          "commit", [](Transaction& self) { self.get().Commit(); },
          "Makes the records put so far durable.");
  py::class_<Cursor>(m, "Cursor", "Walks the records of a database in its order.")
      .def("supports_seek", [](Cursor& self) { return self.get().SupportsSeek(); })
      .def(
          "seek", [](Cursor& self, const std::string& key) { self.get().Seek(key); },
          py::arg("key"), "Moves to the record with this key, or else to the first one after it.")
      .def("seek_to_first", [](Cursor& self) { self.get().SeekToFirst(); })
      .def("next", [](Cursor& self) { self.get().Next(); })
      .def(
          "valid", [](Cursor& self) { return self.get().Valid(); }, "False after the last record.")
      .def(
          "key", [](Cursor& self) { return py::bytes(self.get().key()); },
          "The key of the current record.")
      .def(
          "value", [](Cursor& self) { return py::bytes(self.get().value()); },
          "The value of the current record.");
  py::class_<Database, std::shared_ptr<Database>>(m, "DB", "A database of records (key, value).")
      .def(
          "new_transaction",
          [](const std::shared_ptr<Database>& self) { return std::make_unique<Transaction>(self); })
      .def(
          "new_cursor",
          [](const std::shared_ptr<Database>& self) { return std::make_unique<Cursor>(self); },
          "A Cursor at the first record.")
      .def("close", &Database::Close,
           "Ends writing, after a commit of its transactions. Only then is a new database "
           "complete.");
  m.def(
      "create_db",
      [](const std::string& db_type, const std::string& source, db::Mode mode) {
        return std::make_shared<Database>(db::CreateDB(db_type, source, mode));
      },
      py::arg("db_type"), py::arg("source"), py::arg("mode"), "Opens a database.");
  m.def(
      "record_fingerprint",
      [](const std::string& db_type, const std::string& source) {
        const auto database = db::CreateDB(db_type, source, db::READ);
        return db::RecordFingerprint(database->NewIndex().get());
      },
      py::arg("db_type"), py::arg("source"), py::call_guard<py::gil_scoped_release>(),
      "A line that tells the records of two databases apart: their number and a checksum of some.");
  m.def(
      "image_shape",
      [](const std::string& record, bool color) {
        const auto& view = db::DecodeImageRecord(record, color).image.view;
        return std::tuple(view.height, view.width, view.channels);
      },
      py::arg("record"), py::arg("color") = true, py::call_guard<py::gil_scoped_release>(),
      "Height, width and channels of the image of a record. An image file has 3 channels, or 1 "
      "without `color`.");
  m.def("registered_dbs", [] { return db::DBRegistry().Keys(); });
}

}  // namespace caffe2::python
