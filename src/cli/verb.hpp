// A verb of the command line: `ingot NAME ...`. One file a verb; main.cpp lists them.
#pragma once

namespace CLI {
class App;
}

namespace ingot {

// Adds the verb to the command line. Its callback does the work and throws UserError when the user
// has to act.
using Verb = void (*)(CLI::App& app);

void add_bench_verb(CLI::App& app);
void add_check_verb(CLI::App& app);
void add_compile_verb(CLI::App& app);
void add_graph_verb(CLI::App& app);
void add_inspect_verb(CLI::App& app);
void add_ops_verb(CLI::App& app);
void add_package_verb(CLI::App& app);
void add_run_verb(CLI::App& app);
void add_target_verb(CLI::App& app);
void add_verify_verb(CLI::App& app);

}  // namespace ingot
