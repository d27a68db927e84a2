// What the tables of bad input share: a run that is right in everything until a row spoils it, and
// processes that may die.
#pragma once
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>

#include "ingot/ingot.h"
#include "io/file.hpp"
#include "runner_fixture.hpp"

namespace ingot {

// What an error must say; none: it must work.
using Words = std::vector<std::string>;

inline void expect_words(const char* row, const std::string& found, const Words& words) {
  if (words.empty()) EXPECT_EQ(found, "") << row;
  else EXPECT_NE(found, "") << row << ": was accepted";
  for (const std::string& w : words)
    EXPECT_NE(found.find(w), std::string::npos) << row << ": the message lacks '" << w << "':\n  " << found;
}

inline std::string bytes_of(const std::string& file) { return std::string(MappedFile::open(file)->bytes()); }
// The first half of it, say.
inline std::string first(double part, const std::string& bytes) {
  return bytes.substr(0, static_cast<std::size_t>(part * static_cast<double>(bytes.size())));
}

// The text of the error that f ends in, or what killed it, in a process of its own.
inline std::string in_child(const std::function<void()>& f) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::string why;
    try {
      why = error_of(f);
    } catch (const std::exception& e) {
      why = text("internal error: ", e.what());
    }
    if (write(ends[1], why.data(), why.size()) < 0) _exit(2);
    _exit(0);
  }
  close(ends[1]);
  std::string found(1 << 14, 0);
  std::size_t length = 0;
  for (ssize_t n; (n = ::read(ends[0], found.data() + length, found.size() - length)) > 0;) length += static_cast<std::size_t>(n);
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? text("killed by signal ", WTERMSIG(status)) : found.substr(0, length);
}

// Files may have so many bytes from now on; `on_more` is what becomes of the process that writes
// more (SIG_DFL kills it).
inline void limit_files(std::uintmax_t bytes, sighandler_t on_more) {
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, on_more);
}
// Root may write where nobody may; from now on it may not.
inline void forgo_privileges() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  syscall(SYS_capset, &header, none);
}

// Memory of the caller with room before and behind, and how DLPack describes it.
struct Place {
  explicit Place(const Tensor& values) {
    sizes = {values.size(0).value(), values.size(1).value()};
    const std::vector<float> v = values.to_vector<float>();
    memory.assign(v.size() + 2 * kMargin, 0);
    std::copy(v.begin(), v.end(), memory.begin() + kMargin);
    t = {memory.data() + kMargin, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, sizes.data(), nullptr, 0};
  }
  Place(const Place&) = delete;
  void walk(int64_t rows, int64_t columns) {
    strides = {rows, columns};
    t.strides = strides.data();
  }
  // The same elements, each where the strides say.
  void lay_out(int64_t rows, int64_t columns) {
    const std::vector<float> dense = memory;
    walk(rows, columns);
    std::fill(memory.begin(), memory.end(), 0.f);
    for (int64_t i = 0; i < sizes[0]; i++)
      for (int64_t j = 0; j < sizes[1]; j++)
        static_cast<float*>(t.data)[i * rows + j * columns] = dense[kMargin + static_cast<std::size_t>(i * sizes[1] + j)];
  }
  // What is there, read byte by byte.
  Tensor read() const {
    Tensor out = zeros({sizes[0], sizes[1]});
    const int64_t rows = t.strides ? strides[0] : sizes[1], columns = t.strides ? strides[1] : 1;
    for (int64_t i = 0; i < sizes[0]; i++)
      for (int64_t j = 0; j < sizes[1]; j++)
        std::memcpy(
            static_cast<float*>(out.data_ptr()) + i * sizes[1] + j,
            static_cast<const char*>(t.data) + t.byte_offset + static_cast<int64_t>(sizeof(float)) * (i * rows + j * columns),
            sizeof(float));
    return out;
  }
  static constexpr std::size_t kMargin = 1024;
  std::vector<float> memory;
  std::vector<int64_t> sizes, strides;
  DLTensor t{};
};

// A run of the mlp, right in everything until a row spoils it.
struct MlpRun {
  MlpRun(const Tensor& in, const Tensor& out) : x(in), y(zeros(out.sizes())), expected(out) {}
  Place x, y;
  Tensor expected;
  const DLTensor* in[2] = {&x.t, &x.t};
  DLTensor* out[2] = {&y.t, &y.t};
  const DLTensor* const* inputs = in;
  DLTensor* const* outputs = out;
  std::size_t input_count = 1, output_count = 1;
};

class BadInput : public RunnerTest {
 public:  // the rows use it
  using RunnerTest::golden, RunnerTest::mlp, RunnerTest::path;
  void TearDown() override { ingot_session_close(session_); }
  ingot_session* open(const std::string& file) {
    ingot_session_close(std::exchange(session_, nullptr));
    EXPECT_EQ(ingot_session_open(file.c_str(), nullptr, &session_), INGOT_OK) << ingot_error();
    return session_;
  }
  // The mlp is as good as ever after what a row did.
  static void expect_works(ingot_session* s, const std::string& after) {
    MlpRun r(mlp_input(), mlp_output());
    ASSERT_EQ(ingot_session_run_into(s, r.inputs, 1, r.outputs, 1), INGOT_OK) << "after " << after << ": " << ingot_error();
    expect_close(r.y.read(), mlp_output());
  }
  std::string put(const std::string& name, const std::string& bytes) const { return write(name, bytes), path(name); }

 private:
  ingot_session* session_ = nullptr;
};

}  // namespace ingot
