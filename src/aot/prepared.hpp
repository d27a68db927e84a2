// A function on its way to a graph. Wrappers (dedupe.hpp, synthetic_base.hpp) change what it takes,
// and change it back around what was compiled (R064, R065).
#pragma once
#include "aot/metadata.hpp"
#include "graph/fake.hpp"

namespace ingot::aot {

struct Prepared {
  FlatFunction f;
  Values arguments;  // the caller's, as the function takes them now
  Values fakes;
  Metadata meta;

  // The metadata pass once more, on what the function is now (R080, R092 hold by this).
  void collect_again() { meta = collect_metadata(f, fakes, meta.keep_mutations, meta.is_train); }
};

}  // namespace ingot::aot
