// Files: a function and an exported program become libraries, which run by ingot/session.hpp;
// arrays and tensors are saved and loaded; errors are caught as what they are.
#include <ingot/compile.hpp>
#include <ingot/error.hpp>
#include <ingot/ingot.hpp>
#include <ingot/io.hpp>
#include <ingot/random.hpp>
#include <ingot/session.hpp>
#include <ingot/threads.hpp>

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "parts.hpp"

using namespace ingot;

namespace {

Tensor run(Session& session, const Tensor& x) {
  const OwnedTensor in(to_dlpack_versioned(x));
  return from_dlpack(session.run({in.get()})[0].release());
}

void catch_errors() {
  std::string said;
  try {
    randn({2, 3}).matmul(randn({4, 5}));
  } catch (const UserError& e) {
    said = e.what();
  }
  expect(said.find("2x3") != std::string::npos, "a product of matrices that do not fit says which, not '" + said + "'");
  bool no_file = false;
  try {
    Session("nothing.so");
  } catch (const UserError&) {
    no_file = true;
  }
  expect(no_file, "a library that is not there is a user error");
}

void save_and_load() {
  const Tensor x = randn({3, 4});
  save_npy("x.npy", x);
  expect(equal(load_npy("x.npy"), x), "an array is what was saved");
  save_safetensors("x.safetensors", {{"x", x}});
  expect(equal(SafeTensors::open("x.safetensors").get("x"), x), "a tensor is what was saved");
}

}  // namespace

void use_files(const std::string& exported) {
  set_num_threads(2);
  expect(num_threads() == 2, "two threads");
  const Draw before = default_generator()->state();
  const Tensor x = randn({4, 6});
  default_generator()->set_state(before);
  expect(equal(randn({4, 6}), x), "a stream that is set back repeats itself");

  const Tensor w = randn({6, 3});
  const TensorFunction f = [w](const TensorList& in) { return TensorList{relu(in[0].matmul(w))}; };
  compile(f, {x}, {}, "f.so", {.metadata = {{"made by", "an outside project"}}});
  Session session("f.so");
  expect(session.metadata("made by") == "an outside project", "metadata is in the library");
  expect(allclose(run(session, x), f({x})[0]), "a library computes what the function does");

  compile_file(exported, "model.so");
  Session model("model.so");
  std::vector<int64_t> sizes;
  const ingot_value input = model.inputs().at(0);
  for (int32_t d = 0; d < input.rank; d++)
    sizes.push_back(std::isdigit(*input.sizes[d]) ? std::stoll(input.sizes[d]) : 8);  // open: 8
  const Tensor given = randn(Shape(sizes));
  const Tensor result = run(model, given);
  const Tree called = load_compiled("model.so")(Tree::tuple({given}), Tree::dict({}));
  const Tensor same = called.is_leaf() ? called.leaf().tensor() : called[0].leaf().tensor();
  expect(equal(result, same), "an exported program computes the same by both ways to run it");

  save_and_load();
  catch_errors();
  std::printf("a library of a function and one of %s ran\n", exported.c_str());
}
