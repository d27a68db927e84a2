// Recurrent networks, as programs of other ops. A state is {h} or, for an LSTM, {h, c}.
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "ops/common/composite.hpp"
#include "ops/family.hpp"
#include "ops/higher_order/recorded_scan.hpp"

namespace ingot {
namespace {

struct Weights {
  Tensor w_ih, w_hh, b_ih, b_hh;
  Tensor w_hr;  // LSTM with projections: h = w_hr · (o * tanh(c))
  Tensor input_gates(const Tensor& x) const { return linear(x, w_ih, b_ih); }
  Tensor hidden_gates(const Tensor& h) const { return linear(h, w_hh, b_hh); }

  // Those that a step uses, and a step's of such a list.
  TensorList of_step() const {
    TensorList l{w_hh};
    if (b_hh.defined()) l.push_back(b_hh);
    if (w_hr.defined()) l.push_back(w_hr);
    return l;
  }
  Weights step_of(const TensorList& l) const {
    std::size_t next = 1;
    Weights w{{}, l[0], {}, {}, {}};
    if (b_hh.defined()) w.b_hh = l[next++];
    if (w_hr.defined()) w.w_hr = l[next];
    return w;
  }
};

// One step of a cell from the input's part of its gates, which a layer computes for all steps at
// once.
using Cell = TensorList (*)(const Tensor& gates, const TensorList& state, const Weights&);

TensorList lstm_step(const Tensor& gates, const TensorList& state, const Weights& w) {
  const TensorList g = (w.hidden_gates(state[0]) + gates).chunk(4, 1);
  const Tensor c = sigmoid(g[1]) * state[1] + sigmoid(g[0]) * tanh(g[2]);
  const Tensor h = sigmoid(g[3]) * tanh(c);
  return {w.w_hr.defined() ? matmul(h, w.w_hr.t()) : h, c};
}
TensorList gru_step(const Tensor& gates, const TensorList& state, const Weights& w) {
  const TensorList x = gates.chunk(3, 1), h = w.hidden_gates(state[0]).chunk(3, 1);
  const Tensor reset = sigmoid(h[0] + x[0]), update = sigmoid(h[1] + x[1]);
  const Tensor next = tanh(x[2] + h[2] * reset);
  return {(state[0] - next) * update + next};
}
TensorList tanh_step(const Tensor& gates, const TensorList& state, const Weights& w) {
  return {tanh(w.hidden_gates(state[0]) + gates)};
}
TensorList relu_step(const Tensor& gates, const TensorList& state, const Weights& w) {
  return {relu(w.hidden_gates(state[0]) + gates)};
}

TensorList each(const TensorList& l, auto f) {
  TensorList r;
  for (const Tensor& t : l) r.push_back(f(t));
  return r;
}

// A sequence: [time, batch, features], or, packed, the steps' batches one after the other with
// sizes that never grow.
struct Sequence {
  Tensor data;
  std::vector<int64_t> batch_sizes;
  bool packed() const { return !batch_sizes.empty(); }
  TensorList steps(const Tensor& t) const { return packed() ? atens<"split_with_sizes">(t, Shape(batch_sizes), 0) : t.unbind(0); }
  Tensor join(const TensorList& outputs) const { return packed() ? cat(outputs, 0) : stack(outputs, 0); }
};

struct LayerResult {
  Tensor output;
  TensorList state;
};

// One call for all steps, where the program is recorded for one who runs loops.
std::optional<LayerResult> recorded_layer(const Tensor& gates, const TensorList& start, const Weights& w, Cell cell,
                                          bool reverse) {
  const std::size_t states = start.size();
  // (state, gates of the step, weights) to (state, output)
  const TensorFunction step = [=](const TensorList& in) {
    const auto first = in.begin(), gates_at = first + static_cast<std::ptrdiff_t>(states);
    TensorList next = cell(*gates_at, {first, gates_at}, w.step_of({gates_at + 1, in.end()}));
    next.push_back(aten<"clone">(next[0]));
    return next;
  };
  std::optional<Scanned> r = recorded_scan(step, start, {gates}, w.of_step(), reverse);
  if (!r) return std::nullopt;
  return LayerResult{r->stacked[0], std::move(r->carried)};
}

LayerResult run_layer(const Sequence& in, const TensorList& start, const Weights& w, Cell cell, bool reverse) {
  const Tensor all_gates = w.input_gates(in.data);
  if (!in.packed() && !(all_gates.size(0) == 0))
    if (std::optional<LayerResult> r = recorded_layer(all_gates, start, w, cell, reverse)) return *std::move(r);
  const TensorList gates = in.steps(all_gates);
  const std::size_t n = gates.size();
  INGOT_REQUIRE(n > 0, "Expected sequence length to be larger than 0 in RNN");
  TensorList outputs(n), state = start;
  std::vector<TensorList> ended;  // states of sequences that stopped, shortest first
  if (in.packed() && reverse) state = each(start, [&](const Tensor& t) { return t.narrow(0, 0, in.batch_sizes[n - 1]); });
  for (std::size_t k = 0; k < n; k++) {
    const std::size_t step = reverse ? n - 1 - k : k;
    if (in.packed() && k > 0) {
      const int64_t now = in.batch_sizes[step], before = in.batch_sizes[reverse ? step + 1 : step - 1];
      if (now < before) {
        ended.push_back(each(state, [&](const Tensor& t) { return t.narrow(0, now, before - now); }));
        state = each(state, [&](const Tensor& t) { return t.narrow(0, 0, now); });
      } else if (now > before) {
        for (std::size_t i = 0; i < state.size(); i++) state[i] = cat({state[i], start[i].narrow(0, before, now - before)}, 0);
      }
    }
    state = cell(gates[step], state, w);
    outputs[step] = state[0];
  }
  if (!ended.empty())
    for (std::size_t i = 0; i < state.size(); i++) {
      TensorList parts{state[i]};
      for (std::size_t k = ended.size(); k-- > 0;) parts.push_back(ended[k][i]);
      state[i] = cat(parts, 0);
    }
  return {in.join(outputs), state};
}

struct Network {
  const TensorList& params;
  bool has_biases, train, bidirectional;
  int64_t layers;
  double dropout;

