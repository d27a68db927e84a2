// Checks many cases side by side. Each worker is a process of its own, so that a crash or a hang
// costs one case, not the run.
#pragma once
#include <functional>
#include <vector>

#include "check/run_case.hpp"

namespace ingot {

// Checks a case, and never throws.
using CaseCheck = std::function<CheckResult(const Case&)>;

// One result for each case, in order. done(n) is called when n of them are finished. Threads are
// shared out among the workers.
std::vector<CheckResult> check_cases(const std::vector<Case>& cases, const CheckOptions& options, int workers,
                                     const std::function<void(std::size_t)>& done);
// The same by another check than check_case.
std::vector<CheckResult> check_cases_by(const std::vector<Case>& cases, const CaseCheck& check, int workers,
                                        const std::function<void(std::size_t)>& done);

}  // namespace ingot
