// The scope in which it is noted which training flags (ingot/nn/training_flag.hpp) a program reads.
#pragma once
#include <vector>

#include "ingot/nn/training_flag.hpp"

namespace ingot::nn {

// What a program took a flag to be.
struct TrainingRead {
  Ref<TrainingFlag> flag;
  TrainingFlag::State state;
};

// While it lives, is_training() of any module, asked on this thread, notes the module's flag. Of
// scopes inside each other, all note it.
class TrainingReads {
 public:
  TrainingReads();
  ~TrainingReads();
  TrainingReads(const TrainingReads&) = delete;
  TrainingReads& operator=(const TrainingReads&) = delete;

  // Each flag once, in the order of the first reads; of modules that are there now, which leaves
  // out those that lived inside of the program. What it was when it was read last; of one that this
  // thread set since the scope began, as the program may do itself, what it is now.
  std::vector<TrainingRead> reads() const;

  static bool any();  // scopes on this thread
  static void note(const Ref<TrainingFlag>& flag, TrainingFlag::State state);

 private:
  friend class TrainingFlag;
  TrainingReads* outer_;
  std::vector<TrainingRead> reads_;
  std::vector<const TrainingFlag*> set_;  // to be compared with flags that are there
};

}  // namespace ingot::nn
