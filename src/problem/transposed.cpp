#include "problem/transposed.h"

#include <utility>

namespace gemmsmith {

// Operands that both have k contiguous, or both not, still do.
Layout transposed(Layout layout) {
  if (layout == Layout::kNN) return Layout::kTT;
  if (layout == Layout::kTT) return Layout::kNN;
  return layout;
}

Problem transposed(const Problem& problem) {
  Problem other = problem;
  std::swap(other.m, other.n);
  std::swap(other.lda, other.ldb);
  std::swap(other.stride_a, other.stride_b);
  std::swap(other.alignment.a, other.alignment.b);
  other.layout = transposed(problem.layout);
  return other;
}

Signature transposed(const Signature& signature) {
  Signature other = signature;
  other.layout = transposed(signature.layout);
  return other;
}

}  // namespace gemmsmith
