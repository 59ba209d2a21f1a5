#include "model/collective_ceiling.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("between hosts: the published factors for 8 GPUs a host with 8 ports of 400 Gb/s") {
  using enum CollectiveAlgorithm;
  const double port = 50e9, host = 8 * port;
  const auto bound = [&](Collective c, CollectiveAlgorithm a, uint64_t n, uint64_t k) {
    return network_bus_ceiling(c, a, n, k, host).value();
  };
  CHECK(bound(Collective::all_reduce, ring, 16, 2) == host);
  // 1.88 times with 2 hosts, 1.29 with 4, 1.13 with 8.
  CHECK(bound(Collective::all_reduce, hierarchical, 16, 2) / host == doctest::Approx(1.875));
  CHECK(bound(Collective::all_reduce, hierarchical, 32, 4) / host ==
        doctest::Approx(1.2917).epsilon(1e-4));
  CHECK(bound(Collective::all_reduce, hierarchical, 64, 8) / host == doctest::Approx(1.125));
  // alltoall: 93.75 GB/s with 2 hosts, 64.6 with 4, one port's 50 with many.
  CHECK(bound(Collective::alltoall, ring, 16, 2) == doctest::Approx(93.75e9));
  CHECK(bound(Collective::alltoall, ring, 32, 4) == doctest::Approx(64.58e9).epsilon(1e-3));
  CHECK(bound(Collective::alltoall, ring, 8192, 1024) == doctest::Approx(50e9).epsilon(2e-3));
  CHECK(bound(Collective::broadcast, ring, 16, 2) == host);
  CHECK(bound(Collective::pair_one_way, ring, 16, 2) == port);
  CHECK(bound(Collective::gather, ring, 16, 2) == doctest::Approx(host * 15 / 8));
  CHECK_FALSE(network_bus_ceiling(Collective::pair_one_way, ring, 24, 3, host).has_value());
  CHECK_FALSE(network_bus_ceiling(Collective::all_reduce, ring, 8, 1, host).has_value());
  CHECK_FALSE(network_bus_ceiling(Collective::all_reduce, ring, 9, 2, host).has_value());
}

// What crosses the network of a host is never more than its ports carry, whatever the shape: the
// bytes of the schedules themselves, counted one by one.
TEST_CASE("alltoall's and all_reduce's bounds follow from the bytes that cross") {
  for (const uint64_t hosts : {2, 3, 7, 128}) {
    for (const uint64_t gpus : {1, 2, 8}) {
      const uint64_t n = hosts * gpus;
      const double rate = 400e9, bytes = 1e9;
      // Each rank of a host sends a block of bytes/n to every rank of another host.
      const double out = static_cast<double>(gpus * (n - gpus)) * bytes / static_cast<double>(n);
      const double seconds = out / rate;
      const double bus = bytes / seconds * bus_factor(Collective::alltoall, n);
      CHECK(network_bus_ceiling(Collective::alltoall, CollectiveAlgorithm::any, n, hosts, rate)
                .value() == doctest::Approx(bus));
      // Reduced inside the hosts first, a ring of the hosts moves 2(k-1)/k of the data.
      const double k = static_cast<double>(hosts);
      const double through = 2 * (k - 1) / k * bytes / rate;
      CHECK(network_bus_ceiling(Collective::all_reduce, CollectiveAlgorithm::hierarchical, n, hosts,
                                rate)
                .value() ==
            doctest::Approx(bytes / through * bus_factor(Collective::all_reduce, n)));
    }
  }
}

TEST_CASE("inside a host: NVLS counts more than a wire carries, and 482 GB/s of 450 is explained") {
  const double link = 450e9;
  CHECK(link_bus_ceiling(Collective::all_reduce, CollectiveAlgorithm::ring, 8, 1, link) == link);
  CHECK(link_bus_ceiling(Collective::all_reduce, CollectiveAlgorithm::nvls, 8, 1, link).value() ==
        doctest::Approx(700e9));
  CHECK(link_bus_ceiling(Collective::all_gather, CollectiveAlgorithm::nvls, 8, 1, link) == link);
  CHECK_FALSE(link_bus_ceiling(Collective::all_reduce, CollectiveAlgorithm::ring, 1, 1, link));
  const LinkRates h200{.ranks = 8, .hosts = 1, .gpu_link = link, .nvls_possible = true};
  const Said why = explain_above_wire(Collective::all_reduce, 482e9, h200);
  CHECK(why.text().find("482") != std::string::npos);
  CHECK(why.text().find("450") != std::string::npos);
  CHECK(explain_above_wire(Collective::all_reduce, 449e9, h200).empty());
  CHECK(explain_above_wire(Collective::alltoall, 482e9, h200).empty());
  CHECK(explain_above_wire(Collective::all_reduce, 482e9, {.ranks = 8}).empty());
}

