#include "graph/source.hpp"

#include "base/error.hpp"

namespace ingot {

namespace {

std::string_view stripped(std::string_view s) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t begin = s.find_first_not_of(kSpace);
  return begin == s.npos ? std::string_view() : s.substr(begin, s.find_last_not_of(kSpace) - begin + 1);
}

// `File "model.py", line 12, in forward`
std::optional<SourceFrame> frame_line(std::string_view s) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ";
  if (!s.starts_with(kFile)) return std::nullopt;
  const std::size_t line = s.rfind(kLine);
  if (line == s.npos || line <= kFile.size()) return std::nullopt;
  const std::size_t digits = line + kLine.size(), in = s.find_first_not_of("0123456789", digits);
  if (in == s.npos || in == digits || s.substr(in, kIn.size()) != kIn || s.size() == in + kIn.size()) return std::nullopt;
  return SourceFrame{std::string(s.substr(kFile.size(), line - kFile.size())),
                     std::string(s.substr(digits, in - digits)),
                     std::string(s.substr(in + kIn.size())),
                     {}};
}

}  // namespace

std::optional<SourceFrame> innermost_frame(std::string_view trace) {
  trace = stripped(trace);
  std::string_view below;  // the line after the one looked at: the frame's code
  for (bool last = true; !trace.empty(); last = false) {
    const std::size_t newline = trace.rfind('\n');
    const std::string_view line = stripped(newline == trace.npos ? trace : trace.substr(newline + 1));
    if (!last)
      if (auto f = frame_line(line)) {
        f->code = below;
        return f;
      }
    below = line;
    trace = trace.substr(0, newline == trace.npos ? 0 : newline);
  }
  return std::nullopt;
}

std::string to_stack_trace(const SourceFrame& f) {
  return text("  File \"", f.file, "\", line ", f.line, ", in ", f.function, "\n    ", f.code, "\n");
}

std::string source_line(std::string_view trace) {
  std::string found;
  bool in_package = true;
  for (std::size_t at = 0; (at = trace.find("File \"", at)) != trace.npos;) {
    at += 6;
    const std::size_t quote = trace.find('"', at);
    constexpr std::string_view kLine = "\", line ";
    if (quote == trace.npos || trace.substr(quote, kLine.size()) != kLine) continue;
    const std::string_view file = trace.substr(at, quote - at);
    const std::size_t begin = quote + kLine.size(), end = trace.find_first_not_of("0123456789", begin);
    const bool packaged = file.find("site-packages") != file.npos || file.find("dist-packages") != file.npos;
    if (packaged && !in_package) continue;
    in_package = packaged;
    found = text(file, ":", trace.substr(begin, end == trace.npos ? end : end - begin));
  }
  return found;
}

const Node& source_of(const Node& n) {
  constexpr int kDeepest = 2;  // a list in a list; longer chains are written one by one, and say so themselves
  const Node* at = &n;
  for (int i = 0; i < kDeepest && at->kind == NodeKind::item && at->stack_trace.empty(); i++) {
    if (at->args.empty() || !at->args[0].is_node()) break;
    at = at->args[0].node();
  }
  return *at;
}

std::string provenance(const Node& n) {
  const Node& source = source_of(n);
  std::string where = source_line(source.stack_trace);
  if (!where.empty()) where = (source.module_path.empty() ? ", at " : text(", from ", source.module_path, " at ")) + where;
  return text(" (node ", n.name, where, ")");
}

}  // namespace ingot
