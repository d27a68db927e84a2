// What sessions and packages say beside errors (ingot/ingot.h): to a function, or nowhere.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "bad_input_fixture.hpp"
#include "ingot/aoti.h"
#include "ingot/aoti_host.h"
#include "ingot/model.h"
#include "io/zip_writer.hpp"
#include "support/sanitized.hpp"

namespace ingot {
namespace {

using Lines = std::vector<std::pair<ingot_log_level, std::string>>;

class CLog : public BadInput {
 protected:
  ~CLog() override { ingot_set_log(nullptr, nullptr); }
  void listen() {
    ingot_set_log(
        [](void* context, ingot_log_level level, const char* line) { static_cast<Lines*>(context)->emplace_back(level, line); },
        &lines_);
  }
  // A package as they were once, which is worth a warning.
  std::string old_package() {
    const std::string file = path("old.pt2");
    ZipWriter zip(file);
    zip.add("archive_format", "pt2");
    zip.add("data/aotinductor/model/x.so", bytes_of(mlp()));
    zip.add("data/aotinductor/model/x_metadata.json", R"({"AOTI_DEVICE_KEY": "cpu"})");
    zip.finish();
    return file;
  }
  static void list(const std::string& file) {
    ingot_package* package = nullptr;
    EXPECT_EQ(ingot_package_open(file.c_str(), &package), INGOT_OK) << ingot_error();
    ingot_package_close(package);
  }
  static void load(const std::string& file) {
    ingot_session* session = nullptr;
    EXPECT_EQ(ingot_session_open(file.c_str(), nullptr, &session), INGOT_OK) << ingot_error();
    ingot_session_close(session);
  }
  // Does `meanwhile` while another thread opens the old package, is being warned, and has not come
  // further than the function that hears it.
  void while_it_is_opened(const std::string& old, const std::function<void()>& meanwhile) {
    struct Listener {
      std::atomic<bool> hears = false, may_go = false;
    } listener;
    ingot_set_log(
        [](void* context, ingot_log_level, const char*) {
          Listener& l = *static_cast<Listener*>(context);
          l.hears = true;
          while (!l.may_go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        &listener);
    std::thread opener([&] { load(old); });
    while (!listener.hears) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    meanwhile();
    listener.may_go = true;
    opener.join();
    ingot_set_log(nullptr, nullptr);
  }
  Lines lines_;
};

TEST_F(CLog, TheFunctionHearsWarnings) {
  const std::string file = old_package();
  listen();
  list(file);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0].first, INGOT_LOG_WARNING);
  EXPECT_EQ(lines_[0].second, file + ": the archive has no top-level folder; it was written by an old version");
  load(file);
  EXPECT_EQ(lines_.size(), 2u);
  ingot_set_log(nullptr, nullptr);
  list(file);
  EXPECT_EQ(lines_.size(), 2u) << "a function that was taken away";
}

TEST_F(CLog, WithoutAFunctionNothingIsSaid) {
  const std::string file = old_package();
  ::testing::internal::CaptureStderr();
  list(file);
  load(file);
  load(std::string(INGOT_STUB_DIR) + "/stub_old.so");  // lacks functions, of which C++ is warned
  ingot_session* none = nullptr;
  EXPECT_EQ(ingot_session_open(path("none.so").c_str(), nullptr, &none), INGOT_INVALID);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// Somebody else may keep a library loaded for longer than the code of the function that its lines
// came to.
TEST_F(CLog, ALibraryIsWithoutTheFunctionAfterItsLastSession) {
  const std::string file = mlp();
  void* kept = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(kept) << dlerror();
  const auto create = reinterpret_cast<decltype(&AOTInductorModelContainerCreateWithDevice)>(
      dlsym(kept, "AOTInductorModelContainerCreateWithDevice"));
  const auto print_errors = reinterpret_cast<decltype(&ingot_print_errors)>(dlsym(kept, "ingot_print_errors"));
  ASSERT_TRUE(create && print_errors);
  const auto printed_of_failure = [&] {
    print_errors(true);
    ::testing::internal::CaptureStderr();
    AOTInductorModelContainerHandle none = nullptr;
    EXPECT_EQ(create(&none, 0, "cpu", nullptr), AOTI_RUNTIME_FAILURE);
    return ::testing::internal::GetCapturedStderr();
  };
  listen();
  ingot_session *first = nullptr, *second = nullptr;
  for (ingot_session** s : {&first, &second}) ASSERT_EQ(ingot_session_open(file.c_str(), nullptr, s), INGOT_OK) << ingot_error();
  ingot_session_close(first);
  EXPECT_EQ(printed_of_failure(), "");
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0], (std::pair(INGOT_LOG_ERROR, std::string("num_models must be positive, but got 0"))));
  ingot_session_close(second);
  EXPECT_EQ(printed_of_failure(), "Error: num_models must be positive, but got 0\n");
  EXPECT_EQ(lines_.size(), 1u);
  dlclose(kept);
}

// C++ users hear on standard error, and all of it comes to the function where there is one.
TEST_F(CLog, TheFunctionHearsTheLibraryToo) {
  const std::string file = old_package();
  ::testing::internal::CaptureStderr();
  unpack_model(file, "model");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "[WARNING] " + file + ": the archive has no top-level folder; it was written by an old version\n");
  listen();
  unpack_model(file, "model");
  aoti_torch_warn("f", "file.cpp", 7, "careful");
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[1], (std::pair(INGOT_LOG_WARNING, std::string("careful (f at file.cpp:7)"))));
}

// It may take long to unpack a package, and to write a line.
TEST_F(CLog, AnotherPackageOpensWhileOneIsUnpacked) {
  const std::string old = old_package(), other = path("other.pt2");
  write_package(other, {{"model", mlp(), R"({"AOTI_DEVICE_KEY": "cpu"})", ""}});
  std::future<void> opened;
  while_it_is_opened(old, [&] {
    opened = std::async(std::launch::async, [&] { load(other); });
    EXPECT_EQ(opened.wait_for(std::chrono::seconds(20)), std::future_status::ready)
        << "it waits for a package that is not its own";
  });
}

// The thread that was in the middle of it is not in the child.
TEST_F(CLog, AForkWhileAPackageIsUnpackedLogsAndOpensIt) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer takes locks in the child for those of the parent's threads";
  const std::string old = old_package();
  while_it_is_opened(old, [&] {
    EXPECT_EQ(in_child([&] {
                listen();
                load(old);
                load(old);
                if (lines_.size() != 2 || HasFailure()) throw_user_error(text(lines_.size(), " lines"));
              }),
              "no error");
  });
}

}  // namespace
}  // namespace ingot