  // Weights of every layer and direction, in the order PyTorch lists them.
  std::vector<Weights> weights(bool projected) const {
    const std::size_t each_count = (has_biases ? 4u : 2u) + (projected ? 1u : 0u),
                      count = static_cast<std::size_t>(layers) * (bidirectional ? 2 : 1);
    INGOT_REQUIRE(params.size() == each_count * count, "expected ", each_count * count, " parameters for ", layers, " layers",
                  bidirectional ? " of two directions" : "", ", found ", params.size());
    std::vector<Weights> all;
    for (std::size_t k = 0; k < count; k++) {
      const Tensor* p = params.data() + k * each_count;
      Weights w{p[0], p[1], {}, {}, {}};
      if (has_biases) w.b_ih = p[2], w.b_hh = p[3];
      if (projected) w.w_hr = p[each_count - 1];
      all.push_back(std::move(w));
    }
    return all;
  }

  // `start`: for each part of the state [layers * directions, batch, hidden]. Results: the output,
  // then the final states.
  TensorList run(Sequence x, const TensorList& start, Cell cell) const {
    const bool projected = start.size() == 2 && !(start[0].size(2) == start[1].size(2));
    const std::vector<Weights> all = weights(projected);
    std::vector<TensorList> begin;  // [part][layer and direction]
    for (const Tensor& s : start) {
      INGOT_REQUIRE(s.dim() == 3, "Expected hidden size of 3 dims (layers * directions, batch, features), found ", s.sizes());
      begin.push_back(s.unbind(0));
      INGOT_REQUIRE(begin.back().size() == all.size(), "Expected a hidden state of ", all.size(),
                    " layers and directions, found ", s.sizes());
    }
    std::vector<TensorList> end(start.size());
    const std::size_t directions = bidirectional ? 2 : 1;
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); layer++) {
      TensorList outputs;
      for (std::size_t d = 0; d < directions; d++) {
        const std::size_t k = layer * directions + d;
        TensorList state;
        for (const TensorList& part : begin) state.push_back(part[k]);
        LayerResult r = run_layer(x, state, all[k], cell, d == 1);
        outputs.push_back(std::move(r.output));
        for (std::size_t i = 0; i < end.size(); i++) end[i].push_back(r.state[i]);
      }
      x.data = directions == 2 ? cat(outputs, -1) : outputs[0];
      if (dropout != 0 && train && layer + 1 < static_cast<std::size_t>(layers)) x.data = aten<"dropout">(x.data, dropout, true);
    }
    TensorList results{x.data};
    for (const TensorList& e : end) results.push_back(stack(e, 0));
    return results;
  }
};

TensorList states_of(const Value& hx) { return hx.is_tensors() ? hx.tensors() : TensorList{hx.tensor()}; }

// (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
template <Cell kCell, std::size_t kStates>
Value rnn_input(const Call& c) {
  const TensorList start = states_of(c[1]);
  INGOT_REQUIRE(start.size() == kStates, c.op.schema.name, " expects ", kStates, " hidden states, found ", start.size());
  INGOT_REQUIRE(c.tensor(0).dim() == 3, c.op.schema.name, ": Expected 3-D input (time, batch, features), found ",
                c.tensor(0).sizes());
  const Network net{c[2].tensors(), c[3].to_bool(), c[6].to_bool(), c[7].to_bool(), c[4].to_int64(), c[5].to_double()};
  const bool batch_first = c[8].to_bool();
  TensorList r = net.run({batch_first ? c.tensor(0).transpose(0, 1) : c.tensor(0), {}}, start, kCell);
  if (batch_first) r[0] = r[0].transpose(0, 1);
  return r;
}
// (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)
template <Cell kCell, std::size_t kStates>
Value rnn_packed(const Call& c) {
  const TensorList start = states_of(c[2]);
  INGOT_REQUIRE(start.size() == kStates, c.op.schema.name, " expects ", kStates, " hidden states, found ", start.size());
  INGOT_REQUIRE(!c.tensor(1)->is_fake(), c.op.schema.name,
                ": the program of a packed sequence depends on its batch sizes, which a fake tensor does not have");
  Sequence x{c.tensor(0), c.tensor(1).to_vector<int64_t>()};
  INGOT_REQUIRE(x.packed(), c.op.schema.name, ": batch_sizes must not be empty");
  for (std::size_t i = 0; i < x.batch_sizes.size(); i++)
    INGOT_REQUIRE(x.batch_sizes[i] > 0 && (i == 0 || x.batch_sizes[i] <= x.batch_sizes[i - 1]), c.op.schema.name,
                  ": batch_sizes must be positive and must not grow");
  const Network net{c[3].tensors(), c[4].to_bool(), c[7].to_bool(), c[8].to_bool(), c[5].to_int64(), c[6].to_double()};
  return net.run(std::move(x), start, kCell);
}

