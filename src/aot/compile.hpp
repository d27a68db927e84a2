// From a flat function and example arguments to what runs in its place: the choice between a graph with and one without
// gradients, and their compilation (sections 2 and 6).
#pragma once
#include "aot/aot.hpp"
#include "aot/prepared.hpp"

namespace ingot::aot {

// `arguments` may be fakes (AotOptions::sizes). `id`: of the entry, for names and messages (R002).
FlatCallable compile(const FlatFunction& f, const Values& arguments, const AotOptions& options, int id);

// R017: nothing that anybody could ask gradients of.
bool has_nothing_to_differentiate(const Metadata& m);

// R004: user error for an output that is no leaf of a known type.
void require_known_output(const Tree& output);

}  // namespace ingot::aot
