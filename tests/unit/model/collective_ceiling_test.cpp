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

// The bounds by hand for 8 GPUs a host, as multiples of a host's ports: all_reduce in the network's
// switches 2(n-1)/n, reduced inside the hosts first ((n-1)/n)/((k-1)/k), which is also the bound of
// an all_gather or reduce_scatter that is no ring.
TEST_CASE("the table of bounds from 2 to 128 ranks and hosts") {
  using enum CollectiveAlgorithm;
  struct Row {
    uint64_t ranks, hosts;
    double in_switches, of_hosts;
  };
  for (const Row& row :
       {Row{2, 2, 1.0, 1.0}, Row{4, 2, 1.5, 1.5}, Row{8, 4, 1.75, 1.1666667},
        Row{16, 2, 1.875, 1.875}, Row{32, 4, 1.9375, 1.2916667}, Row{64, 8, 1.96875, 1.125},
        Row{128, 16, 1.984375, 1.0583333}, Row{128, 128, 1.984375, 1.0}}) {
    CAPTURE(row.ranks);
    CAPTURE(row.hosts);
    const auto factor = [&](Collective c, CollectiveAlgorithm a) {
      return network_bus_factor(c, a, row.ranks, row.hosts).value().value;
    };
    for (const auto a : {in_network, nvls, any})
      CHECK(factor(Collective::all_reduce, a) == doctest::Approx(row.in_switches));
    for (const auto a : {hierarchical, nvls_tree})
      CHECK(factor(Collective::all_reduce, a) == doctest::Approx(row.of_hosts));
    for (const auto c : {Collective::all_gather, Collective::reduce_scatter}) {
      for (const auto a : {hierarchical, in_network, nvls, nvls_tree, any})
        CHECK(factor(c, a) == doctest::Approx(row.of_hosts));
      CHECK(factor(c, ring) == 1);
    }
    CHECK(factor(Collective::all_reduce, ring) == 1);
    for (const auto a : {ring, in_network, any}) {
      CHECK(factor(Collective::broadcast, a) == 1);
      CHECK(factor(Collective::reduce, a) == 1);
      CHECK(factor(Collective::sendrecv, a) == 1);
    }
  }
}

TEST_CASE("no algorithm's bound is above that of an unknown one, from 2 to 128 ranks") {
  using enum CollectiveAlgorithm;
  for (uint64_t n = 2; n <= 128; ++n) {
    for (uint64_t k = 2; k <= n; ++k) {
      if (n % k != 0) continue;
      for (const auto c : {Collective::all_reduce, Collective::all_gather,
                           Collective::reduce_scatter, Collective::alltoall}) {
        const double most = network_bus_factor(c, any, n, k)->value;
        for (const auto a : {ring, hierarchical, in_network, nvls, nvls_tree})
          CHECK(network_bus_factor(c, a, n, k)->value <= doctest::Approx(most));
      }
    }
  }
}

TEST_CASE("the record says how a ceiling is derived") {
  using enum CollectiveAlgorithm;
  const LinkRates eight{.ranks = 64, .hosts = 8, .host_network = 400e9, .gpu_link = 900e9};
  CHECK(collective_ceiling(Collective::all_reduce, nvls, eight)->how.text() ==
        "400 GB/s per host in a direction over 8 hosts, reduced in the network's switches; × "
        "2(n−1)/n = 1.969, n = 64, k = 8");
  CHECK(collective_ceiling(Collective::reduce_scatter, in_network, eight)->how.text() ==
        "400 GB/s per host in a direction over 8 hosts, only what belongs to other hosts crosses; "
        "× ((n−1)/n)/((k−1)/k) = 1.125, n = 64, k = 8");
  CHECK(collective_ceiling(Collective::all_reduce, ring, eight)->how.text() ==
        "400 GB/s per host in a direction over 8 hosts");
  // NVLS inside the hosts: the switch reads S and gives an eighth back.
  const LinkRates narrow{.ranks = 64, .hosts = 8, .gpu_link = 450e9, .nvls_possible = true};
  CHECK(collective_ceiling(Collective::all_reduce, nvls, narrow)->bytes_per_second ==
        doctest::Approx(450e9 * 2 * 63 / 64 * 8 / 9));
  // 72 GPUs of one NVLink domain cross no network, 144 of two cross that of 18 hosts each.
  const LinkRates rack{
      .ranks = 72, .hosts = 1, .gpu_link = 900e9, .nvls_possible = true, .domains = true};
  CHECK(collective_ceiling(Collective::all_reduce, nvls, rack)->bytes_per_second ==
        doctest::Approx(900e9 * 2 * 71 / 73));
  const LinkRates racks{
      .ranks = 144, .hosts = 2, .host_network = 3600e9, .gpu_link = 9000e9, .domains = true};
  CHECK(collective_ceiling(Collective::all_reduce, hierarchical, racks)->how.text() ==
        "3600 GB/s per NVLink domain in a direction over 2 domains, reduced inside the domains "
        "first; "
        "× ((n−1)/n)/((k−1)/k) = 1.986, n = 144, k = 2");
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
  // 750 by the network, and 750 by the switch of each host.
  const auto ceiling = collective_ceiling(Collective::all_reduce, any, two).value();
  CHECK(ceiling.bytes_per_second == doctest::Approx(750e9));
  CHECK(ceiling.how.text().find("2 hosts") != std::string::npos);
  CHECK(collective_ceiling(Collective::all_gather, ring, two)->bytes_per_second == 400e9);
  // No ring: 750 by the network, and 450 * 15/14 by a GPU's links.
  CHECK(collective_ceiling(Collective::all_gather, any, two)->bytes_per_second ==
        doctest::Approx(450e9 * 15 / 14));
  CHECK_FALSE(collective_ceiling(Collective::all_reduce, any, {.ranks = 8}).has_value());
  // One rank a host: no link inside a host is used.
  const LinkRates sparse{
      .ranks = 4, .hosts = 4, .host_network = 50e9, .gpu_link = 1e9, .nvls_possible = false};
  CHECK(collective_ceiling(Collective::all_gather, ring, sparse)->bytes_per_second == 50e9);
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