// (input, hx, w_ih, w_hh, b_ih, b_hh)
template <Cell kCell, std::size_t kStates>
Value cell(const Call& c) {
  const Weights w{c.tensor(2), c.tensor(3), c[4].tensor_or_none(), c[5].tensor_or_none(), {}};
  const TensorList start = states_of(c[1]);
  INGOT_REQUIRE(start.size() == kStates, c.op.schema.name, " expects ", kStates, " hidden states, found ", start.size());
  TensorList r = kCell(w.input_gates(c.tensor(0)), start, w);
  return kStates == 1 ? Value(r[0]) : Value(std::move(r));
}

// (input, w_ih, w_hh, b_ih, b_hh, hx, cx, reverse, batch_sizes, mode, hidden_size, num_layers,
// has_biases, bidirectional, batch_first, train): one layer in one direction, over [time, batch,
// features] whatever `batch_first` says. What it keeps for its backward is oneDNN's own, and
// nothing here.
Value mkldnn_layer(const Call& c) {
  constexpr int64_t kLstm = 2;
  INGOT_REQUIRE(c[9].to_int64() == kLstm, c.op.schema.name, ": mode: expected 2 (LSTM), found ", c[9].to_int64());
  const bool has_biases = c[12].to_bool();
  const Weights w{c.tensor(1), c.tensor(2), has_biases ? c.tensor(3) : Tensor(), has_biases ? c.tensor(4) : Tensor(), {}};
  const Tensor &h = c.tensor(5), &k = c.tensor(6);
  const Shape cell{h.size(-2), h.size(-1)};
  const LayerResult r = run_layer({c.tensor(0), {}}, {h.reshape(cell), k.reshape(cell)}, w, lstm_step, c[7].to_bool());
  return TensorList{r.output, r.state[0].reshape(h.sizes()), r.state[1].reshape(k.sizes()), empty({0}, {.dtype = DType::u8})};
}

#define NETWORK "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
#define CELL "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"

constexpr OpDef kRnnOps[] = {
    composite("aten::lstm.input(Tensor input, Tensor[] hx, " NETWORK ", bool batch_first) -> (Tensor, Tensor, Tensor)",
              rnn_input<lstm_step, 2>),
    composite("aten::gru.input(Tensor input, Tensor hx, " NETWORK ", bool batch_first) -> (Tensor, Tensor)",
              rnn_input<gru_step, 1>),
    composite("aten::rnn_tanh.input(Tensor input, Tensor hx, " NETWORK ", bool batch_first) -> (Tensor, Tensor)",
              rnn_input<tanh_step, 1>),
    composite("aten::rnn_relu.input(Tensor input, Tensor hx, " NETWORK ", bool batch_first) -> (Tensor, Tensor)",
              rnn_input<relu_step, 1>),
    composite("aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, " NETWORK ") -> (Tensor, Tensor, Tensor)",
              rnn_packed<lstm_step, 2>),
    composite("aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, " NETWORK ") -> (Tensor, Tensor)",
              rnn_packed<gru_step, 1>),
    composite("aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, " NETWORK ") -> (Tensor, Tensor)",
              rnn_packed<tanh_step, 1>),
    composite("aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, " NETWORK ") -> (Tensor, Tensor)",
              rnn_packed<relu_step, 1>),
    composite("aten::lstm_cell(Tensor input, Tensor[] hx, " CELL ") -> (Tensor, Tensor)", cell<lstm_step, 2>),
    composite("aten::gru_cell(Tensor input, Tensor hx, " CELL ") -> Tensor", cell<gru_step, 1>),
    composite("aten::rnn_tanh_cell(Tensor input, Tensor hx, " CELL ") -> Tensor", cell<tanh_step, 1>),
    composite("aten::rnn_relu_cell(Tensor input, Tensor hx, " CELL ") -> Tensor", cell<relu_step, 1>),
    {.schema = "aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, "
               "Tensor cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool "
               "bidirectional, bool batch_first, bool train) -> (Tensor, Tensor, Tensor, Tensor)",
     .form = Form::composite,
     .body = mkldnn_layer,
     .autocast = Autocast::lower_precision},
};

}  // namespace

INGOT_FAMILY(rnn, kRnnOps)

}  // namespace ingot
