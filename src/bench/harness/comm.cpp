#include "bench/harness/comm.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace cb {
namespace {

class KnownMax final : public PendingMax {
 public:
  explicit KnownMax(double value) : value_(value) {}
  std::optional<double> result() override { return value_; }

 private:
  double value_;
};

class SingleComm final : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void barrier() override {}
  double max(double value) override { return value; }
  double min(double value) override { return value; }
  double sum(double value) override { return value; }
  std::unique_ptr<PendingMax> start_max(double value) override {
    return std::make_unique<KnownMax>(value);
  }
  void broadcast(std::span<std::byte>, int) override {}
  std::vector<std::string> gather(std::string_view blob) override { return {std::string(blob)}; }
  std::string broadcast_text(std::string text) override { return text; }
  int agree(int status, double) override { return status; }
};

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

}  // namespace

void throw_where_failed(Comm& comm, const Said& failure) {
  if (!comm.any(!failure.empty())) return;
  throw Error(failure.empty() ? said("memory.other_rank_failed") : failure);
}

void throw_agreed(Comm& comm, const std::string& subject, const Problems& mine) {
  if (!comm.any(!mine.empty())) return;
  std::string lines;  // where, unit separator, what
  for (const Problem& p : mine.list) lines += p.where + '\x1f' + p.what + '\n';
  std::set<std::string> distinct;
  for (const std::string& blob : comm.gather(lines)) {
    for (std::string& line : split_lines(blob)) distinct.insert(std::move(line));
  }
  std::string joined;
  for (const std::string& line : distinct) joined += line + '\n';
  Problems all;
  for (const std::string& line : split_lines(comm.broadcast_text(std::move(joined)))) {
    const size_t separator = line.find('\x1f');
    all.add(line.substr(0, separator), line.substr(separator + 1));
  }
  throw UsageError(subject, std::move(all));
}

std::unique_ptr<Comm> single_comm() { return std::make_unique<SingleComm>(); }

RankMap locate_ranks(Comm& comm, const std::string& hostname) {
  std::string joined;
  for (const std::string& name : comm.gather(hostname)) joined += name + "\n";
  const std::vector<std::string> names = split_lines(comm.broadcast_text(std::move(joined)));

  RankMap place{.host = hostname, .hosts = {}, .host_of_rank = {}};
  std::unordered_map<std::string, int> index;
  for (const std::string& name : names) {
    const auto [found, is_new] = index.emplace(name, static_cast<int>(place.hosts.size()));
    if (is_new) place.hosts.push_back(name);
    place.host_of_rank.push_back(found->second);
  }
  const auto self = static_cast<size_t>(comm.rank());
  const int mine = place.host_of_rank[self];
  const auto begin = place.host_of_rank.begin();
  place.local_rank = static_cast<int>(std::count(begin, begin + comm.rank(), mine));
  place.local_size = static_cast<int>(std::count(begin, place.host_of_rank.end(), mine));
  return place;
}

}  // namespace cb
