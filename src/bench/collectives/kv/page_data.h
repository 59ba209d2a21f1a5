#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/messages/said.h"
#include "model/kv_transfer.h"

namespace cb::kv {

struct PageId {
  int64_t layer = 0;
  int64_t page = 0;
  bool operator==(const PageId&) const = default;
};

// What a pair's pages hold. A page begins with a label: pair, layer, page and the number of the
// transfer. Pseudo-random words of its own follow, the same in every transfer. The hash of a page
// is a sum over its words, so that of the words that stay is computed once.
class PageData {
 public:
  static constexpr int64_t kLeastBytes = 32;
  // Not in any page in this order.
  static constexpr uint8_t kPoison = 0x5a;

  static bool takes(int64_t page_bytes);

  PageData(const CacheShape& shape, int pair, uint64_t seed);

  const CacheShape& shape() const { return shape_; }
  size_t page_bytes() const { return static_cast<size_t>(shape_.page_bytes()); }
  // The place of a page among all of the pool, as if blocks were in order.
  size_t index(const PageId& id) const {
    return static_cast<size_t>(id.layer * shape_.pages() + id.page);
  }
  PageId id_of(size_t index) const;

  void write(const PageId& id, uint64_t transfer, std::byte* to) const;
  void write_label(const PageId& id, uint64_t transfer, std::byte* to) const;
  // By the formula alone; no memory that was transferred is looked at.
  uint64_t expected_hash(const PageId& id, uint64_t transfer) const;
  static uint64_t hash(const std::byte* page, size_t bytes);

  // What is wrong with a page whose hash is not the expected one.
  Said difference(const PageId& expected, uint64_t transfer, const std::byte* page) const;

 private:
  struct Label;
  Label label_of(const PageId& id, uint64_t transfer) const;
  uint64_t seed_of(const PageId& id) const;
  Said first_difference(const PageId& expected, uint64_t transfer, const std::byte* page) const;

  CacheShape shape_;
  int pair_;
  uint64_t seed_;
  std::vector<uint64_t> hashes_;  // of the words behind the label, by index
};

// Pages that are wrong: how many, and what about the first.
struct WrongPages {
  int64_t count = 0;
  Said text;
};

// The pool of one end: blocks of all layers between two guard zones, in memory of somebody else.
// Staging buffers may follow, with a guard zone behind them.
class PagePool {
 public:
  static constexpr uint64_t kGuardBytes = 4096;
  static uint64_t memory_bytes(const CacheShape& shape, uint64_t staging) {
    const uint64_t pool = static_cast<uint64_t>(shape.bytes()) + 2 * kGuardBytes;
    return staging > 0 ? pool + staging + kGuardBytes : pool;
  }

  // `memory` begins with a guard zone and has memory_bytes(); `data` must outlive the pool.
  PagePool(std::span<std::byte> memory, const PageData& data);

  std::byte* block(const PageId& id, const BlockTable& table);
  // The sender's part: all pages, and then their labels alone.
  void fill(const BlockTable& table, uint64_t transfer);
  void label(const BlockTable& table, uint64_t transfer);
  // The receiver's part: whatever may come is overwritten before.
  void poison();

  std::optional<WrongPages> verify(const BlockTable& table, uint64_t transfer);

  // Faults, each at one page.
  void flip(const PageId& id, const BlockTable& table);
  void drop(const PageId& id, const BlockTable& table);
  void swap(const PageId& id, const PageId& with, const BlockTable& table);
  void repeat(const PageId& id, const PageId& in_place_of, const BlockTable& table);

 private:
  bool guards_intact() const;
  Said explain(const PageId& id, const BlockTable& table, uint64_t transfer);

  std::span<std::byte> blocks_, staging_;
  std::vector<std::span<std::byte>> zones_;
  const PageData& data_;
};

}  // namespace cb::kv
