#pragma once

#include "bench/collectives/moe/expert_exchange.h"
#include "bench/collectives/moe/row_exchange.h"

namespace cb::moe {

// Dispatch and combine in host memory: one thread packs and adds, MPI exchanges.
class HostExchange final : public ExpertExchange {
 public:
  HostExchange(Routes routes, const TokenData& data, RowExchange wire,
               std::vector<std::string> who_of_rank);

  void poison_returned() override;
  void dispatch() override;
  void dispatch_rows() override;
  void combine() override;
  void combine_rows() override;
  void add_rows() override;

 private:
  bool guards_intact() const override;
  void find_places();
  void pack();

  RowExchange wire_;
  std::vector<int> counts_to_;
  std::vector<std::vector<int32_t>> places_;  // by receiving rank: tokens
  std::unique_ptr<CollectiveBuffer> send_, returned_;
};

}  // namespace cb::moe
