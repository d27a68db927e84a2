#include "compiler/function_program.hpp"

#include <map>
#include <set>

#include "graph/trace.hpp"
#include "pass/decompose.hpp"
#include "tensor/impl.hpp"

namespace ingot {

TensorList lying_apart(const TensorList& examples) {
  std::map<const TensorImpl*, Tensor> apart;
  std::set<const Storage*> seen;
  TensorList taken;
  for (const Tensor& t : examples) {
    Tensor& own = apart[t.impl()];
    if (!own.defined()) {
      const bool shares = !seen.insert(t->storage.get()).second;
      own = shares ? Tensor(make_ref<TensorImpl>(Storage::fake(t->storage->nbytes(), t.device()), t->geom)) : t;
    }
    taken.push_back(own);
  }
  return taken;
}

Program function_program(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open) {
  Traced traced = trace(functionalize(f, {.counts_writes = false}), lying_apart(examples),
                        {.open = open, .decompositions = &core_decompositions(), .keep_loops = true});
  Program p;
  p.name = "model";
  p.producer = "a function";
  p.main() = function_entry("forward", std::move(traced.graph), std::move(traced.sizes));
  p.prepare();
  return p;
}

}  // namespace ingot
