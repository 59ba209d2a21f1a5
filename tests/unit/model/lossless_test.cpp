#include "model/lossless.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("marks and pauses without a loss are lossless") {
  const Lossless l = judge_lossless({{"out_of_sequence", 0},
                                     {"eth_rx_discards_phy", 0},
                                     {"eth_rx_prio3_pause", 12},
                                     {"ecn_marked", 340},
                                     {"cnp_sent", 338}});
  CHECK(l.known);
  CHECK(l.passed);
  CHECK_FALSE(l.pause_before_mark);
  CHECK(l.summary == "drops 0, out of sequence 0, pauses 12, ECN marks 340, CNPs 338");
}

TEST_CASE("one drop or one retransmission is a loss") {
  CHECK_FALSE(judge_lossless({{"eth_rx_prio3_discards", 1}}).passed);
  CHECK_FALSE(judge_lossless({{"out_of_sequence", 0}, {"ack_timeouts", 1}}).passed);
  CHECK(judge_lossless({{"out_of_sequence", 2}, {"ack_timeouts", 1}}).lost == 3);
}

TEST_CASE("pauses without marks are told") {
  const Lossless l =
      judge_lossless({{"out_of_sequence", 0}, {"eth_rx_prio3_pause", 1}, {"ecn_marked", 0}});
  CHECK(l.passed);
  CHECK(l.pause_before_mark);
  // A driver that does not count marks cannot be told from one that marks nothing.
  CHECK_FALSE(
      judge_lossless({{"out_of_sequence", 0}, {"eth_rx_prio3_pause", 1}}).pause_before_mark);
}

TEST_CASE("without a counter nothing is known, and nothing passes") {
  const Lossless l = judge_lossless({{"eth_rx_prio3_pause", 1}});
  CHECK_FALSE(l.known);
  CHECK_FALSE(l.passed);
}
