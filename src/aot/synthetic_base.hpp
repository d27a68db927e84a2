// Arguments that overlap in memory, one of which is written: the graph takes what they are views of instead (section 7.2).
#pragma once
#include "aot/prepared.hpp"

namespace ingot::aot {

class SyntheticBase {
 public:
  // User errors of R085 for arguments whose common base autograd would not follow. `fake` makes fakes of arguments.
  SyntheticBase(Prepared& p, const std::function<Values(const Values&)>& fake);
  FlatCallable around(FlatCallable inner) const;
  bool changes_arguments() const { return !arguments_.empty(); }
  // The arguments that a base stands for, by base.
  std::vector<std::vector<std::size_t>> bases() const;

 private:
  // One of the arguments of the new function: a base of several of the old one's, or one of them.
  struct Argument {
    std::vector<std::size_t> members;
    bool is_base = false;
  };
  std::vector<Argument> arguments_;
  std::vector<std::size_t> looks_changed_;  // members that look otherwise after the call: outputs after the user's (R088)

  Values bases_and_others(const Values& given) const;
};

// R083. Two tensors on one storage.
bool definitely_apart(const Tensor& a, const Tensor& b);

}  // namespace ingot::aot
