// Programs written by hand: a whole reader of a format, as small as one can be
// (docs/adding-a-format.md).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace ingot::testing {

// An entry point as a listing of its graph. Inputs that are called like a buffer are that buffer;
// all others the caller gives.
struct ListedEntry {
  std::string name, listing;
  std::vector<std::string> writes = {};  // of the first outputs: the buffers whose new values they are
};

ingot::Program listed_program(const std::vector<ListedEntry>& listed, const std::map<std::string, Tensor>& buffers);

}  // namespace ingot::testing
