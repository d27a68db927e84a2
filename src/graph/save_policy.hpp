// What the author of a program says about the values of a part of it: whether a backward should
// find them in memory or compute them again, and how much of the memory for activations the program
// may use. A tracer notes it on the nodes it makes, and the partitioners of src/aot read it there
// (R113, R117, R119, R125, R128). Without a trace it says nothing.
//
//   const CheckpointScope block;                 // what is called here is computed again in the backward …
//   Tensor h = layer(x);
//   const CheckpointScope keep(Keep::save);      // … but for what is called here
//   h = attention(h);
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

namespace ingot {

enum class Keep : uint8_t {
  unsaid,
  save,       // the backward finds it in memory
  recompute,  // the backward computes it again from what its region was given
};

struct SavePolicy {
  Keep keep = Keep::unsaid;
  int region = 0;                       // of a checkpoint: larger numbers were entered later; 0: none
  std::optional<double> memory_budget;  // the ratio of R125 for the whole program
};

// What calls of this thread are made under; null where nobody said.
const std::shared_ptr<const SavePolicy>& current_save_policy();

// Calls made in the scope are made under `policy`. Null leaves that of the enclosing scope.
class SavePolicyScope {
 public:
  explicit SavePolicyScope(std::shared_ptr<const SavePolicy> policy);
  ~SavePolicyScope();
  SavePolicyScope(const SavePolicyScope&) = delete;
  SavePolicyScope& operator=(const SavePolicyScope&) = delete;

 private:
  std::shared_ptr<const SavePolicy> old_;
  bool set_;
};

// A region of the program, or, with Keep::save, the part of the enclosing region whose values are
// kept all the same.
class CheckpointScope {
 public:
  explicit CheckpointScope(Keep keep = Keep::recompute);

 private:
  SavePolicyScope scope_;
};

// Where min-cut cuts a program with a call in the scope, this is its budget, whatever it was told.
class MemoryBudgetScope {
 public:
  explicit MemoryBudgetScope(double ratio);

 private:
  SavePolicyScope scope_;
};

}  // namespace ingot
