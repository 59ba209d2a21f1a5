#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "bench/collectives/kv/options.h"
#include "bench/collectives/kv/page_data.h"
#include "bench/collectives/kv/session.h"

using namespace cb;
using namespace cb::kv;

namespace {

// 3 layers of 4 pages of 64 bytes.
CacheShape tiny_cache() {
  return {
      .layers = 3, .kv_heads = 1, .head_dim = 8, .element_bytes = 2, .page_tokens = 2, .tokens = 8};
}

const BlockTable kScattered{2, 0, 3, 1};

// A pool that holds what transfer 7 of pair 1 should have brought.
struct Arrived {
  PageData data{tiny_cache(), 1, 5};
  std::vector<std::byte> memory =
      std::vector<std::byte>(static_cast<size_t>(PagePool::memory_bytes(tiny_cache(), 0)));
  PagePool pool{memory, data};

  Arrived() { pool.fill(kScattered, 7); }
  std::string wrong() {
    const auto found = pool.verify(kScattered, 7);
    return found ? std::to_string(found->count) + ": " + found->text.text() : "";
  }
};

}  // namespace

TEST_CASE("kv transfer: the hash of a page is known without the page") {
  const PageData data(tiny_cache(), 1, 5);
  std::vector<std::byte> page(64);
  data.write({2, 3}, 9, page.data());
  CHECK(PageData::hash(page.data(), 64) == data.expected_hash({2, 3}, 9));
  CHECK(data.expected_hash({2, 3}, 9) != data.expected_hash({2, 3}, 8));
  CHECK(data.expected_hash({2, 3}, 9) != data.expected_hash({2, 2}, 9));
  CHECK(data.expected_hash({2, 3}, 9) != PageData(tiny_cache(), 0, 5).expected_hash({2, 3}, 9));
  CHECK(data.expected_hash({2, 3}, 9) != PageData(tiny_cache(), 1, 6).expected_hash({2, 3}, 9));
}

