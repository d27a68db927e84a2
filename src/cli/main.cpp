// The command line. Exit status: 0 done, 1 the user has to act, 2 the command line itself is wrong,
// 70 a defect of Ingot.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "cli/verb.hpp"
#include "io/json_writer.hpp"

namespace ingot {
namespace {

constexpr Verb kVerbs[] = {
    add_compile_verb, add_run_verb,     add_bench_verb, add_inspect_verb, add_graph_verb,
    add_check_verb,   add_package_verb, add_ops_verb,   add_target_verb,  add_verify_verb,
};

constexpr const char* kSummary =
    "ingot casts a tensor program into one self-contained shared library: machine code, weights and a C interface.";
constexpr const char* kExample =
    "example:\n"
    "  ingot compile model.pt2 -o model.so   one library: code, weights, C interface\n"
    "  ingot run model.so --input x.npy  run it\n"
    "  ingot bench model.so             how long does it take?\n"
    "  ingot inspect model.pt2          what a program takes, returns and holds\n"
    "  ingot graph model.pt2            its graph, as PyTorch FX prints it\n"
    "  ingot check model.pt2 case.safetensors   does it compute what PyTorch computed?\n"
    "  ingot verify model.so            is it as it was made, and who signed it?\n"
    "  ingot ops sum                    the supported ops with sum in their name\n"
    "  ingot target native              what this machine's processor offers\n"
    "  ingot target aarch64-linux-gnu   what a model for that target may use\n"
    "\n"
    "`ingot help VERB` and `ingot VERB --help` explain a verb.\n"
    "Errors are one line on standard error, with --json a JSON object: {\"error\": {\"kind\": …, \"message\": …}}.\n"
    "Exit status: 0 done, 1 something has to be put right, 2 the command line is wrong, 70 a defect of Ingot.";

enum Status { kDone = 0, kUserHasToAct = 1, kWrongCommandLine = 2, kDefect = 70 };

// Says it once, in one form for every verb.
int report(Status status, std::string_view message, bool json) {
  if (json) {
    JsonWriter w;
    w.begin_object().key("error").begin_object();
    w.field("kind", status == kDefect ? "internal" : status == kWrongCommandLine ? "command line" : "user");
    std::fprintf(stderr, "%s\n", w.field("message", message).end().end().take().c_str());
  } else {
    std::fprintf(stderr, "ingot: error: %.*s\n", static_cast<int>(message.size()), message.data());
  }
  return status;
}

// A number of a stream that nobody opened would be given to the first file that a verb writes, with
// what is printed in it. Not writable, so that printing fails as it should.
void keep_standard_streams() {
  for (int number = 0; number < 3; number++)
    if (fcntl(number, F_GETFD) < 0 && errno == EBADF) (void)open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
}

// What was printed has arrived: a full disk is found here at the latest.
void flush_output() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  // The write that failed may be long ago, and libc does not keep why: another one says.
  const std::string why = ::write(STDOUT_FILENO, "\n", 1) < 0 ? text(": ", std::strerror(errno)) : std::string();
  throw_user_error("cannot write to standard output" + why);
}

// The arguments, in the order in which CLI11 wants them: the last one first. `help VERB` is
// `VERB --help`.
std::vector<std::string> arguments_of(int argc, char** argv, const CLI::App& app) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    for (const std::string& a : arguments)
      if (!a.starts_with("-") && app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == a; }).empty())
        throw CLI::ValidationError("help", "there is no verb '" + a + "'");
    arguments.emplace_back("--help");
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

int run_verb(int argc, char** argv, bool json) {
  CLI::App app(kSummary, "ingot");
  app.set_version_flag("--version", "ingot " INGOT_VERSION);
  app.footer(kExample);
  app.require_subcommand(0, 1);
  for (const Verb add : kVerbs) add(app);
  app.parse_complete_callback([] { num_threads(); });  // says what is wrong with INGOT_NUM_THREADS, before any verb

  int status = kDone;
  try {
    std::vector<std::string> arguments = arguments_of(argc, argv, app);
    app.parse(arguments);
    if (app.get_subcommands().empty()) std::fputs(app.help().c_str(), stdout);
  } catch (const CLI::RuntimeError& e) {
    status = e.get_exit_code();  // a verb has said what there is to say
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) {
      const auto verbs = app.get_subcommands();
      const std::string verb = verbs.empty() ? "" : verbs[0]->get_name() + " ";
      return report(kWrongCommandLine, text(e.what(), json ? "" : text(" (`ingot ", verb, "--help` explains)")), json);
    }
    app.exit(e);  // which prints the help, or the version
  }
  flush_output();
  return status;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  using namespace ingot;
  keep_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, which says so
  const bool json =
      std::any_of(argv + 1, argv + argc, [](std::string_view a) { return a == "--json" || a.starts_with("--json="); });
  try {
    return run_verb(argc, argv, json);
  } catch (const UserError& e) {
    return report(kUserHasToAct, e.what(), json);
  } catch (const std::bad_alloc&) {
    return report(kUserHasToAct, "out of memory", json);
  } catch (const InternalError& e) {
    return report(kDefect, e.what(), json);  // which says what it is
  } catch (const std::exception& e) {
    return report(kDefect, text("internal error: ", e.what(), "; this is a defect of Ingot, please report it"), json);
  }
}
