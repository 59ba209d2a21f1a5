// Tensor cores and asynchronous copies: fragments after the PTX ISA's figures for mma.m16n8k16 and
// ldmatrix, groups after its text on cp.async.
#include <cstring>
#include <vector>

#include <device_executor/tensor.h>

#include "tests/device_executor/grid.h"

namespace device_executor {
namespace {

constexpr unsigned kRows = 16, kColumns = 8, kInner = 16;
constexpr std::size_t kCopyBytes = 16;

template <typename T>
const T& brought_by(const std::array<std::uint64_t, kLanes>& brought, unsigned lane) {
  return *reinterpret_cast<const T*>(brought[lane]);
}

double half_of(std::uint32_t pair, unsigned which, const NarrowFormat& format) {
  return narrow_value(pair >> 16 * which & 0xffffU, format);
}

// A(row, k): in which lane and register, and in which half of that.
double element_of_a(const std::array<std::uint64_t, kLanes>& brought, unsigned row, unsigned k) {
  const auto& from = brought_by<Fragments>(brought, row % 8 * 4 + k % 8 / 2);
  return half_of(from.a[row / 8 + k / 8 * 2], k % 2, *from.format);
}
double element_of_b(const std::array<std::uint64_t, kLanes>& brought, unsigned k, unsigned column) {
  const auto& from = brought_by<Fragments>(brought, column * 4 + k % 8 / 2);
  return half_of(from.b[k / 8], k % 2, *from.format);
}

// D may be C's own registers, so all is read before any is written.
void multiply(const std::array<std::uint64_t, kLanes>& brought) {
  std::array<std::array<double, kInner>, kRows> a = {};
  std::array<std::array<double, kColumns>, kInner> b = {};
  for (unsigned k = 0; k < kInner; ++k) {
    for (unsigned row = 0; row < kRows; ++row) a[row][k] = element_of_a(brought, row, k);
    for (unsigned column = 0; column < kColumns; ++column)
      b[k][column] = element_of_b(brought, k, column);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto& mine = brought_by<Fragments>(brought, lane);
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      double sum = mine.c[i];
      for (unsigned k = 0; k < kInner; ++k) sum += a[row][k] * b[k][column];
      mine.d[i] = static_cast<float>(sum);
    }
  }
}

std::uint32_t number_of(const MatrixRow& row, unsigned column) {
  return row.words[column / 2] >> 16 * (column % 2) & 0xffffU;
}

void load(const std::array<std::uint64_t, kLanes>& brought) {
  const bool transposed = brought_by<MatrixRow>(brought, 0).transposed;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      const auto number = [&](unsigned i) {
        const unsigned row = transposed ? lane % 4 * 2 + i : lane / 4;
        const unsigned column = transposed ? lane / 4 : lane % 4 * 2 + i;
        return number_of(brought_by<MatrixRow>(brought, matrix * 8 + row), column);
      };
      brought_by<MatrixRow>(brought, lane).to[matrix] = number(0) | number(1) << 16;
    }
  }
}

}  // namespace

void give_matrices(Meeting kind, const std::array<std::uint64_t, kLanes>& brought) {
  if (kind == Meeting::multiply)
    multiply(brought);
  else
    load(brought);
}

void Grid::require_16_bytes(const void* address, bool shared, const char* what, Site site) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at % kCopyBytes != 0)
    fail([&] {
      return "gives " + std::string(what) + " at line " + std::to_string(site.line) +
             " an address that is not aligned to 16 bytes";
    });
  if (!shared) return;
  for (const SharedVariable& variable : shared_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(variable.memory);
    if (at >= begin && at + kCopyBytes <= begin + variable.bytes) return;
  }
  fail([&] {
    return "gives " + std::string(what) + " at line " + std::to_string(site.line) +
           " an address that is not of 16 bytes of shared memory";
  });
}

void Grid::copy_begin(void* to_shared, const void* from, Site site) {
  require_16_bytes(to_shared, true, "an asynchronous copy", site);
  require_16_bytes(from, false, "an asynchronous copy", site);
  const auto to = reinterpret_cast<std::uintptr_t>(to_shared);
  if (settings_.checked) {
    access(reinterpret_cast<std::uintptr_t>(from), kCopyBytes, false);
    access(to, kCopyBytes, true);
    Region& region = *region_of(to);
    for (std::size_t i = 0; i < kCopyBytes; ++i) region.uses[to - region.begin + i].arriving = true;
  }
  // Who reads too early gets neither the old bytes nor the new ones.
  std::memset(to_shared, static_cast<int>(draws_.below(255) + 1), kCopyBytes);
  if (copies_.empty()) copies_.resize(threads_of_block_);
  ThreadCopies& mine = copies_[running_];
  mine.pending.push_back({to_shared, from, mine.group});
  ++pending_copies_;
}

void Grid::copies_commit() {
  if (copies_.empty()) copies_.resize(threads_of_block_);
  ++copies_[running_].group;
}

void Grid::copies_wait(unsigned left) {
  if (copies_.empty()) return;
  ThreadCopies& mine = copies_[running_];
  // The open group is never done; of the closed ones the newest may be left.
  const unsigned done = mine.group > left ? mine.group - left : 0;
  for (const PendingCopy& copy : mine.pending) {
    if (copy.group >= done) continue;
    const auto to = reinterpret_cast<std::uintptr_t>(copy.to);
    if (settings_.checked) {
      Region& region = *region_of(to);
      for (std::size_t i = 0; i < kCopyBytes; ++i)
        region.uses[to - region.begin + i].arriving = false;
      access(to, kCopyBytes, true);
    }
    std::memcpy(copy.to, copy.from, kCopyBytes);
    --pending_copies_;
  }
  std::erase_if(mine.pending, [&](const PendingCopy& copy) { return copy.group < done; });
}

// ---- What tensor.h calls. ----

void multiply_matrices(const Fragments& mine, Site site) {
  const OutsideKernel outside;
  running_grid->meet_warp(Meeting::multiply, ~0U, reinterpret_cast<std::uint64_t>(&mine), 0, site);
}
void load_matrices(const MatrixRow& mine, Site site) {
  const OutsideKernel outside;
  running_grid->meet_warp(Meeting::load_matrices, ~0U, reinterpret_cast<std::uint64_t>(&mine), 0,
                          site);
}
void require_16_bytes(const void* address, bool shared, const char* what, Site site) {
  const OutsideKernel outside;
  running_grid->require_16_bytes(address, shared, what, site);
}
void copy_begin(void* to_shared, const void* from, Site site) {
  const OutsideKernel outside;
  running_grid->copy_begin(to_shared, from, site);
}
void copies_commit() {
  const OutsideKernel outside;
  running_grid->copies_commit();
}
void copies_wait(unsigned left) {
  const OutsideKernel outside;
  running_grid->copies_wait(left);
}

}  // namespace device_executor
