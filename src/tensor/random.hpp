// The scope in which a thread has a default stream of its own (ingot/random.hpp).
#pragma once
#include "ingot/random.hpp"

namespace ingot {

// While it lives, that of this thread is one of its own, which begins with the state of the other:
// what is drawn, or seeded, here is nobody else's business.
class OwnStream {
 public:
  OwnStream();
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

 private:
  Ref<Generator> outer_;
};

}  // namespace ingot
