#include "codegen/model.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <unordered_map>

#include "base/checksum.hpp"
#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "base/library_note.hpp"
#include "codegen/expression.hpp"
#include "codegen/llvm_state.hpp"
#include "codegen/main_function.hpp"
#include "expr/guards.hpp"
#include "model/program.h"

namespace ingot {
namespace {

using llvm::Constant;
using loop::Buffer;
using Value = llvm::Value*;

// Builds the constant structs of program.h, field by field in its order.
class TableEmitter {
 public:
  TableEmitter(llvm::Module& module, const Model& model, const Target& target)
      : module_(module), context_(module.getContext()), model_(model), target_(target), b_(context_),
        pointer_(llvm::PointerType::getUnqual(context_)),
        text_pool_(
            new llvm::GlobalVariable(module_, b_.getInt8Ty(), true, llvm::GlobalValue::ExternalLinkage, nullptr, "texts")) {}

  void run() {
    std::vector<Constant*> entries, constants, levels, metadata, host_ops;
    for (std::size_t e = 0; e < model_.entries.size(); e++) entries.push_back(entry(e));
    for (const Model::Constant& c : model_.constants)
      constants.push_back(
          record({string(c.name), string(c.fqn), i32(aoti_code(c.dtype)), i32(static_cast<int>(c.sizes.size())), numbers(c.sizes),
                  numbers(c.strides), i64(c.storage_offset), i64(static_cast<int64_t>(c.bytes)),
                  i64(static_cast<int64_t>(c.position)), i32(c.kind), i32(c.is_written), i32(c.device),
                  i32(c.shares ? static_cast<int>(*c.shares) + 1 : 0), i64(static_cast<int64_t>(c.shared_from))}));
    for (const Model::Level& l : model_.levels) levels.push_back(level(l));
    for (const auto& [key, value] : model_.metadata) metadata.push_back(string(key)), metadata.push_back(string(value));
    for (const std::string& name : model_.host_ops) host_ops.push_back(string(name));
    if (!host_ops.empty()) host_ops.push_back(null());
    int folded = 0;
    for (const Model::Code& c : model_.levels[0].codes) folded += folded_by(c);

    Constant* table = record({i32(INGOT_PROGRAM_VERSION), count(entries), count(constants), i32(folded), count(levels),
                              i32(static_cast<int>(metadata.size() / 2)), string(model_.name), array(entries), array(constants),
                              array(levels), array(metadata), i32(static_cast<int>(model_.weights.kind)), embedded(),
                              string(model_.weights.file), i64(static_cast<int64_t>(model_.weights.bytes)),
                              i64(static_cast<int64_t>(model_.weights.hash)), array(host_ops), device()});
    auto* g =
        new llvm::GlobalVariable(module_, table->getType(), true, llvm::GlobalValue::ExternalLinkage, table, "ingot_the_program");
    g->setVisibility(llvm::GlobalValue::HiddenVisibility);
    place_texts();
    if (!model_.note.empty()) place_note();
  }

 private:
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const Model& model_;
  const loop::Program* program_ = nullptr;  // of the entry at hand, of any level: what the caller sees is the same
  const Target& target_;
  llvm::IRBuilder<> b_;
  llvm::Type* pointer_;
  llvm::GlobalVariable* text_pool_;  // stands for all texts until they are known
  std::string texts_;
  std::unordered_map<std::string, std::size_t> places_;  // in them

  static int folded_by(const Model::Code& c) { return c.fold ? static_cast<int>(c.fold->outputs.size()) : 0; }

