#include "autograd/captured.hpp"

#include <algorithm>

#include "autograd/meta.hpp"
#include "op/function.hpp"
#include "op/tensors.hpp"

namespace ingot {
namespace {

thread_local FunctionRegion* current_region = nullptr;

void note(Captured& c, uint64_t identity, const Tensor& t) {
  if (!requires_grad(t) || std::find(c.identities.begin(), c.identities.end(), identity) != c.identities.end()) return;
  c.identities.push_back(identity);
  c.tensors.push_back(t);
}

// Calls f at the autograd layer. A layer below, which calls it, has no use for a tape.
class TapeLayer {
 public:
  TapeLayer()
      : grad_mode_(thread_state().grad_mode, thread_state().grad_mode && thread_state().layer <= Layer::autograd),
        layer_(thread_state().layer, std::min(thread_state().layer, Layer::autograd)) {}

 private:
  Scoped<bool> grad_mode_;
  Scoped<Layer> layer_;
};

Value watched(const Value& f, const std::shared_ptr<Captured>& captured) {
  return make_function([f, captured](Args args) {
    const TapeLayer layer;
    FunctionRegion region(args);
    const Values results = region.use(f.function()(args));
    for (std::size_t k = 0; k < region.captured().tensors.size(); k++)
      note(*captured, region.captured().identities[k], region.captured().tensors[k]);
    return results;
  });
}

Value lifted(const Value& f, const std::vector<uint64_t>& identities) {
  return make_function([f, identities](Args args) {
    const std::size_t operands = args.size() - identities.size();
    const TapeLayer layer;
    FunctionRegion region(args);
    for (std::size_t k = 0; k < identities.size(); k++) region.replace(identities[k], args[operands + k].tensor());
    return region.use(f.function()(args.first(operands)));
  });
}

}  // namespace

FunctionRegion::FunctionRegion(Args operands) : outer_(current_region) {
  for_each_tensor(operands, [&](const Tensor& t) { own_.insert(t->identity()); });
  current_region = this;
}
FunctionRegion::~FunctionRegion() { current_region = outer_; }

FunctionRegion* FunctionRegion::current() { return current_region; }

Tensor FunctionRegion::use(const Tensor& t) {
  const uint64_t identity = t->identity();
  const auto found = replaced_.find(identity);
  const Tensor seen = outer_                     ? outer_->use(found == replaced_.end() ? t : found->second)
                      : found == replaced_.end() ? t
                                                 : found->second;
  if (found == replaced_.end() && !own_.contains(identity)) note(captured_, identity, seen);
  return seen;
}
Values FunctionRegion::use(Args args) {
  return map_tensors(args, [&](const Tensor& t) { return use(t); });
}
void FunctionRegion::made(const Value& results) {
  for_each_tensor(results, [&](const Tensor& t) {
    for (FunctionRegion* r = this; r; r = r->outer_) r->own_.insert(t->identity());
  });
}

Values watched_functions(Args args, const std::shared_ptr<Captured>& captured) {
  Values all(args.begin(), args.end());
  for (Value& v : all) v = map_functions(v, [&](const Value& f) { return watched(f, captured); });
  return all;
}

Values with_captured_operands(const Op& op, Args args, const Captured& captured) {
  Values all(args.begin(), args.end());
  if (captured.tensors.empty()) return all;
  // To the functions that share the list of the first: the others have nothing to do with
  // gradients.
  const std::vector<int>& closures = calling_convention(op)->closures;
  std::size_t next = 0;
  for (Value& v : all)
    v = map_functions(v, [&](const Value& f) { return closures.at(next++) == closures[0] ? lifted(f, captured.identities) : f; });
  Value& closure = all[static_cast<std::size_t>(closures[0])];
  Values operands = list_elements(closure);
  operands.insert(operands.end(), captured.tensors.begin(), captured.tensors.end());
  closure = list_value(std::move(operands));
  return all;
}

}  // namespace ingot
