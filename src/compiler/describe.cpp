#include "compiler/describe.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "base/library_metadata.hpp"
#include "graph/storage_of.hpp"
#include "loop/equal_folds.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

std::vector<int64_t> numbers(const Shape& s) {
  std::vector<int64_t> all;
  for (Int n : s) all.push_back(n.value());
  return all;
}

// A name that C accepts, and that no other constant has.
std::string internal_name(const std::string& fqn, const std::vector<Model::Constant>& taken) {
  std::string name;
  for (char c : fqn) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "_" + name;
  std::string unique = name;
  for (int k = 1; std::any_of(taken.begin(), taken.end(), [&](const auto& c) { return c.name == unique; }); k++)
    unique = text(name, "_", k);
  return unique;
}

bool writes(const loop::Lowered& lowered, const Node* n) {
  return std::find(lowered.written.begin(), lowered.written.end(), n) != lowered.written.end();
}

// What a constant is where the program's buffer has its elements.
Model::Constant constant_of(const loop::Buffer& b) {
  Model::Constant c;
  c.dtype = b.dtype;
  for (const Expr& e : b.sizes) c.sizes.push_back(e->i);
  for (const Expr& e : b.strides) c.strides.push_back(e->i);
  return c;
}

// The storage of its own that a constant needs; one that is shared with others is larger.
uint64_t bytes_of(const Model::Constant& c) {
  int64_t last = 0, count = 1;
  for (std::size_t d = 0; d < c.sizes.size(); d++) last += (c.sizes[d] - 1) * c.strides[d], count *= c.sizes[d];
  return count == 0 ? 0 : static_cast<uint64_t>(last + 1) * static_cast<uint64_t>(size_of(c.dtype));
}

// The constants of one library, whichever entries have them.
class Constants {
 public:
  Constants(std::vector<Model::Constant>& all, std::vector<Tensor>& tensors) : all_(all), tensors_(tensors) {}

  // Those of an entry that are stored: which of the model's they are.
  std::vector<std::size_t> add(const LoweredEntry& e, const loop::Program& program, bool is_first) {
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < e.lowered.constants.size(); k++) {
      const Node& n = *e.lowered.constants[k];
      Model::Constant c = constant_of(program.buffers[at(program.constants[k])]);
      c.bytes = bytes_of(c);
      c.is_written = writes(e.lowered, &n);
      const bool is_literal = n.kind == NodeKind::attribute || k >= e.names.constants.size();
      Tensor tensor;
      if (is_literal) {
        c.fqn = n.target.empty() ? n.name : n.target;
        c.kind = 3;
        if (n.kind == NodeKind::attribute) tensor = std::get<Tensor>(*e.graph.find_attribute(n.target));
      } else {
        const ProgramNames::Constant& named = e.names.constants[k];
        c.fqn = named.fqn;
        c.kind = named.kind;
        tensor = named.tensor;
        static_assert(static_cast<int>(DeviceType::cuda) == 1, "the types of an ingot_device are PyTorch's codes");
        if (tensor.defined()) c.device = static_cast<int>(tensor.device().type);
        if (named.shares) c.is_written = writes(e.lowered, e.lowered.constants[*named.shares]);
        if (named.geometry) {
          c.sizes = numbers(named.geometry->sizes);
          c.strides = numbers(named.geometry->strides);
        }
      }
      if (!is_first && is_literal) {
        places.push_back(add_unnamed(e.name, std::move(c), tensor));
        continue;
      }
      const auto known = is_first ? by_fqn_.end() : by_fqn_.find(c.fqn);
      places.push_back(known == by_fqn_.end() ? append(std::move(c), tensor) : merge(known->second, c, tensor, e.name));
    }
    for (std::size_t k = 0; k < std::min(places.size(), e.names.constants.size()); k++)
      if (const ProgramNames::Constant& named = e.names.constants[k]; named.shares)
        share(places[k], places[*named.shares], static_cast<uint64_t>(named.shared_from));
    return places;
  }

  std::size_t append(Model::Constant c, const Tensor& tensor) {
    by_fqn_.emplace(c.fqn, all_.size());
    c.name = internal_name(c.fqn, all_);
    all_.push_back(std::move(c));
    tensors_.push_back(tensor);
    return all_.size() - 1;
  }

  // What is written through one name of a storage is seen through all.
  void spread_writes() {
    for (const Model::Constant& c : all_)
      if (c.shares && c.is_written) all_[*c.shares].is_written = true;
    for (Model::Constant& c : all_)
      if (c.shares) c.is_written = all_[*c.shares].is_written;
  }

 private:
  std::vector<Model::Constant>& all_;
  std::vector<Tensor>& tensors_;
  std::map<std::string, std::size_t> by_fqn_;  // the first of that name

  bool are_equal(std::size_t place, const Model::Constant& c, const Tensor& tensor) const {
    const Model::Constant& known = all_[place];
    if (known.dtype != c.dtype || known.sizes != c.sizes || known.strides != c.strides) return false;
    const Tensor& other = tensors_[place];
    if (!tensor.defined() || !other.defined()) return true;
    const uint64_t bytes = bytes_of(c);
    return tensor.data_ptr() == other.data_ptr() || bytes == 0 || std::memcmp(tensor.data_ptr(), other.data_ptr(), bytes) == 0;
  }

  // A tensor that a program brought along, under a name that exporters count: another program's may
  // be another.
  std::size_t add_unnamed(const std::string& entry, Model::Constant c, const Tensor& tensor) {
    const auto known = by_fqn_.find(c.fqn);
    if (known == by_fqn_.end()) return append(std::move(c), tensor);
    if (!c.is_written && !all_[known->second].is_written && tensor.defined() && are_equal(known->second, c, tensor))
      return known->second;
    c.fqn = text(entry, ".", c.fqn);
    return append(std::move(c), tensor);
  }

  std::size_t merge(std::size_t place, const Model::Constant& c, const Tensor& tensor, const std::string& entry) {
    Model::Constant& known = all_[place];
    INGOT_ENSURE(are_equal(place, c, tensor), "entry point '", entry, "' has another state '", c.fqn,
                 "' than the entry points before it");
    // Of a storage that only this entry shares, its tensor has all that the others lie in.
    if (!tensors_[place].defined() || (tensor.defined() && c.bytes > known.bytes)) tensors_[place] = tensor;
    known.bytes = std::max(known.bytes, c.bytes);
    known.is_written = known.is_written || c.is_written;
    if (known.kind == 3) known.kind = c.kind;
    return place;
  }

  // `from`: elements from the owner's first to its own.
  void share(std::size_t place, std::size_t owner, uint64_t from) {
    Model::Constant& c = all_[place];
    from *= static_cast<uint64_t>(size_of(c.dtype));
    INGOT_REQUIRE((!c.shares || (*c.shares == owner && c.shared_from == from)) && !all_[owner].shares,
                  "entry points disagree about the storage that '", c.fqn, "' is in; export all of them from one module");
    c.shares = owner;
    c.shared_from = from;
  }
};

