#include "bench/collectives/kv/page_data.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernels/hash.h"
#include "model/counter_random.h"

namespace cb::kv {
namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);
constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr std::byte kZone{0xd7};

uint64_t word_at(const std::byte* from, size_t index) {
  uint64_t out = 0;
  std::memcpy(&out, from + index * kWordBytes, kWordBytes);
  return out;
}

// Of words [first, last) of a page.
uint64_t hash_of_words(const std::byte* page, size_t first, size_t last) {
  uint64_t sum = 0;
  for (size_t i = first; i < last; ++i) sum += kernels::hash_word(word_at(page, i), i);
  return sum;
}

bool all_are(std::span<const std::byte> bytes, std::byte value) {
  return std::ranges::all_of(bytes, [value](std::byte b) { return b == value; });
}

}  // namespace

struct PageData::Label {
  static constexpr size_t kWords = 3;
  uint32_t pair = 0, layer = 0;
  uint64_t page = 0, transfer = 0;
};

bool PageData::takes(int64_t page_bytes) {
  return page_bytes >= kLeastBytes && page_bytes <= kMostBytes &&
         page_bytes % static_cast<int64_t>(kWordBytes) == 0;
}

PageData::PageData(const CacheShape& shape, int pair, uint64_t seed)
    : shape_(shape), pair_(pair), seed_(seed) {
  hashes_.resize(static_cast<size_t>(shape.layers * shape.pages()));
  const size_t words = page_bytes() / kWordBytes;
  for (size_t at = 0; at < hashes_.size(); ++at) {
    const uint64_t own = seed_of(id_of(at));
    uint64_t sum = 0;
    for (size_t i = Label::kWords; i < words; ++i)
      sum += kernels::hash_word(kernels::pattern_word(i, own), i);
    hashes_[at] = sum;
  }
}

PageId PageData::id_of(size_t index) const {
  const auto at = static_cast<int64_t>(index);
  return {at / shape_.pages(), at % shape_.pages()};
}

uint64_t PageData::seed_of(const PageId& id) const {
  return mixed(mixed(mixed(seed_) + static_cast<uint64_t>(pair_)) + index(id));
}

PageData::Label PageData::label_of(const PageId& id, uint64_t transfer) const {
  return {static_cast<uint32_t>(pair_), static_cast<uint32_t>(id.layer),
          static_cast<uint64_t>(id.page), transfer};
}

void PageData::write_label(const PageId& id, uint64_t transfer, std::byte* to) const {
  const Label label = label_of(id, transfer);
  static_assert(sizeof label == Label::kWords * kWordBytes);
  std::memcpy(to, &label, sizeof label);
}

void PageData::write(const PageId& id, uint64_t transfer, std::byte* to) const {
  write_label(id, transfer, to);
  const uint64_t own = seed_of(id);
  for (size_t i = Label::kWords; i < page_bytes() / kWordBytes; ++i) {
    const uint64_t word = kernels::pattern_word(i, own);
    std::memcpy(to + i * kWordBytes, &word, kWordBytes);
  }
}

uint64_t PageData::expected_hash(const PageId& id, uint64_t transfer) const {
  std::byte label[sizeof(Label)];
  write_label(id, transfer, label);
  return hashes_[index(id)] + hash_of_words(label, 0, Label::kWords);
}

uint64_t PageData::hash(const std::byte* page, size_t bytes) {
  return hash_of_words(page, 0, bytes / kWordBytes);
}

Said PageData::first_difference(const PageId& expected, uint64_t transfer,
                                const std::byte* page) const {
  std::vector<std::byte> right(page_bytes());
  write(expected, transfer, right.data());
  const auto at =
      static_cast<size_t>(std::mismatch(right.begin(), right.end(), page).first - right.begin());
  if (at == right.size()) return said("kv.changes");
  const auto hex = [](std::byte b) { return fmt::format("0x{:02x}", static_cast<unsigned>(b)); };
  return said("kv.wrong_byte", at, right.size(), said("coll.got", hex(page[at]), hex(right[at])));
}

