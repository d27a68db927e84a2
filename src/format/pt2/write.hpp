// Writes exported programs in the layout of torch.export.save (P203, P204 of the format's
// description): PyTorch and Ingot read them.
#pragma once
#include <string>
#include <string_view>

#include "format/pt2/program.hpp"

namespace ingot {

// The program's JSON, an archive's models/NAME.json. What the graph, the signature and the facts
// hold is written from them; how it is spelled (tags, which defaults are written out, texts of
// expressions) follows the file the program came from where there was one, so that an unchanged
// program is written as the same JSON value. A node or value without a spelling gets the
// reference's usual one. User error for a program of several entry points, which a file has no
// place for.
std::string program_json(const Pt2Program& p);

// Writes the program with its weights and constants: stored entries at multiples of 64 bytes, which
// readers can map in place. Names that share a storage share its payload; a name without a tensor
// is written without a payload, as in archives whose weights were left out. The same program gives
// the same bytes, and the file appears whole or not at all. User error for a tensor that has no
// bytes here or a dtype the format does not have.
void save_pt2(const std::string& path, const Pt2Program& program);
// The same with JSON that somebody else wrote.
void save_pt2(const std::string& path, const Program& program, std::string_view json);

}  // namespace ingot
