// From a flat function and example arguments to what runs in its place: the choice between a graph
// with and one without gradients, and their compilation (sections 2 and 6).
#pragma once
#include "aot/aot.hpp"
#include "aot/assembly.hpp"
#include "aot/guards.hpp"

namespace ingot::aot {

// Everything that a cache needs to have of a function, told when the last of its graphs is compiled
// and a store has them all: the keys of its forward (or only graph) and of its backward, which may
// be empty. One key for both: a pair of the store.
using WhenCompiled = std::function<void(const Assembly& assembly, const std::string& forward, const std::string& backward)>;

struct Compiled {
  FlatCallable run;
  Guards guards;  // what it was compiled for; of nothing where the options want none
};

// `arguments` may be fakes (AotOptions::sizes). `id`: of the entry, for names and messages (R002).
Compiled compile(const FlatFunction& f, const Values& arguments, const AotOptions& options, int id,
                 const WhenCompiled& tell = {});

// What a function with this assembly holds for. `fakes` and `sizes` as it was traced on; `around`:
// from before that.
Guards guards_of(const Values& arguments, const Values& fakes, const ShapeEnv& sizes, const Assembly& assembly,
                 const AotOptions& options, Surroundings around);

// Fakes of the arguments, with the sizes that the options leave open as symbols of the environment.
Values fakes_of(const Values& arguments, const AotOptions& options, ShapeEnv& sizes);

// R017: nothing that anybody could ask gradients of.
bool has_nothing_to_differentiate(const Metadata& m);

// R004: user error for an output that is no leaf of a known type.
void require_known_output(const Tree& output);

}  // namespace ingot::aot
