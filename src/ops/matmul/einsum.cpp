// einsum: operands are permuted to one common order of labels (the output's first), then contracted
// pair by pair, each pair as one batched matrix product.
#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ops/matmul/contract.hpp"
#include "ops/family.hpp"

namespace ingot {

Tensor contract_pair(Tensor left, Tensor right, const Shape& sum_dims) {
  if (sum_dims.empty()) return left * right;
  const int rank = static_cast<int>(left.dim());
  std::vector<bool> summed(static_cast<std::size_t>(rank));
  for (Int d : sum_dims) summed[static_cast<std::size_t>(d.value())] = true;
  Shape both, only_left, only_right;
  Int n_both = 1, n_left = 1, n_right = 1, n_sum = 1;
  for (int i = 0; i < rank; i++) {
    const bool l = !(left.size(i) == 1), r = !(right.size(i) == 1);
    if (summed[static_cast<std::size_t>(i)]) {
      if (l && r) {
        INGOT_REQUIRE(left.size(i) == right.size(i), "einsum(): non-broadcast dimensions must match, found ", left.size(i),
                      " and ", right.size(i));
        n_sum = n_sum * left.size(i);
      } else if (l) left = left.sum({i}, true);
      else if (r) right = right.sum({i}, true);
    } else if (l && r) {
      INGOT_REQUIRE(left.size(i) == right.size(i), "einsum(): non-broadcast dimensions must match, found ", left.size(i), " and ",
                    right.size(i));
      both.push_back(i);
      n_both = n_both * left.size(i);
    } else if (l) {
      only_left.push_back(i);
      n_left = n_left * left.size(i);
    } else {
      only_right.push_back(i);
      n_right = n_right * right.size(i);
    }
  }
  auto join = [](std::initializer_list<const Shape*> parts) {
    Shape r;
    for (const Shape* p : parts)
      for (Int d : *p) r.push_back(d);
    return r;
  };
  Shape sizes;
  for (Int d : both) sizes.push_back(left.size(d.value()));
  for (Int d : only_left) sizes.push_back(left.size(d.value()));
  for (std::size_t k = 0; k < sum_dims.size(); k++) sizes.push_back(1);
  for (Int d : only_right) sizes.push_back(right.size(d.value()));
  const Shape order = join({&both, &only_left, &sum_dims, &only_right});
  Shape back = Shape::filled(order.size(), 0);
  for (std::size_t k = 0; k < order.size(); k++) back[static_cast<std::size_t>(order[k].value())] = static_cast<int64_t>(k);
  const Tensor a = left.permute(join({&both, &only_left, &sum_dims, &only_right})).reshape({n_both, n_left, n_sum});
  const Tensor b = right.permute(join({&both, &sum_dims, &only_right, &only_left})).reshape({n_both, n_sum, n_right});
  return aten<"bmm">(a, b).view(sizes).permute(back);
}

namespace {

constexpr int kLetters = 52, kEllipsis = 52;
int label_of(char ch) { return ch >= 'A' && ch <= 'Z' ? ch - 'A' : ch - 'a' + 26; }
char letter_of(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26); }
bool is_letter(char ch) { return (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z'); }

// One side of the equation: labels in order, kEllipsis for "...".
using Labels = std::vector<int>;

bool has_ellipsis(const Labels& l) { return std::count(l.begin(), l.end(), kEllipsis) > 0; }

void check_subscript(char ch, std::size_t at) {
  INGOT_REQUIRE(is_letter(ch), "einsum(): invalid subscript given at index ", at,
                " in the equation string, subscripts must be in [a-zA-Z]");
}

// Reads the operands' side: label strings between commas; spaces do not count.
std::vector<Labels> parse_inputs(std::string_view side) {
  std::vector<Labels> r(1);
  for (std::size_t i = 0; i < side.size(); i++) {
    if (side[i] == ' ') continue;
    if (side[i] == ',') {
      r.emplace_back();
    } else if (side[i] == '.') {
      INGOT_REQUIRE(!has_ellipsis(r.back()), "einsum(): found '.' for operand ", r.size() - 1,
                    " for which an ellipsis was already found");
      INGOT_REQUIRE(side.substr(i, 3) == "...", "einsum(): found '.' for operand ", r.size() - 1,
                    " that is not part of any ellipsis");
      i += 2;
      r.back().push_back(kEllipsis);
    } else {
      check_subscript(side[i], i);
      r.back().push_back(label_of(side[i]));
    }
  }
  return r;
}

// Reads the equation from `begin`, behind the arrow, on.
Labels parse_output(std::string_view equation, std::size_t begin) {
  Labels r;
  for (std::size_t i = begin; i < equation.size(); i++) {
    if (equation[i] == ' ') continue;
    if (equation[i] == '.') {
      INGOT_REQUIRE(!has_ellipsis(r), "einsum(): found '.' for output but an ellipsis (...) was already found");
      INGOT_REQUIRE(equation.substr(i, 3) == "...", "einsum(): found '.' for output that is not part of any ellipsis (...)");
      i += 2;
      r.push_back(kEllipsis);
    } else {
      check_subscript(equation[i], i);
      r.push_back(label_of(equation[i]));
    }
  }
  return r;
}

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};
Equation parse_equation(const std::string& equation, std::size_t operands) {
  Equation e;
  const auto arrow = equation.find("->");
  e.inputs = parse_inputs(std::string_view(equation).substr(0, arrow));
  INGOT_REQUIRE(e.inputs.size() == operands, "einsum(): ", e.inputs.size() < operands ? "more" : "fewer",
                " operands were provided than specified in the equation");
  if (arrow != std::string::npos) {
    e.output = parse_output(equation, arrow + 2);
    return e;
  }
  // Implicit output: the ellipsis, then the labels that occur once, sorted.
  std::array<int, kLetters + 1> count{};
  for (const Labels& l : e.inputs)
    for (int x : l) count[static_cast<std::size_t>(x)]++;
  if (count[kEllipsis]) e.output.push_back(kEllipsis);
  for (int x = 0; x < kLetters; x++)
    if (count[static_cast<std::size_t>(x)] == 1) e.output.push_back(x);
  return e;
}

Value einsum_body(const Call& c) {
  const std::string& equation = c[0].string();
  TensorList ops = c[1].tensors();
  INGOT_REQUIRE(!ops.empty(), "einsum(): must provide at least one operand");
  const Equation e = parse_equation(equation, ops.size());

  // How many dims the ellipsis stands for.
  int64_t ellipsis_dims = 0;
  for (std::size_t k = 0; k < ops.size(); k++) {
    const bool has = has_ellipsis(e.inputs[k]);
    const int64_t rest = ops[k].dim() - static_cast<int64_t>(e.inputs[k].size()) + has;
    INGOT_REQUIRE(has ? rest >= 0 : rest == 0, "einsum(): the number of subscripts in the equation (", e.inputs[k].size() - has,
                  has ? ") is more than the number of dimensions (" : ") does not match the number of dimensions (", ops[k].dim(),
                  ") for operand ", k, has ? "" : " and no ellipsis was given");
    if (has) ellipsis_dims = std::max(ellipsis_dims, rest);
  }

  // Places: the output's labels first, then the contracted ones.
  std::array<int, kLetters> place;
  place.fill(-1);
  int places = 0, ellipsis_place = -1;
  for (int x : e.output) {
    if (x == kEllipsis) {
      ellipsis_place = places;
      places += static_cast<int>(ellipsis_dims);
      continue;
    }
    INGOT_REQUIRE(place[static_cast<std::size_t>(x)] < 0, "einsum(): output subscript ", std::string(1, letter_of(x)),
                  " appears more than once in the output");
    INGOT_REQUIRE(
        std::any_of(e.inputs.begin(), e.inputs.end(), [&](const Labels& l) { return std::count(l.begin(), l.end(), x) > 0; }),
        "einsum(): output subscript ", std::string(1, letter_of(x)), " does not appear in the equation for any input operand");
    place[static_cast<std::size_t>(x)] = places++;
  }
  const int out_places = places;
  if (ellipsis_place < 0) {
    ellipsis_place = places;  // an ellipsis that is not in the output is summed
    places += static_cast<int>(ellipsis_dims);
  }
  for (const Labels& l : e.inputs)
    for (int x : l)
      if (x != kEllipsis && place[static_cast<std::size_t>(x)] < 0) place[static_cast<std::size_t>(x)] = places++;

  const auto fail_to_broadcast = [&](int p, const Int& size, const Int& seen, std::size_t operand) {
    const auto letter = std::find(place.begin(), place.end(), p);
    INGOT_REQUIRE(letter == place.end(), "einsum(): subscript ",
                  std::string(1, letter_of(static_cast<int>(letter - place.begin()))), " has size ", size, " for operand ",
                  operand, " which does not broadcast with previously seen size ", seen);
    throw_user_error(text("einsum(): dimension ", p - ellipsis_place, " covered by ellipsis in operand ", operand, "has size ",
                          size, " which does not broadcast with previously seen ellipsis with size ", seen,
                          " for the respective dimension"));
  };

  // Every operand in that order, repeated labels taken from the diagonal, missing ones of size 1.
  std::vector<Int> label_size(static_cast<std::size_t>(places), 1);
  std::vector<int> uses(static_cast<std::size_t>(places), 0);
  for (std::size_t k = 0; k < ops.size(); k++) {
    Tensor& t = ops[k];
    std::vector<int> dim_at(static_cast<std::size_t>(places), -1);
    // Walk labels; `j` is the dim of t that the label names. A repeated label removes one dim by
    // taking the diagonal.
    int j = 0;
    int64_t dims_left = ops[k].dim();
    int64_t labels_left = static_cast<int64_t>(e.inputs[k].size());
    for (int x : e.inputs[k]) {
      if (x == kEllipsis) {
        const int64_t n = dims_left - (labels_left - 1);
        for (int64_t d = 0; d < n; d++) dim_at[static_cast<std::size_t>(ellipsis_place + ellipsis_dims - n + d)] = j++;
        dims_left -= n;
      } else {
        const int at = place[static_cast<std::size_t>(x)];
        int& seen = dim_at[static_cast<std::size_t>(at)];
        if (seen >= 0) {
          INGOT_REQUIRE(t.size(seen) == t.size(j), "einsum(): subscript ", std::string(1, letter_of(x)),
                        " is repeated for operand ", k, " but the sizes don't match, ", t.size(j), " != ", t.size(seen));
          t = aten<"movedim.int">(t.diagonal(0, seen, j), -1, seen);
        } else {
          seen = j++;
        }
        dims_left--;
      }
      labels_left--;
    }
    Shape order;
    for (int d : dim_at)
      if (d >= 0) order.push_back(d);
    t = t.permute(order);
    for (int p = 0; p < places; p++) {
      if (dim_at[static_cast<std::size_t>(p)] < 0) {
        t = t.unsqueeze(p);
        continue;
      }
      if (t.size(p) == 1) continue;
      Int& size = label_size[static_cast<std::size_t>(p)];
      if (!(size == 1 || size == t.size(p))) fail_to_broadcast(p, t.size(p), size, k);
      size = t.size(p);
      uses[static_cast<std::size_t>(p)]++;
    }
  }

  const bool has_path = !c[2].is_none();
  const Shape path = has_path ? c[2].ints() : Shape{};
  INGOT_REQUIRE(!has_path || path.size() == (ops.size() - 1) * 2 || (ops.size() == 1 && path.size() == 1),
                "einsum(): expected contraction path given in path parameter to have size ", (ops.size() - 1) * 2, " but got ",
                path.size());
  const bool single = ops.size() == 1;
  for (std::size_t step = 0; ops.size() > 1; step++) {
    std::size_t i = 0, j = 1;
    if (has_path) {
      i = static_cast<std::size_t>(path[step * 2].value());
      j = static_cast<std::size_t>(path[step * 2 + 1].value());
      if (j < i) std::swap(i, j);
      INGOT_REQUIRE(j < ops.size(), "einsum(): invalid contraction (", path[step * 2], ", ", path[step * 2 + 1],
                    ") operand index is out of bounds");
      INGOT_REQUIRE(i < j, "einsum(): invalid contraction (", path[step * 2], ", ", path[step * 2 + 1],
                    ") cannot contract an operand with itself");
    }
    Tensor a = ops[i], b = ops[j];
    Shape sum_both, sum_a, sum_b;
    for (int p = out_places; p < places; p++) {
      int& left = uses[static_cast<std::size_t>(p)];
      const bool in_a = !(a.size(p) == 1), in_b = !(b.size(p) == 1);
      if (in_a && in_b) {
        if (--left == 1) sum_both.push_back(p), left = 0;
      } else if (left == 1 && (in_a || in_b)) {
        (in_a ? sum_a : sum_b).push_back(p);
        left = 0;
      }
    }
    if (!sum_a.empty()) a = a.sum(sum_a, true);
    if (!sum_b.empty()) b = b.sum(sum_b, true);
    ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(j));
    ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
    ops.insert(has_path ? ops.end() : ops.begin(), contract_pair(a, b, sum_both));
  }
  if (places == out_places) return ops[0];
  if (!single) return ops[0].view(ops[0].sizes().sub(0, static_cast<std::size_t>(out_places)));
  Shape rest;
  for (int p = out_places; p < places; p++) rest.push_back(p);
  return ops[0].sum(rest);
}

constexpr OpDef kEinsumOps[] = {
    {.schema = "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
     .form = Form::composite,
     .body = einsum_body},
};

}  // namespace

INGOT_FAMILY(einsum, kEinsumOps)

}  // namespace ingot
