// Graphs as the public interface shows them.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"

namespace ingot {
namespace {

void check_arguments(const Traced& t, const TensorList& arguments) {
  const std::vector<Node*>& inputs = t.graph.inputs();
  INGOT_REQUIRE(arguments.size() == inputs.size(), "the graph takes ", inputs.size(), " arguments, found ", arguments.size());
  for (std::size_t i = 0; i < inputs.size(); i++) {
    const Tensor &want = inputs[i]->meta.tensor(), &found = arguments[i];
    INGOT_REQUIRE(found.defined(), "argument ", i, " of the graph is undefined");
    bool fits = want.dtype() == found.dtype() && want.dim() == found.dim();
    for (int d = 0; fits && d < want.dim(); d++) fits = want.size(d).is_symbolic() || want.size(d).same(found.size(d));
    INGOT_REQUIRE(fits, "argument ", i, " of the graph should be ", name_of(want.dtype()), " of size ", want.sizes(),
                  " as its example was, found ", name_of(found.dtype()), " of size ", found.sizes(),
                  ". Make the graph with open sizes (TraceWith::symbols), or again for this argument");
  }
  const std::string violation = t.sizes.violation(Values(arguments.begin(), arguments.end()));
  INGOT_REQUIRE(violation.empty(), "the graph is not right for these arguments: ", violation);
}

}  // namespace

TensorList GraphFunction::operator()(const TensorList& arguments) const {
  check_arguments(*traced_, arguments);
  TensorList results;
  for (const Value& v : Interpreter(traced_->graph).run(Values(arguments.begin(), arguments.end())))
    results.push_back(v.tensor_or_none());
  return results;
}
std::string GraphFunction::text() const { return print(traced_->graph); }
std::string GraphFunction::guards() const { return traced_->sizes.listing(); }

GraphFunction make_fx(const TensorFunction& f, const TensorList& examples, MakeFxOptions options) {
  return GraphFunction(
      std::make_shared<Traced>(trace(f, examples, {.with = options.with, .pre_dispatch = options.pre_dispatch})));
}

}  // namespace ingot
