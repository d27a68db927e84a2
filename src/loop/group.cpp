#include "loop/group.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/index.hpp"
#include "loop/offset.hpp"

namespace ingot::loop {
namespace {

// A computation joins one of this many groups before it, so that time stays linear in the number of
// computations.
constexpr std::size_t kWindow = 12;
// Rows that a group works on at the same time: fewer would leave some of the machine without work.
constexpr int64_t kFewestRows = 8;

template <class F>
void each_load(const Computation& c, const F& f) {
  auto loads = [&](const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (x.op() == ExprOp::Load) f(x);
    });
  };
  for (const Fold& x : c.folds) loads(x.body);
  loads(c.value);
}

// Computations over the same rows: for each value of the outer variables, one member after the
// other.
struct Group {
  struct Member {
    const Computation* c;
    std::vector<Expr> rows;  // its own variables that are the outer ones, in their order
  };
  std::vector<Expr> extents;                // of the outer variables
  std::vector<Member> members;
  std::map<int, std::vector<std::size_t>> dims;  // by buffer a member writes: which of its dims are the outer variables
  int first = 0;                            // position of the first member
  bool overwrites = false;                  // elements that members read, each where it is read
};

// Which of its variables a computation must give to the rows of a group to read what the group
// made; nothing where they do not agree, or where it reads nothing of it.
std::optional<std::vector<Expr>> rows_in(const Computation& c, const Group& g) {
  std::vector<Expr> rows(g.extents.size());
  bool agrees = true, reads = false;
  each_load(c, [&](const Expr& load) {
    const auto made = g.dims.find(static_cast<int>(load->i));
    if (made == g.dims.end()) return;
    reads = true;
    for (std::size_t k = 0; k < rows.size(); k++) {
      const Expr& index = load.arg(made->second[k]);
      const bool is_row =
          index.op() == ExprOp::Idx && same(index.arg(0), g.extents[k]) && (!rows[k].valid() || same(rows[k], index));
      if (is_row) rows[k] = index;
      agrees = agrees && is_row;
    }
  });
  if (!reads || !agrees) return std::nullopt;
  for (std::size_t k = 0; k < rows.size(); k++) {
    const bool is_own = std::any_of(c.vars.begin(), c.vars.end(), [&](const Expr& v) { return same(v, rows[k]); });
    const bool is_new = std::none_of(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(k),
                                     [&](const Expr& v) { return same(v, rows[k]); });
    if (!is_own || !is_new) return std::nullopt;
  }
  return rows;
}

bool has_rows(const std::vector<Expr>& extents) {
  Expr count = 1;
  for (const Expr& e : extents) count = count * e;
  return !extents.empty() && (!count.is_const() || count->i >= kFewestRows);
}

class Grouping {
 public:
  Grouping(const Program& p, const std::vector<Computation>& all) : program_(p), all_(all) {}

  std::vector<Kernel> run() {
    for (const Computation& c : all_) place(c);
    std::vector<Kernel> kernels;
    for (std::size_t g : in_order()) kernels.push_back(kernel_of(groups_[g]));
    return kernels;
  }

 private:
  const Program& program_;
  const std::vector<Computation>& all_;
  std::vector<Group> groups_;
  std::map<int, std::size_t> made_by_;           // buffer: group
  std::map<int, std::set<std::size_t>> touched_by_;  // buffer: groups that read or write it
  std::vector<std::vector<std::size_t>> needs_;  // by group: groups whose buffers it reads
  std::vector<std::size_t> seen_;                // by group: the last search that came by
  std::size_t searches_ = 0;

  void place(const Computation& c) {
    std::vector<std::size_t> read;
    each_load(c, [&](const Expr& load) {
      const auto made = made_by_.find(static_cast<int>(load->i));
      if (made != made_by_.end() && std::find(read.begin(), read.end(), made->second) == read.end()) read.push_back(made->second);
    });
    // What others read of the old elements, or wrote, they do before they are written.
    const std::set<std::size_t>& touching = touched_by_[c.out];
    const std::vector<std::size_t> before(touching.begin(), touching.end());
    const std::size_t oldest = groups_.size() > kWindow ? groups_.size() - kWindow : 0;
    for (std::size_t g = groups_.size(); g-- > oldest;)
      if (join(c, g, read, before)) return;
    read.insert(read.end(), before.begin(), before.end());
    start(c, read);
  }

  bool join(const Computation& c, std::size_t index, std::vector<std::size_t> read, const std::vector<std::size_t>& before) {
    const bool overwrites = std::find(before.begin(), before.end(), index) != before.end();
    read.insert(read.end(), before.begin(), before.end());
    Group& g = groups_[index];
    const auto rows = rows_in(c, g);
    if (!rows || !has_rows(g.extents)) return false;
    if ((overwrites || g.overwrites) && !is_by_element(c, *rows)) return false;
    if (overwrites && !overwrites_in_place(c, *rows, g)) return false;
    if (!c.folds.empty() && rows->size() != c.vars.size()) return false;  // a reduction makes one element of each row
    for (std::size_t r : read)
      if (r != index && reaches(r, index)) return false;  // it would have to run both before and after another group
    add_member(c, index, *rows, read);
    g.overwrites = g.overwrites || overwrites;
    return true;
  }

