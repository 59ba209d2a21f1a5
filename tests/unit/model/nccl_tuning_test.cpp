// Lines as the versions of NCCL write them, with what stands around them in a log.
#include "model/nccl_tuning.h"

#include <doctest/doctest.h>

#include "model/collective_ceiling.h"

using namespace cb;

TEST_CASE("2.23 and newer: names, and channels from the first to the last") {
  const auto c = parse_tuning_line(
                     "node-1:4711:4711 [0] NCCL INFO AllReduce: 8388608 Bytes -> Algo RING proto "
                     "LL128 channel{Lo..Hi}={0..15}")
                     .value();
  CHECK(c.function == "AllReduce");
  CHECK(c.bytes == 8388608);
  CHECK(c.algorithm == "ring");
  CHECK(c.protocol == "ll128");
  CHECK(c.channels == 16);
  CHECK_FALSE(c.seconds.has_value());
  CHECK(to_text(c) == "ring ll128, 16 channels");
  CHECK(to_text(*parse_tuning_line("AllReduce: 64 Bytes -> Algo NVLS_TREE proto SIMPLE "
                                   "channel{Lo..Hi}={3..3}")) == "nvls_tree simple, 1 channel");
}

TEST_CASE("channels that are none are left out, and the rest of the line stays") {
  for (const char* channels : {"x..15}", "0.15}", "0..x}", "15..0}", "}", ""}) {
    const auto c = parse_tuning_line(
        std::string("AllReduce: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}={") + channels);
    REQUIRE(c);
    CHECK_MESSAGE(!c->channels, channels);
    CHECK(c->algorithm == "ring");
  }
}

TEST_CASE("2.8 to 2.22: numbers and a time, with and without the function") {
  const auto old =
      parse_tuning_line("h:1:2 [0] NCCL INFO 37756928 Bytes -> Algo 1 proto 2 time 2860.208008")
          .value();
  CHECK(old.function.empty());
  CHECK(old.bytes == 37756928);
  CHECK(old.algorithm == "ring");
  CHECK(old.protocol == "simple");
  CHECK(*old.seconds == doctest::Approx(2860.208e-6));
  CHECK_FALSE(old.channels.has_value());
  const auto named =
      parse_tuning_line("h:1:2 [0] NCCL INFO AllGather: 64 Bytes -> Algo 0 proto 0 time 8.5")
          .value();
  CHECK(named.function == "AllGather");
  CHECK(to_text(named) == "tree ll");
}

TEST_CASE("a word that only begins with a number, or is too large for one, is a name") {
  for (const char* word : {"1x", "0ring", "99999999999999999999999999"}) {
    const auto c =
        parse_tuning_line(std::string("AllReduce: 64 Bytes -> Algo ") + word + " proto LL time 1");
    REQUIRE_MESSAGE(c, word);
    CHECK(c->algorithm == word);
  }
}

TEST_CASE("2.28: symmetric kernels") {
  const auto c = parse_tuning_line(
                     "h:1:2 [0] NCCL INFO AllReduce [Symmetric]: 4096 Bytes -> Kernel "
                     "AllReduce_RSxLDMC_AGxSTMC nchannels 8 nthreads 512 nWorks 1")
                     .value();
  CHECK(c.function == "AllReduce");
  CHECK(c.algorithm == "symmetric AllReduce_RSxLDMC_AGxSTMC");
  CHECK(c.channels == 8);
}

TEST_CASE("what is no choice is passed over") {
  for (const char* line :
       {"", "NCCL INFO Connected all rings", "NCCL INFO 12 Bytes -> Algo 99 proto 0 time 1",
        "NCCL INFO x Bytes -> Algo RING proto LL", "h NCCL INFO AllReduce: 8 Bytes -> Algo RING",
        "NCCL INFO 0x12 Bytes -> Algo RING proto LL", " Bytes -> "})
    CHECK_FALSE(parse_tuning_line(line).has_value());
}

TEST_CASE("a log gives each choice once") {
  const std::string line =
      "h:1:1 [0] NCCL INFO AllReduce: 64 Bytes -> Algo TREE proto LL "
      "channel{Lo..Hi}={0..0}\n";
  const auto found = parse_tuning_log("NCCL version 2.28.9\n" + line + line +
                                      "AllReduce: 64 Bytes -> Algo RING proto LL "
                                      "channel{Lo..Hi}={0..0}");
  REQUIRE(found.size() == 2);
  CHECK(found[0].algorithm == "tree");
  CHECK(found[1].algorithm == "ring");
}

TEST_CASE("the ceiling's algorithm from NCCL's name") {
  CHECK(algorithm_of("ring") == CollectiveAlgorithm::ring);
  CHECK(algorithm_of("nvls_tree") == CollectiveAlgorithm::nvls_tree);
  CHECK(algorithm_of("collnet_chain") == CollectiveAlgorithm::in_network);
  CHECK(algorithm_of("something new") == CollectiveAlgorithm::any);
}
