// Who has a slow link, by the rates of a ring.
#include <doctest/doctest.h>

#include <vector>

#include "model/training/host_links.h"

using namespace cb::training;

namespace {

using Rates = std::vector<double>;

std::vector<LinkShare> shares_of(const Rates& to_next, const Rates& to_previous) {
  return link_shares(host_links(to_next, to_previous));
}

}  // namespace

TEST_CASE("a host that sends slowly has two slow links, its neighbours one") {
  const auto shares = shares_of({100, 100, 20, 90}, {100, 110, 20, 100});
  CHECK(shares[2].send == doctest::Approx(0.2));
  CHECK(shares[2].receive == doctest::Approx(1.0));
  for (const size_t other : {0U, 1U, 3U}) {
    CHECK(shares[other].send >= 0.9);
    CHECK(shares[other].receive >= 0.9);
  }
}

TEST_CASE("a host that receives slowly is told from its neighbours that send to it") {
  const auto shares = shares_of({20, 100, 100, 100}, {100, 100, 20, 100});
  CHECK(shares[1].receive == doctest::Approx(0.2));
  CHECK(shares[1].send == doctest::Approx(1.0));
  CHECK(shares[0].send == doctest::Approx(1.0));
  CHECK(shares[2].send == doctest::Approx(1.0));
}

TEST_CASE("one slow link between two good hosts accuses neither") {
  for (const LinkShare& one : shares_of({100, 20, 100, 100}, {100, 100, 20, 100})) {
    CHECK(one.send == doctest::Approx(1.0));
    CHECK(one.receive == doctest::Approx(1.0));
  }
}

TEST_CASE("of two hosts the sender and the receiver of a slow link are named") {
  const auto shares = shares_of({20, 100}, {20, 100});
  CHECK(shares[0].send == doctest::Approx(0.2));
  CHECK(shares[0].receive == doctest::Approx(1.0));
  CHECK(shares[1].send == doctest::Approx(1.0));
  CHECK(shares[1].receive == doctest::Approx(0.2));
}

TEST_CASE("no host and links of no rate name nobody") {
  CHECK(link_shares({}).empty());
  for (const LinkShare& one : shares_of({0, 0, 0}, {0, 0, 0})) CHECK(one.send == 1);
}