  static bool is_by_element(const Computation& c, const std::vector<Expr>& rows) {
    return c.folds.empty() && rows.size() == c.vars.size();
  }
  // Whether the group is of elements alone, and reads what c writes at no element but the one that
  // c writes: then each can be overwritten as soon as it was read. So a loop hands on what it
  // carries without a copy.
  static bool overwrites_in_place(const Computation& c, const std::vector<Expr>& rows, const Group& g) {
    bool in_place = true;
    each_load(c, [&](const Expr& load) { in_place = in_place && load->i != c.out; });
    for (const Group::Member& m : g.members) {
      in_place = in_place && is_by_element(*m.c, m.rows) && m.c->out != c.out;
      each_load(*m.c, [&](const Expr& load) {
        if (load->i != c.out) return;
        std::vector<Expr> index;
        for (const Expr& i : load.args()) index.push_back(substitute(i, m.rows, rows));
        in_place = in_place && same(index, c.index());
      });
    }
    return in_place;
  }

  void start(const Computation& c, const std::vector<std::size_t>& read) {
    Group g;
    g.first = static_cast<int>(&c - all_.data());
    for (const Expr& v : c.vars) g.extents.push_back(v.arg(0));
    groups_.push_back(std::move(g));
    needs_.emplace_back();
    add_member(c, groups_.size() - 1, c.vars, read);
  }

  void add_member(const Computation& c, std::size_t index, const std::vector<Expr>& rows, const std::vector<std::size_t>& read) {
    Group& g = groups_[index];
    g.members.push_back({&c, rows});
    std::vector<std::size_t> dims;
    for (const Expr& row : rows)
      for (std::size_t d = 0; d < c.vars.size(); d++)
        if (same(c.vars[d], row)) dims.push_back(c.leading.size() + d);
    g.dims[c.out] = std::move(dims);
    made_by_[c.out] = index;
    touched_by_[c.out].insert(index);
    each_load(c, [&](const Expr& load) { touched_by_[static_cast<int>(load->i)].insert(index); });
    for (std::size_t r : read)
      if (r != index && std::find(needs_[index].begin(), needs_[index].end(), r) == needs_[index].end())
        needs_[index].push_back(r);
  }

  // Whether group `from` needs group `to`, directly or through others.
  bool reaches(std::size_t from, std::size_t to) {
    std::vector<std::size_t> open{from};
    seen_.resize(groups_.size());
    searches_++;
    while (!open.empty()) {
      const std::size_t g = open.back();
      open.pop_back();
      if (g == to) return true;
      if (seen_[g] == searches_) continue;
      seen_[g] = searches_;
      open.insert(open.end(), needs_[g].begin(), needs_[g].end());
    }
    return false;
  }

  // Groups after those they need, otherwise as they were started.
  std::vector<std::size_t> in_order() const {
    std::vector<std::size_t> order;
    std::vector<bool> done(groups_.size());
    auto add = [&](auto& self, std::size_t g) -> void {
      if (done[g]) return;
      done[g] = true;
      for (std::size_t n : needs_[g]) self(self, n);
      order.push_back(g);
    };
    for (std::size_t g = 0; g < groups_.size(); g++) add(add, g);
    return order;
  }

  // One kernel: members in order, each with a nest for every fold and one for its stores. An
  // element that a reduction makes for a row is a value of the row: what reads it in the group has
  // the expression.
  Kernel kernel_of(const Group& g) const {
    Kernel k;
    k.name = program_.buffers[at(g.members.back().c->out)].name;
    int64_t next_variable = 0, next_tmp = 0;
    for (const Expr& e : g.extents) k.outer.push_back(Expr::index(next_variable++, e));
    std::map<int, Expr> row_values;
    for (const Group::Member& m : g.members) {
      const Computation& c = *m.c;
      std::vector<Expr> from = m.rows, to = k.outer;
      Nest stores;
      for (const Expr& v : c.vars)
        if (std::none_of(m.rows.begin(), m.rows.end(), [&](const Expr& r) { return same(r, v); })) {
          stores.vars.push_back(Expr::index(next_variable++, v.arg(0)));
          from.push_back(v);
          to.push_back(stores.vars.back());
        }
      auto in_kernel = [&](const Expr& e) {
        const Expr renamed = substitute(e, from, to);
        return with_loads(renamed, [&](const Expr& load, const std::vector<Expr>& args) {
          if (const auto value = row_values.find(static_cast<int>(load->i)); value != row_values.end()) return value->second;
          return Expr::load(load->i, load.dtype(), {offset_of(program_.buffers[at(load->i)], args)}, load->name);
        });
      };
      for (const Fold& f : c.folds) {
        Nest n;
        for (const Expr& v : f.vars) {
          n.vars.push_back(Expr::index(next_variable++, v.arg(0)));
          from.push_back(v);
          to.push_back(n.vars.back());
        }
        const Expr tmp = Expr::tmp(next_tmp++, f.tmp.dtype());
        n.folds.push_back({tmp, f.how, n.vars, in_kernel(f.body)});
        k.nests.push_back(std::move(n));
        from.resize(from.size() - f.vars.size());
        to.resize(to.size() - f.vars.size());
        from.push_back(f.tmp);
        to.push_back(tmp);
      }
      const Buffer& out = program_.buffers[at(c.out)];
      std::vector<Expr> index = c.leading;
      for (const Expr& v : c.vars) index.push_back(substitute(v, from, to));
      const Expr value = in_kernel(c.value);
      stores.stores.push_back({c.out, offset_of(out, index), value});
      if (stores.vars.empty() && g.members.size() > 1) row_values[c.out] = value;
      // What is overwritten is read before by all members: they are one nest.
      if (g.overwrites && !k.nests.empty()) k.nests.back().stores.push_back(std::move(stores.stores[0]));
      else k.nests.push_back(std::move(stores));
    }
    return k;
  }
};

}  // namespace

std::vector<Kernel> group(Program& p, const std::vector<Computation>& computations) { return Grouping(p, computations).run(); }

}  // namespace ingot::loop
