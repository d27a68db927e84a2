// The cache of compiled functions: section 14 of the AOTAutograd specification (R185 to R193).
#include "ingot/aot/cache.hpp"

#include <fstream>
#include <random>

#include "aot/cache_entry.hpp"
#include "aot/min_cut.hpp"
#include "aot/tracing_context.hpp"
#include "ingot/state.hpp"
#include "support/memory_store.hpp"
#include "support/test_folder.hpp"
#include "support/aot_harness.hpp"
#include "support/tracked.hpp"

namespace ingot::aot {
namespace {

namespace fs = std::filesystem;

Values twice(const Values& in) { return {in[0].tensor() * 2}; }
Values product(const Values& in) { return {(in[0].tensor() * in[1].tensor()).sin()}; }

class AotCaching : public AotHarness {
 protected:
  void TearDown() override {
    cache_.reset();
    store_.reset();
    AotHarness::TearDown();
  }

  const testing::TestFolder test_folder_;
  const std::string folder_ = test_folder_.file("cache");
  std::shared_ptr<testing::MemoryStore> store_ = std::make_shared<testing::MemoryStore>();
  std::shared_ptr<AotCache> cache_ = made();

  // Another process has another object.
  std::shared_ptr<AotCache> made(bool strict = false) {
    return std::make_shared<AotCache>(AotCache::Options{.folder = folder_, .artifacts = store_, .strict = strict});
  }
  AotOptions options() {
    AotOptions o;
    o.forward = store_->compiler();
    o.cache = cache_;
    return o;
  }
  FlatCallable compiled(const FlatFunction& f, const Values& examples) { return compiled(f, examples, options()); }
  static FlatCallable compiled(const FlatFunction& f, const Values& examples, const AotOptions& o) {
    return aot_module_simplified(f, {}, examples, o);
  }
  // The key under which a compilation of f looks.
  std::string key(const FlatFunction& f, const Values& examples) { return key(f, examples, options()); }
  std::string key(const FlatFunction& f, const Values& examples, const AotOptions& o) {
    compiled(f, examples, o);
    return cache_->last().key;
  }
  void expect_counters(int hit, int miss, int bypass, int saved) {
    const CacheCounters c = cache_->counters();
    EXPECT_EQ(c.hit, hit) << to_text(cache_->last());
    EXPECT_EQ(c.miss, miss) << to_text(cache_->last());
    EXPECT_EQ(c.bypass, bypass) << to_text(cache_->last());
    EXPECT_EQ(c.saved, saved) << to_text(cache_->last());
  }
  std::string entry_of(const std::string& key) const { return folder_ + "/aotautograd/" + key + "/entry"; }
};

TEST_F(AotCaching, R185_OnlyTheSimplifiedEntryUsesIt) {
  aot_function([](const TensorList& in) { return TensorList{in[0] * 2}; }, options())(TensorList{ones({2})});
  expect_counters(0, 0, 0, 0);
  compiled(twice, {ones({2})});
  expect_counters(0, 1, 0, 1);
}

TEST_F(AotCaching, R186_WhatIsNotKeptSaysWhy) {
  const auto expect_bypass = [&](const FlatFunction& f, const AotOptions& o, const std::string& why) {
    const int before = cache_->counters().bypass;
    EXPECT_EQ(compiled(f, {tracked(ones({2}))}, o)({tracked(ones({2}))})[0].tensor().sizes(), Shape({2}));
    EXPECT_EQ(cache_->counters().bypass, before + 1);
    EXPECT_NE(cache_->last().why.find(why), std::string::npos) << to_text(cache_->last());
    EXPECT_EQ(cache_->counters().saved, 0);
    cache_ = made(true);
    AotOptions strict = o;
    strict.cache = cache_;
    EXPECT_NE(error_of([&] { compiled(f, {tracked(ones({2}))}, strict); }).find(why), std::string::npos);
    cache_ = made();
  };
  AotOptions o = options();
  o.context = std::make_shared<TracingContext>();
  o.context->fakify_first_call = true;
  expect_bypass(twice, o, "Won't cache a graph with fakify_first_call enabled");
  const auto with_hook = [](const Values& in) {
    const Tensor x = in[0].tensor() * 1;
    register_hook(x, [](const Tensor& g) { return g; });
    return Values{x * 2};
  };
  expect_bypass(with_hook, options(), "a hook");

  store_.reset();
  cache_ = made();
  AotOptions without;
  without.cache = cache_;
  compiled(twice, {ones({2})}, without);
  EXPECT_EQ(cache_->last().why, "FX graph cache is not enabled");
}

TEST_F(AotCaching, R186_OpsThatAreNotBuiltIn) {
  static const OpDef def{.schema = "mine::double(Tensor self) -> Tensor",
                         .body = [](const Call& c) -> Value { return c.tensor(0) + c.tensor(0); }};
  register_ops({&def, 1});
  AotOptions o = options();
  o.forward = nop;
  compiled([](const Values& in) { return Values{call(op("mine::double"), Values{in[0]})}; }, {ones({2})}, o);
  EXPECT_EQ(cache_->last().why, "Unsupported call_function target mine::double");
}

TEST_F(AotCaching, R187_WhatTheKeyIsMadeOf) {
  const std::string first = key(twice, {ones({2, 3})});
  EXPECT_EQ(first.size(), 65u);
  EXPECT_EQ(first[0], 'a');
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef", 1), std::string::npos);
  EXPECT_EQ(key(twice, {zeros({2, 3})}), first) << "values of arguments are no part of it";
  std::vector<std::string> keys{first};
  const auto expect_new = [&](const std::string& found, const std::string& what) {
    EXPECT_EQ(std::count(keys.begin(), keys.end(), found), 0) << what;
    keys.push_back(found);
  };
  expect_new(key([](const Values& in) { return Values{in[0].tensor() * 3}; }, {ones({2, 3})}), "another function");
  expect_new(key(twice, {ones({2, 4})}), "sizes");
  const auto custom = [](double factor, double of_gradient) {
    return [=](const Values& in) {
      const TensorList out = custom_function(
          "Mine", {in[0].tensor()}, [=](FunctionContext&, const TensorList& x) { return TensorList{x[0] * factor}; },
          [=](FunctionContext&, const TensorList& g) { return TensorList{g[0] * of_gradient}; });
      return Values{out[0]};
    };
  };
  expect_new(key(custom(2, 2), {tracked(ones({2, 3}))}), "a custom function");
  expect_new(key(custom(3, 2), {tracked(ones({2, 3}))}), "its forward");
  expect_new(key(custom(2, 3), {tracked(ones({2, 3}))}), "its backward");
  expect_new(key(twice, {ones({3, 2}).t()}), "strides");
  expect_new(key(twice, {ones({2, 3}, {.dtype = float64})}), "type");
  expect_new(key(twice, {tracked(ones({2, 3}))}), "requires_grad");
  expect_new(key(twice, {ones({4, 3}).narrow(0, 2, 2)}), "offset and size of the storage");
  {
    const NoGrad no_grad;
    expect_new(key(twice, {tracked(ones({2, 3}))}), "grad mode");
  }
  {
    const AutocastGuard autocast;
    expect_new(key(twice, {ones({2, 3})}), "autocast");
  }
  {
    const DeterministicGuard deterministic;
    expect_new(key(twice, {ones({2, 3})}), "deterministic mode");
  }
  AotOptions o = options();
  o.keep_inference_input_mutations = true;
  expect_new(key(twice, {ones({2, 3})}, o), "what becomes of writes");
  const Tensor a = ones({2}), b = ones({2});
  expect_new(key(product, {a, b}), "two arguments");
  expect_new(key(product, {a, a}), "one tensor twice");
  expect_new(key(product, {a, a.view({2})}), "one storage");
  const auto with = [](const Tensor& t) { return [t](const Values& in) { return Values{in[0].tensor() + t}; }; };
  expect_new(key(with(ones({2})), {a}), "a tensor that the function brings along");
  expect_new(key(with(zeros({2})), {a}), "its values");
  // Every flag.
  const auto with_flag = [&](const auto& set) {
    AotOptions f = options();
    set(f);
    return key(twice, {ones({2, 3})}, f);
  };
  expect_new(with_flag([](AotOptions& f) { f.debug_assert = true; }), "debug_assert");
  expect_new(with_flag([](AotOptions& f) { f.static_weight_shapes = false; }), "static_weight_shapes");
  expect_new(with_flag([](AotOptions& f) { f.view_replay_for_aliased_outputs = false; }), "view_replay_for_aliased_outputs");
  expect_new(with_flag([](AotOptions& f) { f.unlift_effect_tokens = true; }), "unlift_effect_tokens");
  expect_new(with_flag([](AotOptions& f) { f.most_sharing_with_open_sizes = 4; }), "how many may share a storage");
  expect_new(with_flag([](AotOptions& f) { f.enable_log = false; }), "enable_log");
  expect_new(with_flag([](AotOptions& f) {
               f.context = std::make_shared<TracingContext>();
               f.context->argument_sources = {"x"};
             }),
             "argument sources");
  const std::vector<MinCutOptions> cuts{{.cse = false},
                                        {.max_distance = 10},
                                        {.ban_used_far_apart = false},
                                        {.ban_long_fusible_chains = false},
                                        {.ban_materialized = false},
                                        {.ban_not_in_allowlist = false},
                                        {.ban_reductions = false},
                                        {.recompute_views = true},
                                        {.aggressive_recomputation = true},
                                        {.memory_budget = 0.5},
                                        {.estimator = RuntimeEstimator::profile},
                                        {.estimator = RuntimeEstimator::testing},
                                        {.solver = KnapsackSolver::greedy},
                                        {.solver = KnapsackSolver::ilp},
                                        {.activation_bytes = 100}};
  for (std::size_t k = 0; k < cuts.size(); k++)
    expect_new(with_flag([&](AotOptions& f) { f.partition = MinCutPartitioner{cuts[k]}; }), text("min-cut setting ", k));
  EXPECT_EQ(with_flag([](AotOptions& f) { f.partition = MinCutPartitioner(); }), first) << "all as they are by themselves";
  // Values of parameters are no part of it, their number is.
  const auto of_state = [&](const TensorList& state, const Values& in) {
    aot_module_simplified(product, state, in, options());
    return cache_->last().key;
  };
  const std::string one = of_state({full({2}, 3.0)}, {a});
  expect_new(one, "num_params_buffers");
  EXPECT_EQ(of_state({full({2}, 4.0)}, {a}), one);
  // Of compilers, partitioners, decompositions and the number of the entry nothing is said.
  o = options();
  o.partition = [](const Joint& j) { return partition_min_cut(j); };
  EXPECT_EQ(key(twice, {ones({2, 3})}, o), first);
}

TEST_F(AotCaching, R188_R193_TheEntryIsAFile) {
  const FlatCallable f = compiled(product, {tracked(ones({2})), ones({2})});
  f({tracked(ones({2})), ones({2})})[0].tensor().sum().backward();
  const std::string key = cache_->last().key;
  std::ifstream file(entry_of(key));
  std::string digest, json;
  std::getline(file, digest);
  std::getline(file, json);
  EXPECT_EQ(digest, sha256(json));
  const CacheEntry e = read_entry(json, "entry", DenseLayout({ones({2}), ones({2})}), 0, 0);
  EXPECT_TRUE(store_->graphs.contains(e.forward));
  EXPECT_TRUE(store_->graphs.contains(e.backward));
  EXPECT_TRUE(e.assembly.meta.is_train);
  EXPECT_TRUE(e.assembly.meta.tangents.empty()) << "runtime-safe";
  EXPECT_EQ(e.assembly.saved_tensors, static_cast<int>(store_->graphs[e.forward]->outputs.size()) - 1);
  EXPECT_EQ(e.assembly.without_gradient, std::vector<bool>({false, true}));
  EXPECT_EQ(to_json(e, DenseLayout({ones({2}), ones({2})})), json);
  cache_->clear();
  EXPECT_FALSE(fs::exists(folder_ + "/aotautograd"));
  compiled(product, {tracked(ones({2})), ones({2})});
  EXPECT_EQ(cache_->last().kind, CacheEvent::Kind::miss);
}

TEST_F(AotCaching, R189_AFunctionWithoutGradientsIsKeptAtOnce) {
  compiled(twice, {ones({2})});
  expect_counters(0, 1, 0, 1);
  AotOptions o = options();
  o.forward = nop;  // says nothing of a store
  compiled(twice, {ones({3})}, o);
  expect_counters(0, 2, 0, 1);
}

TEST_F(AotCaching, R190_AFunctionWithGradientsIsKeptWhenItsBackwardIsCompiled) {
  const FlatCallable f = compiled(product, {tracked(ones({2})), ones({2})});
  const Tensor y = f({tracked(ones({2})), ones({2})})[0].tensor();
  expect_counters(0, 1, 0, 0);
  y.sum().backward();
  expect_counters(0, 1, 0, 1);
  f({tracked(ones({2})), ones({2})})[0].tensor().sum().backward();
  expect_counters(0, 1, 0, 1);  // once
}

TEST_F(AotCaching, R190_AtOnceWhereTheBackwardIsAndNeverWithoutAKey) {
  const auto sum = [](const Values& in) { return Values{in[0].tensor().sum()}; };
  AotOptions o = options();
  o.sizes = std::make_shared<ShapeEnv>();
  compiled(sum, fake_inputs({tracked(ones({4}))}, {{0, 0, "s0"}}, *o.sizes), o);  // which saves a size
  expect_counters(0, 1, 0, 1);
  o = options();
  o.backward = nop;  // says nothing of a store
  const Tensor x = tracked(ones({2}));
  compiled(product, {x, ones({2})}, o)({x, ones({2})})[0].tensor().sum().backward();
  EXPECT_TRUE(x.grad().defined());
  expect_counters(0, 2, 0, 1);
}

TEST_F(AotCaching, R191_AHitIsTheFunctionAgain) {
  const auto f = [](const Values& in) {
    Tensor x = in[0].tensor();
    x.mul_(2);
    return Values{x.view({-1}), (x * in[1].tensor()).sin(), in[1]};
  };
  const auto run = [&](const FlatCallable& c) {
    const Tensor leaf = tracked(full({2, 2}, 0.5)), x = leaf + 1, y = ones({2, 2});
    const Values out = c({x, y});
    EXPECT_TRUE(out[2].tensor().is_same(y));
    EXPECT_EQ(out[0].tensor()->storage, x->storage);
    (out[0].tensor().sum() + out[1].tensor().sum()).backward();
    return std::pair(x.to_vector<double>(), leaf.grad().to_vector<double>());
  };
  const Values examples{tracked(ones({2, 2})) + 1, ones({2, 2})};
  const auto want = run(f);
  EXPECT_EQ(run(compiled(f, examples)), want);
  const std::size_t graphs = store_->graphs.size();
  cache_ = made();
  EXPECT_EQ(run(compiled(f, examples)), want);
  expect_counters(1, 0, 0, 0);
  EXPECT_EQ(store_->graphs.size(), graphs) << "nothing was compiled";
}

// What only a compilation has is not there again after a hit.
TEST_F(AotCaching, R191_WhatAHitDoesNotRebuild) {
  // Debug assertions: the compiled function makes them, the one of the cache does not.
  AotOptions o = options();
  o.debug_assert = true;
  const Values examples{tracked(ones({2})), ones({2})}, broken{tracked(ones({2})), tracked(ones({2}))};
  const FlatCallable first = compiled(product, examples, o);
  first(examples)[0].tensor().sum().backward();
  EXPECT_NE(error_of([&] { first(broken); }).find("input 1 would not require grad"), std::string::npos);
  cache_ = o.cache = made();
  const FlatCallable again = compiled(product, examples, o);
  expect_counters(1, 0, 0, 0);
  EXPECT_EQ(error_of([&] { again(broken); }), "no error");
  // First calls that return fakes: who asks for them is not served by the cache, hit or not.
  o = options();
  compiled(twice, {ones({2})}, o);
  o.context = std::make_shared<TracingContext>();
  o.context->fakify_first_call = true;
  EXPECT_TRUE(compiled(twice, {ones({2})}, o)({ones({2})})[0].tensor()->is_fake());
  EXPECT_EQ(cache_->last().kind, CacheEvent::Kind::bypass);
  o.context->fakify_first_call = false;
  cache_ = o.cache = made();
  const FlatCallable plain = compiled(twice, {ones({2})}, options());
  expect_counters(1, 0, 0, 0);
  EXPECT_FALSE(plain({ones({2})})[0].tensor()->is_fake());
}

// Whether autocast is off around the graphs is what it was at the time of the look-up.
TEST_F(AotCaching, R191_AutocastIsThatOfTheLookUp) {
  const auto multiply = [](const Values& in) { return Values{in[0].tensor().mm(in[0].tensor())}; };
  std::vector<bool> seen;  // whether autocast was on while a graph of the store ran
  class Watching final : public ArtifactStore {
   public:
    Watching(std::shared_ptr<testing::MemoryStore> store, std::vector<bool>& seen) : store_(std::move(store)), seen_(seen) {}
    std::optional<Boxed> load(const std::string& key) override {
      std::optional<Boxed> run = store_->load(key);
      if (!run) return run;
      return [run = *run, this](Values& arguments) {
        seen_.push_back(autocast_state().enabled);
        return run(arguments);
      };
    }
    std::string settings() const override { return store_->settings(); }

   private:
    std::shared_ptr<testing::MemoryStore> store_;
    std::vector<bool>& seen_;
  };
  const auto watching = std::make_shared<Watching>(store_, seen);
  const auto found = [&] {
    compiled(multiply, {ones({2, 2})});
    AotOptions o = options();
    o.guards = false;  // one would refuse the call below
    o.cache = cache_ = std::make_shared<AotCache>(AotCache::Options{.folder = folder_, .artifacts = watching});
    const FlatCallable f = compiled(multiply, {ones({2, 2})}, o);
    expect_counters(1, 0, 0, 0);
    return f;
  };
  const FlatCallable outside = found();
  const AutocastGuard autocast;
  found()({ones({2, 2})});
  EXPECT_EQ(seen, std::vector<bool>{false}) << "the casts are in the graph";
  outside({ones({2, 2})});
  EXPECT_EQ(seen, (std::vector<bool>{false, true})) << "the look-up saw none, so that nothing switches it off";
}

TEST_F(AotCaching, R191_AMissingArtifactIsAMiss) {
  compiled(twice, {ones({2})});
  store_->graphs.clear();
  EXPECT_EQ(compiled(twice, {ones({2})})({ones({2})})[0].tensor().to_vector<double>(), std::vector<double>({2, 2}));
  expect_counters(0, 2, 0, 2);
  store_->graphs.clear();
  cache_ = made(true);
  EXPECT_NE(error_of([&] { compiled(twice, {ones({2})}); }).find("the store does not have the artifact"), std::string::npos);
}

TEST_F(AotCaching, R191_GuardsOfTheCallersSizesAreMadeAgain) {
  const auto f = [](const Values& in) { return Values{in[0].tensor() + in[1].tensor()}; };  // asks whether the sizes are equal
  const auto guards = [&](int64_t rows, int64_t columns) {
    AotOptions o = options();
    o.sizes = std::make_shared<ShapeEnv>();
    const Values given{ones({rows, 3}), ones({columns, 3})};
    compiled(f, fake_inputs(given, {{0, 0, "s0"}, {1, 0, "s1"}}, *o.sizes), o);
    return o.sizes->listing();
  };
  const std::string first = guards(4, 4);
  expect_counters(0, 1, 0, 1);
  EXPECT_EQ(guards(4, 4), first);
  EXPECT_EQ(guards(5, 5), first);
  expect_counters(2, 1, 0, 1);
}

TEST_F(AotCaching, R192_ASaveThatFailsIsNoErrorUnlessStrict) {
  std::ofstream(folder_) << "no folder";
  EXPECT_EQ(compiled(twice, {ones({2})})({ones({2})})[0].tensor().to_vector<double>(), std::vector<double>({2, 2}));
  expect_counters(0, 1, 1, 0);
  EXPECT_NE(cache_->last().why.find("cannot be written"), std::string::npos);
  cache_ = made(true);
  EXPECT_NE(error_of([&] { compiled(twice, {ones({2})}); }).find("cannot be written"), std::string::npos);
}

TEST_F(AotCaching, R192_DamagedEntriesAreMisses) {
  compiled(twice, {ones({2})});
  const std::string path = entry_of(cache_->last().key);
  std::string whole;
  {
    std::ifstream in(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::mt19937 rng(1);
  for (int k = 0; k < 40; k++) {
    std::string bad = whole;
    if (k % 2 == 0) bad.resize(rng() % whole.size());
    else bad[rng() % bad.size()] ^= static_cast<char>(1 + rng() % 255);
    std::ofstream(path, std::ios::binary) << bad;
    cache_ = made();
    EXPECT_EQ(compiled(twice, {ones({2})})({ones({2})})[0].tensor().to_vector<double>(), std::vector<double>({2, 2}));
    expect_counters(0, 1, 0, 1);  // it is written anew
  }
}

// Whoever forges a digest still gets no more than an error.
TEST_F(AotCaching, R188_TextThatIsNoEntryIsRefused) {
  compiled(product, {tracked(ones({2, 2})), ones({2, 2})})({tracked(ones({2, 2})), ones({2, 2})})[0].tensor().sum().backward();
  std::ifstream file(entry_of(cache_->last().key));
  std::string digest, json;
  std::getline(file, digest);
  std::getline(file, json);
  std::mt19937 rng(2);
  const DenseLayout arguments({ones({2, 2}), ones({2, 2})});
  for (int k = 0; k < 3000; k++) {
    std::string bad = json;
    for (unsigned edits = 1 + rng() % 3; edits > 0; edits--) {
      const std::size_t at = rng() % bad.size();
      if (rng() % 3 == 0) bad.erase(at, 1 + rng() % 5);
      else bad[at] = "0123456789-[]{},:\"truefalsn"[rng() % 26];
      if (bad.empty()) bad = "{}";
    }
    try {
      read_entry(bad, "entry", arguments, 0, 0);
    } catch (const UserError&) {}
  }
}

}  // namespace
}  // namespace ingot::aot