// Whether views of the input are taken by places of its storage. Where it is written, what the
// storage has since is a value of the input's sizes, which such views are taken of as well; an open
// size may be what a guard says that it is.
bool by_places(const Graph& graph, const Node* input, bool is_written) {
  const auto may_be_equal = [](const Shape& a, const Shape& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](Int x, Int y) { return x.same(y) || !x.is_number() || !y.is_number(); });
  };
  const auto is_of_input = [&](const Node* of) {
    if (of == input || !is_written || of->kind == NodeKind::placeholder) return of == input;
    return of->meta.is_tensor() && may_be_equal(of->meta.tensor().sizes(), input->meta.tensor().sizes());
  };
  return input->meta.is_tensor() && std::ranges::any_of(graph.nodes(), [&](const auto& n) {
           return n->kind == NodeKind::call && n->op->def->view.from_storage && n->args[0].is_node() &&
                  is_of_input(storage_of(n->args[0].node()));
         });
}

// What the folds of entries compute alike is one constant. Folds lose what others before them make.
class FoldedConstants {
 public:
  explicit FoldedConstants(Model& model)
      : model_(model), next_(model.constants.size()), levels_(model.levels.size(), Level(next_)) {}

  // Of each of the entry's folded constants: which of the model's it is, or nothing where it
  // becomes the next one.
  std::vector<std::optional<std::size_t>> add(std::size_t entry, std::size_t count) {
    std::vector<std::optional<std::size_t>> known(count);
    if (count == 0) return known;
    std::vector<std::vector<int64_t>> numbers;  // by level
    for (std::size_t l = 0; l < levels_.size(); l++)
      numbers.push_back(levels_[l].numbers.add(*model_.levels[l].codes[entry].fold, model_.entries[entry].constants));
    std::vector<bool> is_new(count);
    for (std::size_t k = 0; k < count; k++) {
      const std::size_t place = levels_[0].place_of(numbers[0][k]).value_or(next_);
      for (std::size_t l = 0; l < levels_.size(); l++) is_new[k] = is_new[k] || levels_[l].place_of(numbers[l][k]) != place;
      if (!is_new[k]) {
        known[k] = place;
        continue;
      }
      for (std::size_t l = 0; l < levels_.size(); l++) levels_[l].places.try_emplace(numbers[l][k], next_);
      next_++;
    }
    if (std::all_of(is_new.begin(), is_new.end(), [](bool b) { return b; })) return known;
    for (Model::Level& l : model_.levels) {
      std::optional<loop::Program>& fold = l.codes[entry].fold;
      keep_outputs(*fold, is_new);
      if (fold->outputs.empty()) fold.reset();
    }
    return known;
  }

