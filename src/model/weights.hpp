// The values of the constants that come with a library: inside it, behind it in its own file, in a
// file beside it, or not at all.
#pragma once
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

 private:
  char* data_ = nullptr;
  uint64_t before_ = 0, bytes_ = 0;  // bytes of the first page that come before it, and all
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
  // Whether several containers see the same bytes, so that what runs write to must be copied first.
  bool is_shared() const { return is_shared_; }
  const char* missing_file() const { return missing_file_; }

 private:
  bool open_appended(const ingot_program& program);

  Pages pages_;
  char* start_ = nullptr;
  bool is_shared_ = false;
  char missing_file_[1024] = {};
};

}  // namespace ingot::model
