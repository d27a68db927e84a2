// How tightly each infix operator binds, and its sign in text: shared by printer and parser.
#pragma once
#include <string_view>

#include "ingot/expr.hpp"

namespace ingot {

enum Precedence : int {
  // clang-format off
  kLowest, kOr, kAnd, kNot, kComparison, kBitOr, kBitXor, kBitAnd, kShift, kSum, kProduct, kUnaryMinus, kPrimary,
  // clang-format on
};

constexpr int precedence_of(ExprOp op) {
  switch (op) {
    case ExprOp::Or: return kOr;
    case ExprOp::And: return kAnd;
    case ExprOp::Not: return kNot;
    case ExprOp::Lt:
    case ExprOp::Le:
    case ExprOp::Eq:
    case ExprOp::Ne: return kComparison;
    case ExprOp::BitOr: return kBitOr;
    case ExprOp::BitXor: return kBitXor;
    case ExprOp::BitAnd: return kBitAnd;
    case ExprOp::Shl:
    case ExprOp::Shr: return kShift;
    case ExprOp::Add: return kSum;
    case ExprOp::Mul:
    case ExprOp::FDiv:
    case ExprOp::FloorDiv:
    case ExprOp::Mod: return kProduct;
    case ExprOp::Neg: return kUnaryMinus;
    default: return kPrimary;
  }
}

constexpr std::string_view symbol_of(ExprOp op) {
  switch (op) {
    case ExprOp::Or: return "or";
    case ExprOp::And: return "and";
    case ExprOp::Lt: return "<";
    case ExprOp::Le: return "<=";
    case ExprOp::Eq: return "==";
    case ExprOp::Ne: return "!=";
    case ExprOp::BitOr: return "|";
    case ExprOp::BitXor: return "^";
    case ExprOp::BitAnd: return "&";
    case ExprOp::Shl: return "<<";
    case ExprOp::Shr: return ">>";
    case ExprOp::Add: return "+";
    case ExprOp::Mul: return "*";
    case ExprOp::FDiv: return "/";
    case ExprOp::FloorDiv: return "//";
    case ExprOp::Mod: return "%";
    default: return "";
  }
}

}  // namespace ingot