 private:
  struct Level {
    explicit Level(std::size_t stored) : numbers(static_cast<int64_t>(stored)) {}
    loop::FoldNumbers numbers;
    std::map<int64_t, std::size_t> places;  // of what is computed: which constant of the model it is
    std::optional<std::size_t> place_of(int64_t number) const {
      const auto found = places.find(number);
      return found == places.end() ? std::nullopt : std::optional(found->second);
    }
  };
  Model& model_;
  std::size_t next_;  // constant
  std::vector<Level> levels_;
};

bool uses_written(const Model& model, const Model::Entry& entry, const loop::Program& run) {
  std::vector<bool> is_written(run.buffers.size());
  for (std::size_t k = 0; k < run.constants.size(); k++)
    is_written[at(run.constants[k])] = model.constants[entry.constants[k]].is_written;
  bool any = false;
  loop::each_step(run.steps, [&](const loop::Step& s) {
    for (const int b : loop::buffers_of(s)) any = any || is_written[at(b)];
  });
  return any;
}

void add_metadata(Model& model, const LoweredEntry& e, bool is_first) {
  const std::string prefix = metadata_prefix(is_first ? "" : e.name);
  if (!e.names.constant_results.empty())
    model.metadata.emplace_back(prefix + kConstantResults, to_metadata(e.names.constant_results));
  for (const auto& [leaf, value] : e.names.fixed) model.metadata.emplace_back(text(prefix, kFixedInput, leaf), value);
}

}  // namespace

std::vector<std::vector<bool>> written_constants(const std::vector<LoweredEntry>& entries) {
  std::set<std::string> names;  // of state that is written
  const auto is_written = [&](const LoweredEntry& e, std::size_t k) {
    return writes(e.lowered, e.lowered.constants[k]) ||
           (k < e.names.constants.size() && names.contains(e.names.constants[k].fqn));
  };
  std::size_t before = 0;
  do {  // until there are no more: a storage may have other names elsewhere
    before = names.size();
    for (const LoweredEntry& e : entries)
      for (std::size_t k = 0; k < std::min(e.names.constants.size(), e.lowered.constants.size()); k++) {
        const std::size_t owner = e.names.constants[k].shares.value_or(k);
        if (is_written(e, k) || is_written(e, owner)) names.insert({e.names.constants[k].fqn, e.names.constants[owner].fqn});
      }
  } while (names.size() != before);
  std::vector<std::vector<bool>> written;
  for (const LoweredEntry& e : entries) {
    std::vector<bool>& of_entry = written.emplace_back();
    for (std::size_t k = 0; k < e.lowered.constants.size(); k++) of_entry.push_back(is_written(e, k));
  }
  return written;
}

std::vector<Tensor> describe(Model& model, const std::vector<LoweredEntry>& entries) {
  model.name = entries[0].names.name;
  if (entries.size() > 1) {
    model.name.clear();
    for (const LoweredEntry& e : entries) model.name += (model.name.empty() ? "" : "+") + e.name;
  }
  std::vector<Tensor> tensors;
  Constants constants(model.constants, tensors);
  for (std::size_t i = 0; i < entries.size(); i++) {
    const LoweredEntry& e = entries[i];
    const loop::Program& p = model.levels[0].codes[i].run;
    Model::Entry& entry = model.entries.emplace_back();
    entry.name = e.name;
    entry.in_spec = e.names.in_spec;
    entry.out_spec = e.names.out_spec;
    for (std::size_t k = 0; k < e.lowered.inputs.size(); k++) {
      const Node* n = e.lowered.inputs[k];
      const bool is_written = writes(e.lowered, n);
      entry.inputs.push_back({k < e.names.inputs.size() ? e.names.inputs[k] : n->name, !n->meta.is_tensor(), is_written,
                              by_places(e.graph, n, is_written)});
    }
    for (std::size_t k = 0; k < p.outputs.size(); k++)
      entry.outputs.push_back(k < e.names.outputs.size() ? e.names.outputs[k] : text("output_", k));
    entry.constants = constants.add(e, p, i == 0);
    add_metadata(model, e, i == 0);
  }
  constants.spread_writes();
  const std::size_t stored = model.constants.size();
  FoldedConstants folded(model);
  for (std::size_t i = 0; i < entries.size(); i++) {
    const loop::Program& p = model.levels[0].codes[i].run;
    Model::Entry& entry = model.entries[i];
    entry.first_folded = model.constants.size() - stored;
    const std::vector<std::optional<std::size_t>> known = folded.add(i, p.constants.size() - entry.constants.size());
    for (std::size_t k = 0; k < known.size(); k++) {
      const loop::Buffer& b = p.buffers[at(p.constants[entry.constants.size()])];
      Model::Constant c = constant_of(b);
      c.fqn = i == 0 ? "folded." + b.name : text("folded.", entry.name, ".", b.name);
      c.kind = 4;
      entry.constants.push_back(known[k] ? *known[k] : constants.append(std::move(c), Tensor()));
    }
  }
  for (std::size_t i = 0; i < entries.size(); i++)
    model.entries[i].uses_written = uses_written(model, model.entries[i], model.levels[0].codes[i].run);
  tensors.resize(stored);
  return tensors;
}

}  // namespace ingot
