// What becomes of an archive that was damaged or made to do harm: a small one with a bit of
// everything, and a child process that loads and runs what a test made of it, its time and memory
// watched.
#pragma once
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "format/pt2/load.hpp"
#include "format/pt2/samples.hpp"
#include "ingot/ingot.hpp"
#include "support/sanitized.hpp"
#include "unit/pt2_container_fixture.hpp"

namespace ingot {

// What should become of a file.
enum class Fate {
  refused,   // loading ends in a user error that names the file
  fails,     // it loads, and running it ends in a user error
  harmless,  // it loads: the damage is to something that has no meaning, or makes another valid program
};

// A small archive with a bit of everything.
inline const std::vector<Payload> kWeights = {
    {.name = "w", .meta = {.sizes = {2, 2}, .strides = {2, 1}}},
    {.name = "tied"},
    {.name = "m", .file = "weight_1", .meta = {.dtype = 12, .requires_grad = false}, .is_param = false}};
inline const std::vector<Payload> kConstants = {
    {.name = "c", .file = "tensor_0", .meta = {.requires_grad = false}, .is_param = false}};
inline const std::vector<std::string> kSpecs = {parameter("w"), parameter("tied"), buffer("m"), constant("c")};

inline Pt2Entries base() {
  Pt2Entries e = Pt2Entries::plain(kSpecs, kWeights, kConstants);
  e.set("data/weights/weight_0", raw<float>({1, 2, 3, 4}))
      .set("data/weights/weight_1", std::string("\0\1", 2))
      .set("data/constants/tensor_0", raw<float>({5, 6}));
  e.set("data/sample_inputs/model.pt",
        torch_save(pickled::tuple({pickled::tuple({pickled::tensor("0", 2, {2}, {1})}), "}"}), {{"0", raw<float>({1, 2})}}));
  return e;
}

inline ZipEntry& find(Pt2Entries& e, const std::string& name) {
  for (ZipEntry& x : e.all)
    if (x.name == e.top + name) return x;
  throw std::out_of_range(name);
}

// A number that depends on nothing but its place.
inline uint64_t scramble(uint64_t i) {
  i = (i + 1) * 0x9E3779B97F4A7C15u;
  i = (i ^ i >> 30) * 0xBF58476D1CE4E5B9u;
  return i ^ i >> 27;
}

// What loading and running came to, told by a child process whose time and memory are watched.
struct Verdict {
  Fate fate = Fate::refused;
  std::string message, died;  // died: how the child ended if it told nothing
  long megabytes = 0;
};

inline Verdict judge(const std::string& file) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const struct rlimit time = {kSanitized ? 60 : 2, kSanitized ? 61 : 3};
    ::setrlimit(RLIMIT_CPU, &time);
    std::string told;
    try {
      Program p = load_pt2(file);
      (void)read_sample_inputs(file);
      for (auto& [name, e] : p.state)
        if (!e.tensor.defined()) p.supply(name, make_tensor(Geometry::contiguous(e.sizes, e.dtype)));
      try {
        (void)p.run(Values{tensor({1., 2})});
        told = "h";
      } catch (const UserError& e) {
        told = text("f", e.what());
      }
    } catch (const UserError& e) {
      told = text("r", e.what());
    } catch (const std::exception& e) {
      told = text("!", e.what());
    }
    const bool whole = ::write(ends[1], told.data(), std::min<std::size_t>(told.size(), 60'000)) > 0;
    ::_exit(whole ? 0 : 1);
  }
  ::close(ends[1]);
  std::string told;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) told.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  struct rusage usage{};
  ::wait4(child, &status, 0, &usage);
  Verdict v;
  v.megabytes = usage.ru_maxrss / 1024;
  if (told.empty() || told[0] == '!') {
    v.died = WIFSIGNALED(status) ? text("signal ", WTERMSIG(status)) : told.empty() ? "it told nothing" : told;
    return v;
  }
  v.fate = told[0] == 'h' ? Fate::harmless : told[0] == 'f' ? Fate::fails : Fate::refused;
  v.message = told.substr(1);
  return v;
}

}  // namespace ingot
