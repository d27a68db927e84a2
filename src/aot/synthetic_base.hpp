// Arguments that overlap in memory, one of which is written: the graph takes what they are views of
// instead (section 7.2).
#pragma once
#include "aot/prepared.hpp"

namespace ingot::aot {

class SyntheticBase {
 public:
  // One of the arguments of the new function: a base of several of the old one's, or one of them.
  struct Argument {
    std::vector<std::size_t> members;
    bool is_base = false;
  };
  struct State {
    std::vector<Argument> arguments;         // none: the function takes what the caller gives
    std::vector<std::size_t> looks_changed;  // members that look otherwise after the call: outputs after the user's (R088)
  };

  // User errors of R085 for arguments whose common base autograd would not follow. `fake` makes
  // fakes of arguments. `most`: of those that share a storage where sizes are open (R084).
  SyntheticBase(Prepared& p, const std::function<Values(const Values&)>& fake, int most = 5);
  explicit SyntheticBase(State state) : state_(std::move(state)) {}
  const State& state() const { return state_; }
  // Where arguments became one: what the record of the function as it was makes one expect of the
  // function now (R089). Of `now`, the arguments' fakes and the record that was found, it takes
  // what depends on the bases alone: whether they are leaves, their sizes.
  std::optional<Metadata> expected_record(const Metadata& before, const Prepared& now) const;
  FlatCallable around(FlatCallable inner) const;
  bool changes_arguments() const { return !state_.arguments.empty(); }
  // The arguments that a base stands for, by base.
  std::vector<std::vector<std::size_t>> bases() const;

 private:
  State state_;

  Values bases_and_others(const Values& given) const;
};

// R083. Two tensors on one storage.
bool definitely_apart(const Tensor& a, const Tensor& b);

}  // namespace ingot::aot
