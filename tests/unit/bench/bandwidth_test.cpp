#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "bench/cpu/pointer_chase.h"
#include "bench/cpu/stream_phase.h"
#include "bench/cpu/stream_team.h"
#include "bench/cpu/sweep.h"

using namespace cb;

namespace {

constexpr StreamOp kOps[] = {StreamOp::copy, StreamOp::scale, StreamOp::add, StreamOp::triad};

struct Arrays {
  explicit Arrays(size_t n)
      : a(make_pages<double>(n)), b(make_pages<double>(n)), c(make_pages<double>(n)) {
    for (size_t i = 0; i < n; ++i) {
      a[i] = 1;
      b[i] = 2;
      c[i] = 0;
    }
    view = {a.get(), b.get(), c.get(), n};
  }
  Pages<double> a, b, c;
  StreamArrays view;
};

}  // namespace

TEST_CASE("STREAM counts 16 bytes for copy and scale, 24 for add and triad") {
  CHECK(stream_bytes_per_element(StreamOp::copy) == 16);
  CHECK(stream_bytes_per_element(StreamOp::scale) == 16);
  CHECK(stream_bytes_per_element(StreamOp::add) == 24);
  CHECK(stream_bytes_per_element(StreamOp::triad) == 24);
}

TEST_CASE("the four kernels in turn: copy, scale, add, triad") {
  StreamValues v;
  for (const StreamOp op : kOps) apply(op, v);
  CHECK(v.c == 4);   // 1 + 3·1
  CHECK(v.b == 3);   // 3·1
  CHECK(v.a == 15);  // 3 + 3·4
}

TEST_CASE("every variant computes every kernel, also for lengths that are no whole vector") {
  for (const StreamVariant& variant : stream_variants()) {
    if (!variant.supported()) continue;
    CAPTURE(variant.name);
    CAPTURE(variant.isa);
    for (const size_t n : {size_t{1}, size_t{7}, size_t{8}, size_t{1003}}) {
      Arrays x(n);
      StreamValues expected;
      for (int pass = 0; pass < 3; ++pass) {
        for (const StreamOp op : kOps) {
          variant.run(op, x.view);
          apply(op, expected);
          CHECK(verify(x.view, expected).wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("verification catches one wrong element, and not one within 1e-13") {
  Arrays x(1000);
  const StreamValues expected;
  CHECK(verify(x.view, expected).wrong == 0);
  x.b[777] = 2 * (1 + 0.9e-13);
  CHECK(verify(x.view, expected).wrong == 0);
  x.b[777] = 2 * (1 + 1.1e-13);
  StreamErrors found = verify(x.view, expected);
  CHECK(found.wrong == 1);
  CHECK(found.array == 'b');
  CHECK(found.first == 777);
  x.b[777] = 2;
  x.c[999] = std::nan("");
  found = verify(x.view, expected);
  CHECK(found.wrong == 1);
  CHECK(found.array == 'c');
  CHECK(std::isinf(found.largest_relative_error));
}

TEST_CASE("a team runs the kernels on all of the arrays and knows what they must hold") {
  const int cpu = allowed_cpus()[0];
  StreamTeam team({cpu, cpu, cpu}, 1001);
  CHECK(team.elements() == 1008);  // whole cache lines
  const StreamVariant& variant = team.fastest(StreamOp::triad, "regular");
  CHECK(std::string(variant.name) == "regular");
  team.reset();
  for (int pass = 0; pass < 20; ++pass) {
    for (const StreamOp op : kOps) CHECK(team.pass(op, variant) > 0);
  }
  CHECK(team.verify_all().wrong == 0);
}

TEST_CASE("ranks that run together: all bytes over the slowest one's time, pass by pass") {
  StreamShare fast{.host = "h"}, slow{.host = "h"};
  fast.elements = slow.elements = 1000;
  fast.seconds[StreamOp::triad] = {1e-6, 2e-6};
  slow.seconds[StreamOp::triad] = {4e-6, 1e-6};
  const auto together = combined_bandwidth({&fast, &slow}, StreamOp::triad);
  REQUIRE(together.size() == 2);
  CHECK(together[0] == doctest::Approx(48000 / 4e-6));
  CHECK(together[1] == doctest::Approx(48000 / 2e-6));
}

TEST_CASE("the ceiling is the fastest pass of all, reading alone included") {
  StreamShare share{.host = "h", .read_seconds = {3e-6, 1e-6}};
  share.elements = 1000;
  share.seconds[StreamOp::triad] = {4e-6, 2e-6};
  CHECK(fastest_bandwidth({&share}, {StreamOp::triad}) == doctest::Approx(24000 / 1e-6));
  share.read_seconds = {5e-6};
  CHECK(fastest_bandwidth({&share}, {StreamOp::triad}) == doctest::Approx(24000 / 2e-6));
}

TEST_CASE("reading takes every element of the three arrays once") {
  std::vector<double> a(1003, 1), b(1003, 2), c(1003, 4);
  CHECK(read_arrays({a.data(), b.data(), c.data(), a.size()}) == 7 * 1003);
  a[1002] = 11;
  CHECK(read_arrays({a.data(), b.data(), c.data(), a.size()}) == 7 * 1003 + 10);
}

TEST_CASE("the random permutation is one cycle, and another for another seed") {
  for (const uint32_t n : {2u, 3u, 64u, 10007u}) {
    const auto next = random_cycle(n, 1);
    std::set<uint32_t> seen;
    uint32_t at = 0;
    do {
      seen.insert(at);
      at = next[at];
    } while (at != 0);
    CHECK(seen.size() == n);
  }
  CHECK(random_cycle(uint32_t{1000}, 1) != random_cycle(uint32_t{1000}, 2));
}

TEST_CASE("a chase visits every line of its working set") {
  PointerChase chase(1 << 20, 5);
  CHECK(chase.lines() == (1 << 20) / 64);
  CHECK(chase.cycle_length() == chase.lines());
  CHECK(chase.run(1 << 12) > 0);
}

TEST_CASE("sizes of a sweep grow by the factor and end at the last") {
  CHECK(geometric_sizes(4096, 65536, 4) == std::vector<int64_t>{4096, 16384, 65536});
  CHECK(geometric_sizes(4096, 65535, 4) == std::vector<int64_t>{4096, 16384});
  CHECK(geometric_sizes(2, 5, 1.3) == std::vector<int64_t>{2, 3, 4});
  Params p;
  p.set("size", int64_t{512});
  CHECK(sizes_of(p, 1, 2) == std::vector<int64_t>{512});
  p.set("step-factor", 2.0);
  p.set("max-size", int64_t{1024});
  CHECK(sizes_of(p, 256, 4096) == std::vector<int64_t>{256, 512, 1024});
  p.set("min-size", int64_t{2048});
  CHECK_THROWS_AS(sizes_of(p, 256, 4096), UsageError);
}

TEST_CASE("threads divide items without gap or overlap, at whole cache lines") {
  size_t at = 0;
  for (int i = 0; i < 3; ++i) {
    const Range r = share_of_items(1003, 3, i, 8);
    CHECK(r.begin == at);
    CHECK(r.begin % 8 == 0);
    at = r.end;
  }
  CHECK(at == 1003);
}
