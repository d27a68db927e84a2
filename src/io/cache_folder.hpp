// A folder of things that can be made again, shared by processes. Whoever is killed, whatever is in
// it is whole; when it gets too large, what was not used for the longest time goes.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ingot/cache_folder.hpp"

namespace ingot {

// Things have names like "graphs/3f2a"; a thing is a folder of files. Safe for many threads and
// processes at a time.
class CacheFolder {
 public:
  // `most_bytes`: of all files together. The folder is made when the first thing is put into it.
  CacheFolder(std::string path, int64_t most_bytes) : path_(std::move(path)), most_bytes_(most_bytes) {}

  const std::string& path() const { return path_; }

  // The path of the thing, which counts as used now; none if there is none. Another process may
  // take it away at any time: a file that is opened stays.
  std::optional<std::string> find(const std::string& name) const;
  // Calls `fill` with the path of an empty folder, and gives it the name when it returns; files in
  // it must be complete by then. Where the name is taken, what has it stays. Then the folder is cut
  // to its size. User error where it cannot be written.
  void put(const std::string& name, const std::function<void(const std::string& folder)>& fill) const;
  // Takes the thing away, if it is there.
  void remove(const std::string& name) const;
  // Takes every thing of a kind away: those whose names begin with it and a '/'.
  void clear(const std::string& kind) const;

  int64_t bytes() const;  // of all things

 private:
  std::string path_;
  int64_t most_bytes_;

  std::string pending_name() const;
  void discard(const std::string& folder) const;
  void make_room(const std::string& keep) const;
};

}  // namespace ingot