  Constant* entry(std::size_t place) {
    const Model::Entry& e = model_.entries[place];
    const loop::Program& p = model_.levels[0].codes[place].run;
    program_ = &p;
    std::vector<Constant*> symbols, guards, inputs, outputs, codes;
    for (const Expr& s : p.symbols) symbols.push_back(record({string(s->name), i64(s->lo), i64(s->hi)}));
    for (const Guard& g : p.guards) {
      const Expr condition = g.answer ? g.condition : !g.condition;
      guards.push_back(record({string(readable(condition)), string(g.asked_by), message_of(condition)}));
    }
    for (std::size_t k = 0; k < p.inputs.size(); k++) {
      const Buffer& b = p.buffers[at(p.inputs[k])];
      const Model::Input& i = e.inputs[k];
      inputs.push_back(record({string(i.name), i32(aoti_code(b.dtype)), i32(static_cast<int>(b.sizes.size())), texts(b.sizes),
                               i8(i.is_number), i8(i.is_written), i8(i.by_places)}));
    }
    for (std::size_t k = 0; k < p.outputs.size(); k++) {
      const Buffer& b = p.buffers[at(p.outputs[k])];
      outputs.push_back(
          record({string(e.outputs[k]), i32(aoti_code(b.dtype)), i32(static_cast<int>(b.sizes.size())), texts(b.sizes)}));
    }
    for (std::size_t l = 0; l < model_.levels.size(); l++) codes.push_back(code(model_.levels[l].codes[place], l, place));
    const std::size_t from_inputs = p.symbols.size() - p.decided;
    return record({string(e.name), string(e.in_spec), string(e.out_spec), count(symbols), count(guards), count(inputs),
                   count(outputs), i32(static_cast<int>(from_inputs)), i32(e.uses_written), i32(static_cast<int>(e.first_folded)),
                   i32(folded_by(model_.levels[0].codes[place])), array(symbols), array(guards), array(inputs), array(outputs),
                   array(codes), emit_bind(), emit_expect(), emit_check()});
  }

  // ---- data

