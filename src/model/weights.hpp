// The values of the constants that come with a library: inside it, behind it in its own file, in a
// file beside it, or not at all.
#pragma once
#include <stddef.h>

#include <atomic>

#include "model/program.h"

namespace ingot::model {

// Pages of this process alone: changes stay in memory.
class Pages {
 public:
  Pages() = default;
  ~Pages() { drop(); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  bool reserve(uint64_t bytes);  // zero; those that are never touched cost nothing
  bool map(int file, uint64_t bytes, uint64_t position = 0);  // from the position on, which may be any
  void drop();
  char* data() const { return data_; }
  // Gives the whole pages among these bytes back: they are again as they came, zero or the file's.
  static void forget(char* from, uint64_t bytes);

 private:
  char* data_ = nullptr;
  uint64_t before_ = 0, bytes_ = 0;  // bytes of the first page that come before it, and all
};

// Which file they are from, and which of those that it was: all zero where they are in the library.
struct WeightsVersion {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t seconds = 0, nanoseconds = 0;

  bool operator==(const WeightsVersion&) const = default;
};

// Where the bytes of constant k begin is start() + constants[k].position.
class Weights {
 public:
  // Opens what the program has. A file that is not the one it was compiled with is a failure; a
  // file that is not there is not, as the constants may be given later: start() is null then, and
  // `missing_file` says which.
  bool open(const ingot_program& program);

  // Where a file beside the library is instead. False where the path is too long.
  static bool set_file(const char* path);

  char* start() const { return start_; }
  const char* missing_file() const { return missing_file_; }
  const WeightsVersion& version() const { return version_; }

  // Somebody gets to see the bytes and may write to them, from now on.
  void lend() const;
  // Whether somebody did: of the library's own bytes, by any container of the process.
  bool is_lent() const;
  // What was read of them is in no memory of this process any more, until it is read again: they
  // are in the file. Not where they may have been written to.
  void forget_read() const;

 private:
  bool open_appended(const ingot_program& program);

  Pages pages_;
  char* start_ = nullptr;
  bool is_shared_ = false;  // several containers see the same bytes
  mutable std::atomic<bool> is_lent_{false};
  uint64_t bytes_ = 0;
  WeightsVersion version_;
  char missing_file_[1024] = {};
};

}  // namespace ingot::model