// What the switches of the network reduce leaves a host once and comes back once.
TEST_CASE("reduced in the network: a healthy cluster with SHARP is below its ceiling") {
  using enum CollectiveAlgorithm;
  for (const uint64_t hosts : {2, 3, 8, 128}) {
    const uint64_t n = hosts * 8;
    const double host = 400e9, bytes = 8e9, seconds = bytes / host;
    const double bus = bytes / seconds * bus_factor(Collective::all_reduce, n);
    for (const auto algorithm : {in_network, nvls, any})
      CHECK(network_bus_ceiling(Collective::all_reduce, algorithm, n, hosts, host).value() ==
            doctest::Approx(bus));
    CHECK(network_bus_ceiling(Collective::all_reduce, nvls_tree, n, hosts, host).value() <=
          doctest::Approx(bus));
  }
  // 2B(n-1)/n of 128 hosts is nearly twice the ports: a hierarchy stays near them.
  CHECK(network_bus_ceiling(Collective::all_reduce, in_network, 1024, 128, 400e9).value() ==
        doctest::Approx(799.22e9).epsilon(1e-4));
  CHECK(network_bus_ceiling(Collective::all_reduce, nvls_tree, 1024, 128, 400e9).value() ==
        doctest::Approx(402.76e9).epsilon(1e-4));
  // Inside the host the eight reduce first, each an eighth: 7/8 of the data twice.
  const double inside = 450e9 / (2.0 * 7 / 8) * bus_factor(Collective::all_reduce, 64);
  CHECK(link_bus_ceiling(Collective::all_reduce, in_network, 64, 8, 450e9).value() ==
        doctest::Approx(inside));
  CHECK_FALSE(link_bus_ceiling(Collective::all_reduce, in_network, 8, 8, 450e9).has_value());
  CHECK(algorithm_of("collnet_direct") == in_network);
  CHECK(algorithm_of("collnet_chain") == in_network);
  CHECK(algorithm_of("nvls") == nvls);
  CHECK(algorithm_of("nvls_tree") == nvls_tree);
  CHECK(algorithm_of("tree") == hierarchical);
  const LinkRates wires{.ranks = 64, .hosts = 8, .host_network = 400e9, .gpu_link = 900e9};
  const auto ceiling = collective_ceiling(Collective::all_reduce, in_network, wires).value();
  CHECK(ceiling.bytes_per_second == doctest::Approx(787.5e9));
  CHECK(ceiling.how.text().find("in the network's switches") != std::string::npos);
}

TEST_CASE("the lower of the wires counts, with the algorithm where it is known") {
  using enum CollectiveAlgorithm;
  const LinkRates one{.ranks = 8, .gpu_link = 450e9, .nvls_possible = true};
  CHECK(collective_ceiling(Collective::all_reduce, any, one)->bytes_per_second ==
        doctest::Approx(700e9));
  CHECK(collective_ceiling(Collective::all_reduce, ring, one)->bytes_per_second == 450e9);
  const LinkRates two{
      .ranks = 16, .hosts = 2, .host_network = 400e9, .gpu_link = 450e9, .nvls_possible = true};
  CHECK(collective_ceiling(Collective::all_reduce, ring, two)->bytes_per_second == 400e9);
  // 750 by the network, 794 by the switches.
  const auto ceiling = collective_ceiling(Collective::all_reduce, any, two).value();
  CHECK(ceiling.bytes_per_second == doctest::Approx(750e9));
  CHECK(ceiling.how.text().find("2 hosts") != std::string::npos);
  CHECK(collective_ceiling(Collective::all_gather, any, two)->bytes_per_second == 400e9);
  CHECK_FALSE(collective_ceiling(Collective::all_reduce, any, {.ranks = 8}).has_value());
  // One rank a host: no link inside a host is used.
  const LinkRates sparse{
      .ranks = 4, .hosts = 4, .host_network = 50e9, .gpu_link = 1e9, .nvls_possible = false};
  CHECK(collective_ceiling(Collective::all_gather, any, sparse)->bytes_per_second == 50e9);
}

TEST_CASE("a wire that is not known bounds nothing, and the slower of two explains") {
  using enum CollectiveAlgorithm;
  const LinkRates no_network{.ranks = 16, .hosts = 2, .gpu_link = 450e9};
  CHECK(collective_ceiling(Collective::all_reduce, ring, no_network)->bytes_per_second == 450e9);
  const LinkRates no_link{.ranks = 16, .hosts = 2, .host_network = 400e9};
  CHECK(collective_ceiling(Collective::all_reduce, ring, no_link)->bytes_per_second == 400e9);
  const LinkRates both{.ranks = 16, .hosts = 2, .host_network = 400e9, .gpu_link = 450e9};
  CHECK(explain_above_wire(Collective::all_reduce, 400e9, both).empty());
  CHECK(explain_above_wire(Collective::all_reduce, 425e9, both)
            .text()
            .find("the 400 GB/s of the wire") != std::string::npos);
  const LinkRates slow_link{.ranks = 16, .hosts = 2, .host_network = 400e9, .gpu_link = 60e9};
  CHECK(explain_above_wire(Collective::all_reduce, 61e9, slow_link).text().find("the 60.0 GB/s") !=
        std::string::npos);
  // One rank a host crosses no link inside a host, one host no network.
  const LinkRates spread{.ranks = 2, .hosts = 2, .host_network = 400e9, .gpu_link = 60e9};
  CHECK(explain_above_wire(Collective::all_reduce, 61e9, spread).empty());
  const LinkRates alone{.ranks = 8, .hosts = 1, .host_network = 50e9, .gpu_link = 60e9};
  CHECK(explain_above_wire(Collective::all_reduce, 55e9, alone).empty());
  const LinkRates odd{.ranks = 3, .hosts = 3, .host_network = 50e9};
  CHECK_FALSE(collective_ceiling(Collective::pair_one_way, ring, odd));
  CHECK_FALSE(link_bus_ceiling(Collective::all_gather, ring, 2, 2, 1e9));
  CHECK(link_bus_ceiling(Collective::all_gather, ring, 3, 2, 1e9) == 1e9);
  CHECK_FALSE(link_bus_ceiling(Collective::all_gather, ring, 3, 0, 1e9));
}