  Constant* i8(bool v) { return b_.getInt8(v); }
  Constant* i32(int v) { return b_.getInt32(static_cast<uint32_t>(v)); }
  Constant* i64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
  Constant* null() { return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_)); }
  Constant* count(const std::vector<Constant*>& v) { return i32(static_cast<int>(v.size())); }
  Constant* record(const std::vector<Constant*>& fields) { return llvm::ConstantStruct::getAnon(context_, fields); }
  Constant* global(Constant* data) {
    return new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data);
  }
  // All texts are one global: a thousand small ones take longer to write than the model's kernels.
  Constant* string(const std::string& s) {
    const auto [place, is_new] = places_.try_emplace(s, texts_.size());
    if (is_new) texts_.append(s.c_str(), s.size() + 1);
    return llvm::ConstantExpr::getInBoundsGetElementPtr(b_.getInt8Ty(), text_pool_, b_.getInt64(place->second));
  }
  void place_texts() {
    Constant* data = llvm::ConstantDataArray::getString(context_, texts_, false);
    text_pool_->replaceAllUsesWith(global(data));
    text_pool_->eraseFromParent();
  }
  // The note in the ELF file, with zeros for the checksum, which is written when all else is.
  void place_note() {
    const std::string owner = std::string(kNoteOwner) + '\0';
    const std::string content = std::string(sizeof(Checksum::Bytes), '\0') + model_.note;
    const auto padded = [](std::string s) { return s.append((4 - s.size() % 4) % 4, '\0'); };
    Constant* data = record({i32(static_cast<int>(owner.size())), i32(static_cast<int>(content.size())), i32(kNoteType),
                             llvm::ConstantDataArray::getString(context_, padded(owner), false),
                             llvm::ConstantDataArray::getString(context_, padded(content), false)});
    auto* g =
        new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::ExternalLinkage, data, "ingot_the_note");
    g->setVisibility(llvm::GlobalValue::HiddenVisibility);
    g->setSection(llvm::StringRef(kNoteSection));
    g->setAlignment(llvm::Align(4));
  }
  // The address of the elements, which have one type; null where there are none.
  Constant* array(const std::vector<Constant*>& v) {
    return v.empty() ? null() : global(llvm::ConstantArray::get(llvm::ArrayType::get(v[0]->getType(), v.size()), v));
  }
  Constant* texts(const std::vector<Expr>& sizes) {
    std::vector<Constant*> all;
    for (const Expr& e : sizes) all.push_back(string(to_text(e)));
    return array(all);
  }
  Constant* numbers(const std::vector<int64_t>& v) {
    std::vector<Constant*> all;
    for (int64_t n : v) all.push_back(i64(n));
    return array(all);
  }
  // A condition that the program asserts itself fails in the program's own words.
  Constant* message_of(const Expr& condition) {
    for (const loop::Step& step : program_->steps)
      if (const auto* check = std::get_if<loop::Check>(&step); check && same(check->condition, condition))
        return string(check->message);
    return null();
  }
  Constant* embedded() {
    if (model_.weights.kind != Model::Weights::Kind::embedded || model_.weights.bytes == 0) return null();
    return elsewhere("ingot_weights");
  }
  Constant* device() {
    const std::string& table = model_.levels[0].device_table;
    for (const Model::Level& l : model_.levels) {
      INGOT_ENSURE(l.device_table == table, "the levels of a library are for one device: expected '", table, "', found '",
                   l.device_table, "' of ", l.name);
      INGOT_ENSURE(l.archives == model_.levels[0].archives, "the levels of a library have the same archives: ", l.name,
                   " has others than ", model_.levels[0].name);
    }
    return table.empty() ? null() : elsewhere(table);
  }
  // What another object of the link defines.
  Constant* elsewhere(const std::string& symbol) {
    auto* g = new llvm::GlobalVariable(module_, b_.getInt8Ty(), false, llvm::GlobalValue::ExternalLinkage, nullptr, symbol);
    g->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return g;
  }
  Constant* declared(const std::string& name) {
    auto* f =
        llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), false), llvm::Function::ExternalLinkage, name, module_);
    f->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return f;
  }
  Constant* level(const Model::Level& l) {
    std::vector<Constant*> features;
    for (uint64_t f : l.features) features.push_back(i64(static_cast<int64_t>(f)));
    features.push_back(i64(0));
    return record({string(l.name), array(features)});
  }
  Constant* code(const Model::Code& c, std::size_t level, std::size_t entry) {
    return record({declared(function_name("arena", level, entry)), declared(function_name("run", level, entry)),
                   i64(c.fold ? c.fold->arena_bytes->i : 0), c.fold ? declared(function_name("fold", level, entry)) : null()});
  }

  // ---- functions over the symbols

  // A function with pointer parameters, open for its body.
  llvm::Function* begin(const char* name, llvm::Type* result, std::size_t params) {
    const std::vector<llvm::Type*> types(params, pointer_);
    auto* f =
        llvm::Function::Create(llvm::FunctionType::get(result, types, false), llvm::Function::InternalLinkage, name, module_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", f));
    return f;
  }
  Value element(Value array, std::size_t k) { return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), array, k); }
  Value read(Value array, std::size_t k) { return b_.CreateLoad(b_.getInt64Ty(), element(array, k)); }
  ExpressionEmitter over(Value symbols) {
    ExpressionEmitter e(b_, target_,
                        [](const Expr& load) -> Value { throw_internal_error(__FILE__, __LINE__, text("a size reads ", load)); });
    for (std::size_t k = 0; k < program_->symbols.size(); k++) e.bind_symbol(program_->symbols[k], read(symbols, k));
    return e;
  }

  // Every symbol that inputs decide, from the first size that has it to the first power: size =
  // factor*symbol + rest.
  Constant* emit_bind() {
    llvm::Function* f = begin("bind", b_.getVoidTy(), 2);
    const loop::Program& p = *program_;
    llvm::StructType* view = llvm::StructType::get(context_, {pointer_, pointer_, pointer_, b_.getInt32Ty(), b_.getInt32Ty()});
    ExpressionEmitter known(b_, target_, [](const Expr&) -> Value { return nullptr; });
    std::vector<bool> bound(p.symbols.size());
    const std::size_t wanted = p.symbols.size() - p.decided;
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t k = 0; k < wanted; k++) {
        if (bound[k]) continue;
        for (std::size_t i = 0; i < p.inputs.size() && !bound[k]; i++) {
          const Buffer& buffer = p.buffers[at(p.inputs[i])];
          auto field = [&](unsigned n) {
            return b_.CreateLoad(pointer_, b_.CreateStructGEP(view, b_.CreateConstInBoundsGEP1_64(view, f->getArg(0), i), n));
          };
          if (i < p.numbers.size() && p.numbers[i].valid() && same(p.numbers[i], p.symbols[k])) {
            Value v = b_.CreateLoad(b_.getInt64Ty(), field(0));
            b_.CreateStore(v, element(f->getArg(1), k));
            known.bind(p.symbols[k], v);
            bound[k] = progress = true;
          }
          for (std::size_t d = 0; d < buffer.sizes.size() && !bound[k]; d++) {
            const auto factor = stride(buffer.sizes[d], p.symbols[k]);
            if (!factor || factor->is_const(0)) continue;
            const Expr rest = buffer.sizes[d] - *factor * p.symbols[k];
            bool all_known = true;
            for (std::size_t j = 0; j < p.symbols.size(); j++)
              all_known = all_known && (bound[j] || !(depends(rest, p.symbols[j]) || depends(*factor, p.symbols[j])));
            if (!all_known) continue;
            Value v = b_.CreateSub(read(field(1), d), known.emit(rest));
            if (!factor->is_const(1)) {  // which is 0 of an empty input
              Value by = known.emit(*factor);
              v = b_.CreateSDiv(v, b_.CreateSelect(b_.CreateICmpEQ(by, b_.getInt64(0)), b_.getInt64(1), by));
            }
            b_.CreateStore(v, element(f->getArg(1), k));
            known.bind(p.symbols[k], v);
            bound[k] = progress = true;
          }
        }
      }
    }
    for (std::size_t k = 0; k < wanted; k++) INGOT_REQUIRE(bound[k], "no input of the program says what ", p.symbols[k], " is");
    b_.CreateRetVoid();
    return f;
  }

  Constant* emit_expect() {
    llvm::Function* f = begin("expect", b_.getVoidTy(), 2);
    ExpressionEmitter e = over(f->getArg(0));
    std::size_t next = 0;
    for (int i : program_->inputs)
      for (const auto* list : {&program_->buffers[at(i)].sizes, &program_->buffers[at(i)].strides})
        for (const Expr& n : *list) b_.CreateStore(e.emit(n), element(f->getArg(1), next++));
    b_.CreateRetVoid();
    return f;
  }

  Constant* emit_check() {
    llvm::Function* f = begin("check", b_.getInt32Ty(), 1);
    ExpressionEmitter e = over(f->getArg(0));
    const auto& guards = program_->guards;
    for (std::size_t k = 0; k < guards.size(); k++) {
      auto* violated = llvm::BasicBlock::Create(context_, "violated", f);
      auto* on = llvm::BasicBlock::Create(context_, "on", f);
      b_.CreateCondBr(b_.CreateICmpEQ(e.emit(guards[k].condition), b_.getInt1(guards[k].answer)), on, violated);
      b_.SetInsertPoint(violated);
      b_.CreateRet(b_.getInt32(static_cast<uint32_t>(k)));
      b_.SetInsertPoint(on);
    }
    b_.CreateRet(b_.getInt32(-1u));
    return f;
  }
};

}  // namespace

Object generate_table(const Model& model) {
  llvm::LLVMContext context;
  llvm::Module module(model.name + ".table", context);
  // Its functions run whatever level the machine has, also to say that it has none.
  const Target oldest = parse_target(to_text(arch_of(model.levels[0].host)));
  set_target(module, oldest);
  {
    const LlvmUse use;
    TableEmitter(module, model, oldest).run();
  }
  return emit(module, oldest, nullptr, Effort::little);
}

}  // namespace ingot
