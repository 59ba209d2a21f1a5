#pragma once

#include <cstdint>

// What HPCG 3.1 counts: a 27-point operator on a cube, conjugate gradients, and as preconditioner a
// V-cycle of four levels with one symmetric Gauss-Seidel sweep before and after (Heroux, Dongarra,
// Luszczek: HPCG Technical Specification, SAND2013-8752).
namespace cb {

constexpr int kCgLevels = 4;

// Non-zeros of the operator on a cube with that edge: (3·edge − 2)³.
int64_t cg_nonzeros(int64_t edge);
// Operations of one preconditioned iteration as HPCG 3.1 counts them: three dot products and three
// vector updates of 2n each, 2·nnz of the operator, and of each level 4·nnz a sweep, twice and
// 2·nnz between them, once on the coarsest.
double cg_operations(int64_t edge);
// Bytes that such an iteration moves at least, if no cache holds a vector or the matrix: 12 a
// non-zero (value and column) each time that the matrix is passed, 8 for each element of a vector
// that is read or written.
double cg_bytes(int64_t edge);

}  // namespace cb
