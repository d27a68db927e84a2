// Names of a program's state that share a storage: what is written through one is seen through the
// others.
#pragma once
#include <set>
#include <vector>

#include "program/program.hpp"

namespace ingot {

// By placeholder of the entry point's graph. Of names that share, one stands for the storage: the
// first of those that are alike or, where they are not, the one that begins first. The others are
// what it is, or parts of it.
struct SharedState {
  struct Name {
    std::size_t owner = 0;  // itself: it shares nothing, or stands for the others
    int64_t offset = 0;     // in elements from the owner's first
  };
  std::vector<Name> names;
  // Of an owner of names that are not alike: how many elements of the storage they cover together.
  // Else 0.
  std::vector<int64_t> covered;
};

// Names that are alike always share. Others do where one of them is in `written`; until then they
// are constants like any other. User error where a storage that is written has names of different
// dtypes.
SharedState shared_state(const Program& program, const EntryPoint& entry, const std::set<std::size_t>& written = {});

}  // namespace ingot
