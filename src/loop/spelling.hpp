// How the text form of loop programs spells things, for the printer and the parser.
#pragma once
#include <string_view>
#include <utility>

#include "loop/program.hpp"

namespace ingot::loop {

inline constexpr std::pair<Place, std::string_view> kPlaces[] = {
    {Place::input, "input"}, {Place::constant, "constant"}, {Place::output, "output"},
    {Place::arena, "arena"}, {Place::lent, "lent"},         {Place::scratch, "scratch"},
};
// A fold of a computation, and one inside a nest.
struct FoldSpelling {
  Accumulate how;
  std::string_view word, assignment;
};
inline constexpr FoldSpelling kFolds[] = {
    {Accumulate::sum, "sum", "+="},   {Accumulate::product, "product", "*="}, {Accumulate::min, "min", "min="},
    {Accumulate::max, "max", "max="}, {Accumulate::all, "all", "and="},       {Accumulate::any, "any", "or="},
};

constexpr std::string_view spelling_of(Place p) {
  for (const auto& [place, word] : kPlaces)
    if (place == p) return word;
  return {};
}
constexpr std::string_view spelling_of(Accumulate a) {
  for (const FoldSpelling& f : kFolds)
    if (f.how == a) return f.word;
  return {};
}
constexpr std::string_view assignment_of(Accumulate a) {
  for (const FoldSpelling& f : kFolds)
    if (f.how == a) return f.assignment;
  return {};
}

// The buffers of this place, in order: what a program's inputs, constants and outputs are where no
// line says otherwise.
inline std::vector<int> buffers_in(const Program& p, Place place) {
  std::vector<int> all;
  for (std::size_t k = 0; k < p.buffers.size(); k++)
    if (p.buffers[k].place == place) all.push_back(static_cast<int>(k));
  return all;
}

}  // namespace ingot::loop