TEST_CASE("kv transfer: every single bit of a page counts") {
  const PageData data(tiny_cache(), 1, 5);
  std::vector<std::byte> page(64);
  data.write({0, 0}, 1, page.data());
  for (size_t bit = 0; bit < 64 * 8; ++bit) {
    page[bit / 8] ^= std::byte{1} << (bit % 8);
    CHECK(PageData::hash(page.data(), 64) != data.expected_hash({0, 0}, 1));
    page[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST_CASE("kv transfer: what came right is right, and of this transfer alone") {
  Arrived here;
  CHECK(here.wrong() == "");
  CHECK(here.pool.verify(kScattered, 8)->count == 12);
  CHECK(here.pool.verify(kScattered, 8)->text.text() ==
        "layer 0, page 0: it is of transfer 7, expected 8");
  here.pool.label(kScattered, 8);
  CHECK(!here.pool.verify(kScattered, 8));
}

TEST_CASE("kv transfer: each fault is named with its layer and page") {
  Arrived here;
  SUBCASE("a flipped bit") {
    here.pool.flip({1, 2}, kScattered);
    CHECK(here.wrong().starts_with("1: layer 1, page 2: byte 32 of 64: got 0x"));
  }
  SUBCASE("a page that did not come") {
    here.pool.drop({2, 1}, kScattered);
    CHECK(here.wrong() == "1: layer 2, page 1: it did not come");
  }
  SUBCASE("two pages in each other's place") {
    here.pool.swap({1, 0}, {1, 3}, kScattered);
    CHECK(here.wrong() == "2: layer 1, page 0: layer 1, page 3 came in its place");
  }
  SUBCASE("a page twice, another not") {
    here.pool.repeat({0, 1}, {2, 3}, kScattered);
    CHECK(here.wrong() == "1: layer 2, page 3: layer 0, page 1 came in its place");
  }
  SUBCASE("half of a page") {
    std::memset(here.pool.block({0, 2}, kScattered) + 40, PageData::kPoison, 24);
    CHECK(here.wrong().starts_with("1: layer 0, page 2: byte 40 of 64: got 0x5a, expected 0x"));
  }
  SUBCASE("another pair's page") {
    PageData(tiny_cache(), 0, 5).write({0, 0}, 7, here.pool.block({0, 0}, kScattered));
    CHECK(here.wrong().starts_with("1: layer 0, page 0: byte 0 of 64: got 0x00, expected 0x01"));
  }
  SUBCASE("a byte before the pool") {
    here.memory[PagePool::kGuardBytes - 1] = std::byte{0};
    CHECK(here.wrong() == "1: memory beside the buffer was overwritten");
  }
  SUBCASE("a byte behind the pool") {
    here.memory[here.memory.size() - PagePool::kGuardBytes] = std::byte{0};
    CHECK(here.wrong() == "1: memory beside the buffer was overwritten");
  }
  SUBCASE("nothing came at all") {
    here.pool.poison();
    CHECK(here.wrong() == "12: layer 0, page 0: it did not come");
  }
}

TEST_CASE("kv transfer: both ends derive the same two tables, and each pair its own") {
  KvPoint point{.shape = tiny_cache(), .seed = 3};
  point.shape.tokens = 2000;
  const Tables one = tables_of(point, 0), again = tables_of(point, 0), other = tables_of(point, 1);
  CHECK(one.from == again.from);
  CHECK(one.to == again.to);
  CHECK(one.from != one.to);
  CHECK(one.from != other.from);
  CHECK(one.to != other.from);
  point.scatter = false;
  CHECK(tables_of(point, 1).to == blocks_in_order(1000));
}

TEST_CASE("kv transfer: what a packed message leaves out is not taken from the transfer before") {
  KvPoint point{.shape = tiny_cache(), .pack = true};
  point.shape.layers = 1;
  const PageData data(point.shape, 1, 5);
  const Tables tables = tables_of(point, 1);
  const LayerPlan layer = plan_of(point, tables).layers.at(0);
  std::vector<std::byte> here(static_cast<size_t>(memory_of_end(point))), there(here.size());
  PagePool source(here, data), target(there, data);
  source.fill(tables.from, 0);
  const auto copy = [](const std::vector<std::byte>& a, std::vector<std::byte>& b, const Piece& p) {
    std::memcpy(b.data() + PagePool::kGuardBytes + p.to, a.data() + PagePool::kGuardBytes + p.from,
                p.bytes);
  };
  // Bytes [100, 100 + lost) do not come: of page 1, behind its label.
  const auto transfer = [&](uint64_t number, uint64_t lost) {
    source.label(tables.from, number);
    target.poison();
    for (const Piece& p : layer.gather) copy(here, here, p);
    const Piece& m = layer.messages.at(0);
    copy(here, there, {m.from, m.to, 100});
    copy(here, there, {m.from + 100 + lost, m.to + 100 + lost, m.bytes - 100 - lost});
    for (const Piece& p : layer.scatter) copy(there, there, p);
    const auto wrong = target.verify(tables.to, number);
    return wrong ? std::to_string(wrong->count) + ": " + wrong->text.text() : "";
  };
  CHECK(transfer(1, 0) == "");
  CHECK(transfer(2, 0) == "");
  CHECK(transfer(3, 20).starts_with("1: layer 0, page 1: byte 36 of 64: got 0x5a, expected 0x"));
  there[there.size() - PagePool::kGuardBytes] = std::byte{0};  // behind the staging buffers
  CHECK(transfer(4, 0) == "1: memory beside the buffer was overwritten");
}

TEST_CASE("kv transfer: an end's memory is its pool, its guard zones, and staging only to pack") {
  KvPoint point{.shape = tiny_cache()};
  CHECK(memory_of_end(point) == 3 * 4 * 64 + 2 * 4096);
  point.pack = true;
  CHECK(memory_of_end(point) == 3 * 4 * 64 + 3 * 4096 + 2 * 4 * 64);
}

TEST_CASE("kv transfer: packed and joined messages are cut at what the ports take") {
  KvPoint point{.shape = tiny_cache(), .scatter = false, .pack = true, .most_of_message = 128};
  const Tables tables = tables_of(point, 0);
  CHECK(plan_of(point, tables).messages() == 3 * 2);
  point.most_of_message = 256;
  CHECK(plan_of(point, tables).messages() == 3);
  point.pack = false;
  point.join = true;
  CHECK(plan_of(point, tables).messages() == 3);
  point.most_of_message = 128;
  CHECK(plan_of(point, tables).messages() == 3 * 2);
}

TEST_CASE("kv transfer: faults as they are written") {
  CHECK(parse_page_fault("3")->kind == PageFaultKind::bitflip);
  CHECK(parse_page_fault("3")->rank == 3);
  CHECK(parse_page_fault("3")->layer == 0);
  CHECK(parse_page_fault("swap@1:7")->kind == PageFaultKind::swap);
  CHECK(parse_page_fault("swap@1:7")->layer == 7);
  CHECK(parse_page_fault("drop@0")->kind == PageFaultKind::drop);
  CHECK(parse_page_fault("twice@0:0")->kind == PageFaultKind::twice);
  for (const char* wrong : {"", "page@1", "swap", "swap@", "swap@-1", "swap@1:", "swap@1:x", "1:-2",
                            "@1", "99999999999"})
    CHECK(!parse_page_fault(wrong));
}
