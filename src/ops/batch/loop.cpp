// The batching rule that always exists: one call for each member.
#include <cstdio>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "ops/batch/rules.hpp"

namespace ingot {
namespace {

std::mutex mutex;  // guards both
BatchWarningSink warning_sink = nullptr;
std::unordered_set<const Op*>& warned() {
  static std::unordered_set<const Op*> ops;
  return ops;
}

void warn_once(const Op& op) {
  BatchWarningSink sink;
  {
    const std::lock_guard lock(mutex);
    if (!warned().insert(&op).second) return;
    sink = warning_sink;
  }
  const std::string message =
      text("There is a performance drop because we have not yet implemented the batching rule for ", op.qualified(),
           ": it runs once for each member of the batch. A rule for the op (OpDef::batch) makes it one call.");
  if (sink) sink(message);
  else std::fprintf(stderr, "%s\n", message.c_str());
}

Value member(const Batching& b, int i, int64_t at) {
  const Value& v = b[i];
  if (v.is_tensor()) return b.batched(i) ? Value(aten<"select.int">(v.tensor(), 0, at)) : v;
  if (!v.is_tensors()) return v;
  TensorList l = v.tensors();
  for (std::size_t k = 0; k < l.size(); k++)
    if (b.batched(i, static_cast<int>(k))) l[k] = aten<"select.int">(l[k], 0, at);
  return l;
}

}  // namespace

BatchWarningSink set_batch_warning_sink(BatchWarningSink sink) {
  const std::lock_guard lock(mutex);
  warned().clear();
  return std::exchange(warning_sink, sink);
}

Value batch_loop(const Batching& b) {
  const int64_t n = b.size.value();
  INGOT_REQUIRE(n > 0, "Batching rule not implemented for ", b.op.qualified(),
                ". The fallback path doesn't support vmap over dims of size 0.");
  for (const SchemaArg& r : b.op.schema.results)
    INGOT_REQUIRE(r.type.kind == Kind::tensor, "vmap: ", b.op.qualified(),
                  " makes a number from the data of a tensor that is vmapped over, and each "
                  "member may give another one. Please rewrite what you're doing with other operations.");
  warn_once(b.op);
  std::vector<TensorList> results;  // by result, the members'
  bool one = true;
  for (int64_t m = 0; m < n; m++) {
    Values args;
    for (int i = 0; i < static_cast<int>(b.args.size()); i++) args.push_back(member(b, i, m));
    const Value r = call(b.op, args);
    if (r.is_none()) continue;
    one = r.is_tensor();
    const TensorList l = one ? TensorList{r.tensor()} : r.tensors();
    results.resize(l.size());
    for (std::size_t k = 0; k < l.size(); k++) {
      INGOT_REQUIRE(results[k].empty() || !l[k].defined() || results[k][0].sizes() == l[k].sizes(), "vmap: ", b.op.qualified(),
                    " gave members of different sizes, ", results[k][0].sizes(), " and ", l[k].sizes(), ": they are no batch");
      results[k].push_back(l[k]);
    }
  }
  if (results.empty()) return b.op.returns_list() ? Value(TensorList{}) : Value();
  TensorList stacked;
  for (const TensorList& l : results) stacked.push_back(l[0].defined() ? aten<"stack">(l, 0) : Tensor());
  return one ? Value(stacked[0]) : Value(std::move(stacked));
}

}  // namespace ingot
