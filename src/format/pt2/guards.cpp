#include "format/pt2/guards.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <string_view>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "format/pt2/sym_expression.hpp"
#include "tensor/impl.hpp"

namespace ingot {

namespace {

// Guards name facts about inputs; each becomes a symbol.
class GuardText final : public SymScope {
 public:
  GuardText(const std::vector<Leaf>& inputs, InputCondition& condition) : inputs_(inputs), condition_(condition) {}

  Expr symbol(std::string_view name) override { throw_user_error(text("a guard cannot speak of ", name)); }

  Expr input_fact(std::string_view path, std::string_view kind, int64_t dim) override {
    const std::string wanted = plain(path);
    const auto it = std::find_if(inputs_.begin(), inputs_.end(), [&](const Leaf& i) { return i.name == wanted; });
    INGOT_REQUIRE(it != inputs_.end(), "there is no input ", wanted);
    const bool of_tensor = it->meta.is_tensor();
    INGOT_REQUIRE(of_tensor != kind.empty() && (!of_tensor || kind == "storage_offset" || dim < it->meta.tensor().dim()),
                  "input ", wanted, " has no ", kind.empty() ? "value" : kind, " ", dim);
    const auto input = static_cast<std::size_t>(it - inputs_.begin());
    const std::string name = text("g", input, "_", kind, "_", dim);
    condition_.facts.emplace(name, InputFact{input, kind_of(kind), dim});
    return Expr::symbol(name, kind.empty() ? std::numeric_limits<int64_t>::min() : 0);
  }

  // ['d']['k'] is the input d['k'].
  static std::string plain(std::string_view path) {
    const std::size_t end = path.find(']');
    if (path.size() < 4 || path[0] != '[' || end == path.npos) return std::string(path);
    return text(path.substr(2, end - 3), path.substr(end + 1));
  }
  // The guard as people read it: L['x'].size()[0] is x.size()[0].
  static std::string shown(std::string_view guard) {
    std::string out;
    const std::size_t last = guard.rfind(']');  // searching for one where there is none would cost a whole guard a time
    for (std::size_t at = 0; at < guard.size();) {
      const bool starts = last != guard.npos && at < last && guard.substr(at, 2) == "L[" &&
                          (at == 0 || !(std::isalnum(static_cast<unsigned char>(guard[at - 1])) || guard[at - 1] == '_'));
      const std::size_t end = starts ? guard.find(']', at) : guard.npos;
      if (end == guard.npos || end < at + 5) {
        out += guard[at++];
        continue;
      }
      out += guard.substr(at + 3, end - at - 4);
      at = end + 1;
    }
    return out;
  }

 private:
  const std::vector<Leaf>& inputs_;
  InputCondition& condition_;

  static InputFact::Kind kind_of(std::string_view kind) {
    using Kind = InputFact::Kind;
    if (kind.empty()) return Kind::value;
    if (kind == "size") return Kind::size;
    return kind == "stride" ? Kind::stride : Kind::storage_offset;
  }
};

}  // namespace

void read_guards(const std::vector<std::string>& guards, EntryPoint& entry, std::vector<std::string>& warnings) {
  std::vector<Leaf> inputs = entry.input_leaves();
  std::erase_if(inputs, [](const Leaf& l) { return l.is_constant; });
  std::string skipped;
  const auto skip = [&](std::string_view guard, std::string_view reason) {
    constexpr std::size_t kShown = 200;
    skipped += text(skipped.empty() ? "" : "; ", guard.substr(0, kShown), guard.size() > kShown ? "…" : "", " (", reason, ")");
  };
  for (const std::string& g : guards) {
    InputCondition c{GuardText::shown(g), {}, {}};
    try {
      GuardText scope(inputs, c);
      c.holds = parse_sym_expression(g, scope);
      INGOT_REQUIRE(c.holds.dtype() == DType::b8, "it is no condition");
      entry.conditions.push_back(std::move(c));
    } catch (const UnknownSymFunction& f) {
      skip(c.shown, text("unknown function ", f.name));
    } catch (const UserError& e) {
      skip(c.shown, e.what());
    }
  }
  if (!skipped.empty()) warnings.push_back(text("guards that are not checked: ", skipped));
}

}  // namespace ingot
