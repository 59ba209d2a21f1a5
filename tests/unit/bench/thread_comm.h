// Ranks as threads of one process: the collective calls of Comm without MPI.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "bench/harness/comm.h"

namespace cb {

class ThreadGroup {
 public:
  explicit ThreadGroup(int size) : size_(size), barrier_(size), doubles_(n()), texts_(n()) {}

  // Calls `body` once per rank, each on a thread of its own, and waits for all.
  void run(const std::function<void(Comm&)>& body) {
    std::vector<std::thread> threads;
    for (int r = 0; r < size_; ++r) {
      threads.emplace_back([&, r] {
        Member member(*this, r);
        body(member);
      });
    }
    for (std::thread& t : threads) t.join();
  }

 private:
  class Member final : public Comm {
   public:
    Member(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return group_.size_; }
    void barrier() override { group_.barrier_.arrive_and_wait(); }
    double max(double v) override {
      return all(v, [](auto& d) { return *std::max_element(d.begin(), d.end()); });
    }
    double min(double v) override {
      return all(v, [](auto& d) { return *std::min_element(d.begin(), d.end()); });
    }
    double sum(double v) override {
      return all(v, [](auto& d) {
        double s = 0;
        for (const double x : d) s += x;
        return s;
      });
    }
    std::unique_ptr<PendingMax> start_max(double value) override {
      return std::make_unique<Round>(group_, round_++, value);
    }
    void broadcast(std::span<std::byte> bytes, int root) override {
      if (rank_ == root) group_.bytes_.assign(bytes.begin(), bytes.end());
      barrier();
      std::copy(group_.bytes_.begin(), group_.bytes_.end(), bytes.begin());
      barrier();
    }
    std::vector<std::string> gather(std::string_view blob) override {
      group_.texts_[static_cast<size_t>(rank_)] = blob;
      barrier();
      std::vector<std::string> out;
      if (rank_ == 0) out = group_.texts_;
      barrier();
      return out;
    }
    std::string broadcast_text(std::string text) override {
      if (rank_ == 0) group_.texts_[0] = std::move(text);
      barrier();
      std::string out = group_.texts_[0];
      barrier();
      return out;
    }
    int agree(int status, double) override { return static_cast<int>(max(status)); }

   private:
    template <typename F>
    double all(double value, F f) {
      group_.doubles_[static_cast<size_t>(rank_)] = value;
      barrier();
      const double out = f(group_.doubles_);
      barrier();
      return out;
    }
    ThreadGroup& group_;
    int rank_;
    size_t round_ = 0;
  };

  class Round final : public PendingMax {
   public:
    Round(ThreadGroup& group, size_t number, double value) : group_(group), number_(number) {
      const std::lock_guard lock(group_.rounds_mutex_);
      if (group_.rounds_.size() <= number) group_.rounds_.resize(number + 1);
      auto& round = group_.rounds_[number];
      round.largest = round.came == 0 ? value : std::max(round.largest, value);
      ++round.came;
    }
    std::optional<double> result() override {
      const std::lock_guard lock(group_.rounds_mutex_);
      const auto& round = group_.rounds_[number_];
      return round.came == group_.size_ ? std::optional(round.largest) : std::nullopt;
    }

   private:
    ThreadGroup& group_;
    size_t number_;
  };
  struct RoundState {
    int came = 0;
    double largest = 0;
  };

  size_t n() const { return static_cast<size_t>(size_); }
  int size_;
  std::barrier<> barrier_;
  std::vector<double> doubles_;
  std::vector<std::string> texts_;
  std::vector<std::byte> bytes_;
  std::mutex rounds_mutex_;
  std::vector<RoundState> rounds_;
};

}  // namespace cb