Said PageData::difference(const PageId& expected, uint64_t transfer, const std::byte* page) const {
  if (all_are({page, page_bytes()}, std::byte{kPoison})) return said("kv.missing");
  Label told;
  std::memcpy(&told, page, sizeof told);
  const PageId id{told.layer, static_cast<int64_t>(told.page)};
  const bool known = told.pair == static_cast<uint32_t>(pair_) && id.layer < shape_.layers &&
                     id.page >= 0 && id.page < shape_.pages();
  if (known && hash(page, page_bytes()) == expected_hash(id, told.transfer)) {
    if (id == expected) return said("kv.stale", told.transfer, transfer);
    return said("kv.misplaced", id.layer, id.page);
  }
  return first_difference(expected, transfer, page);
}

PagePool::PagePool(std::span<std::byte> memory, const PageData& data)
    : blocks_(memory.subspan(kGuardBytes, static_cast<size_t>(data.shape().bytes()))), data_(data) {
  const size_t pool = memory_bytes(data.shape(), 0);
  zones_ = {memory.first(kGuardBytes), memory.subspan(pool - kGuardBytes, kGuardBytes)};
  if (memory.size() > pool) {
    staging_ = memory.subspan(pool, memory.size() - pool - kGuardBytes);
    zones_.push_back(memory.last(kGuardBytes));
  }
  for (const std::span<std::byte> zone : zones_) std::ranges::fill(zone, kZone);
}

bool PagePool::guards_intact() const {
  return std::ranges::all_of(zones_,
                             [](std::span<const std::byte> zone) { return all_are(zone, kZone); });
}

std::byte* PagePool::block(const PageId& id, const BlockTable& table) {
  const PageId place{id.layer, table[static_cast<size_t>(id.page)]};
  return blocks_.data() + data_.index(place) * data_.page_bytes();
}

void PagePool::fill(const BlockTable& table, uint64_t transfer) {
  const auto pages = static_cast<size_t>(data_.shape().layers) * table.size();
  for (size_t at = 0; at < pages; ++at) {
    const PageId id = data_.id_of(at);
    data_.write(id, transfer, block(id, table));
  }
}

void PagePool::label(const BlockTable& table, uint64_t transfer) {
  const auto pages = static_cast<size_t>(data_.shape().layers) * table.size();
  for (size_t at = 0; at < pages; ++at) {
    const PageId id = data_.id_of(at);
    data_.write_label(id, transfer, block(id, table));
  }
}

void PagePool::poison() {
  for (const std::span<std::byte> part : {blocks_, staging_}) {
    if (!part.empty()) std::memset(part.data(), PageData::kPoison, part.size());
  }
}

Said PagePool::explain(const PageId& id, const BlockTable& table, uint64_t transfer) {
  return said("kv.page", id.layer, id.page, data_.difference(id, transfer, block(id, table)));
}

std::optional<WrongPages> PagePool::verify(const BlockTable& table, uint64_t transfer) {
  if (!guards_intact()) return WrongPages{1, said("coll.beside")};
  std::optional<WrongPages> wrong;
  const auto pages = static_cast<size_t>(data_.shape().layers) * table.size();
  for (size_t at = 0; at < pages; ++at) {
    const PageId id = data_.id_of(at);
    if (PageData::hash(block(id, table), data_.page_bytes()) == data_.expected_hash(id, transfer))
      continue;
    if (!wrong) wrong = WrongPages{0, explain(id, table, transfer)};
    ++wrong->count;
  }
  return wrong;
}

void PagePool::flip(const PageId& id, const BlockTable& table) {
  block(id, table)[data_.page_bytes() / 2] ^= std::byte{0x10};
}

void PagePool::drop(const PageId& id, const BlockTable& table) {
  std::memset(block(id, table), PageData::kPoison, data_.page_bytes());
}

void PagePool::swap(const PageId& id, const PageId& with, const BlockTable& table) {
  std::byte* const one = block(id, table);
  std::swap_ranges(one, one + data_.page_bytes(), block(with, table));
}

void PagePool::repeat(const PageId& id, const PageId& in_place_of, const BlockTable& table) {
  std::memcpy(block(in_place_of, table), block(id, table), data_.page_bytes());
}

}  // namespace cb::kv
