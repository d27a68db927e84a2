// What a backward does to the inputs of the function and to its own (R103): a backward that a user
// wrote may write tensors that it saved. Asked while the joint graph is recorded.
#pragma once
#include "aot/metadata.hpp"

namespace ingot::aot {

class BackwardWrites {
 public:
  // Before the backward. `inputs` are the function's, `given` what took their place in its forward
  // (R099): functional tensors.
  BackwardWrites(const Values& inputs, const Values& given, const TensorList& tangents);

  // After it: the inputs whose elements it wrote. User errors: an input looks otherwise or has a
  // storage of another size, a tangent was written, or an input was that the forward writes, too.
  std::vector<int> found(const Metadata& meta) const;

 private:
  struct Seen {
    Tensor tensor;
    Geometry geom;
    uint32_t mutations = 0;
    bool resized = false;
    explicit Seen(const Tensor& t);
    bool is_written() const;
  };
  struct Input {
    int index;
    Seen own, given;
  };
  std::vector<Input> inputs_;
  std::vector<Seen> tangents_;
};

}  // namespace ingot::aot
