// The neighbours that ports hear against the cabling plan.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "core/csv.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/suggest.h"
#include "model/roce/audit.h"

namespace cb {
namespace {

// A name without its domain.
std::string device_label(const std::string& name) {
  return in_small_letters(name.substr(0, name.find('.')));
}

constexpr std::array<const char*, 4> kPortColumns{"host", "nic", "switch", "switch_port"};

class PortPlanReader {
 public:
  explicit PortPlanReader(std::string file) : file_(std::move(file)) {}

  std::vector<PlannedCable> read(const std::vector<CsvRow>& rows) {
    if (rows.size() < 2) throw UsageError(file_, "", said("roce.empty_plan"));
    std::array<size_t, 4> at{};
    for (size_t i = 0; i < at.size(); ++i) at[i] = column(rows.front(), kPortColumns[i]);
    for (size_t r = 1; r < rows.size(); ++r) row(rows[r], at);
    return std::move(cables_);
  }

 private:
  [[noreturn]] void refuse(size_t line, const Said& why) const {
    throw UsageError(file_, fmt::format("line {}", line), why);
  }

  size_t column(const CsvRow& head, const char* name) const {
    for (size_t i = 0; i < head.fields.size(); ++i) {
      if (in_small_letters(head.fields[i]) == name) return i;
    }
    refuse(head.line, said("roce.no_column", name));
  }

  void row(const CsvRow& row, const std::array<size_t, 4>& at) {
    std::array<std::string, 4> cells;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] < row.fields.size()) cells[i] = in_small_letters(row.fields[at[i]]);
      if (cells[i].empty()) refuse(row.line, said("roce.empty_cell", kPortColumns[i]));
    }
    PlannedCable cable{device_label(cells[0]), cells[1], device_label(cells[2]), cells[3]};
    const auto once = [&](auto& seen, const std::string& key) {
      const auto [first, fresh] = seen.try_emplace(key, row.line);
      if (!fresh) refuse(row.line, said("roce.twice", key, first->second));
    };
    once(nics_, cable.host + " " + cable.nic);
    once(ports_, cable.neighbour + " " + cable.port);
    cables_.push_back(std::move(cable));
  }

  std::string file_;
  std::map<std::string, size_t> nics_, ports_;
  std::vector<PlannedCable> cables_;
};

// A planned port and what it hears.
struct HeardCable {
  const RoceNic* nic;
  const PlannedCable* planned;
  bool right = false;
  bool done = false;
};

std::string cable_text(const PlannedCable& cable) {
  return fmt::format("{} port {}", cable.neighbour, cable.port);
}
std::string neighbour_text(const LldpNeighbour& n) {
  return fmt::format("{} port {}", n.system(), n.port);
}

bool is_neighbour(const LldpNeighbour& n, const PlannedCable& cable) {
  const bool same_system =
      device_label(n.name) == cable.neighbour || in_small_letters(n.chassis) == cable.neighbour;
  return same_system &&
         (in_small_letters(n.port) == cable.port || in_small_letters(n.description) == cable.port);
}

class CableAuditor {
 public:
  CableAuditor(const std::vector<RoceHost>& hosts, const std::vector<PlannedCable>& plan,
               RoceAudit& audit)
      : audit_(audit) {
    for (const RoceHost& host : hosts) {
      for (const RoceNic& nic : host.nics) by_host_[device_label(host.host)].push_back(&nic);
    }
    for (const PlannedCable& cable : plan) look_up(cable);
  }

  void run() {
    for (HeardCable& one : heard_) one.right = is_neighbour(*one.nic->neighbour, *one.planned);
    for (HeardCable& one : heard_) {
      if (!one.right && !one.done) follow(one);
    }
    surplus();
    if (silent_ == 0 && !heard_.empty() && foreign_ == 0) {
      for (const std::string& kind : cable_kinds()) audit_.judged.insert(kind);
      return;
    }
    if (silent_ > 0) audit_.notes.push_back(said("roce.not_heard", silent_, first_silent_->name()));
    if (foreign_ > 0) audit_.notes.push_back(said("roce.foreign", foreign_, first_foreign_));
  }

 private:
  void look_up(const PlannedCable& cable) {
    const auto host = by_host_.find(cable.host);
    if (host == by_host_.end()) {
      if (foreign_++ == 0) first_foreign_ = cable.host;
      return;
    }
    std::vector<std::string> names;
    for (const RoceNic* nic : host->second) {
      names.push_back(nic->device);
      if (in_small_letters(nic->device) != cable.nic &&
          in_small_letters(nic->port_name) != cable.nic)
        continue;
      planned_[nic] = &cable;
      if (nic->neighbour) return heard_.push_back({nic, &cable}), void();
      if (silent_++ == 0) first_silent_ = nic;
      return;
    }
    add("missing", *host->second.front(),
        said("roce.cable_missing", cable.host, unknown_name(cable.nic, names), cable_text(cable)));
  }

  void add(const char* kind, const RoceNic& nic, Said what) {
    audit_.findings.push_back({kind, nic.host, nic.device, std::move(what)});
  }

  // Where the cable of a wrong port belongs to another wrong port, and so on round to the first
  // one: a swap of two, a rotation of more. Else it was moved.
  void follow(HeardCable& first) {
    std::vector<HeardCable*> ring{&first};
    while (true) {
      HeardCable* next = owner_of(*ring.back());
      if (next == &first) break;
      const bool again = next != nullptr && std::ranges::find(ring, next) != ring.end();
      if (next == nullptr || next->done || again) {
        first.done = true;
        return add("moved", *first.nic,
                   said("roce.cable_moved", first.nic->name(),
                        neighbour_text(*first.nic->neighbour), cable_text(*first.planned)));
      }
      ring.push_back(next);
    }
    for (HeardCable* one : ring) one->done = true;
    if (ring.size() == 2)
      return add("swapped", *first.nic,
                 said("roce.cable_swapped", first.nic->name(), ring[1]->nic->name(),
                      cable_text(*first.planned), cable_text(*ring[1]->planned)));
    std::string names;
    for (const HeardCable* one : ring) names += (names.empty() ? "" : ", ") + one->nic->name();
    add("rotated", *first.nic, said("roce.cable_rotated", ring.size(), names));
  }

  // The wrong port for which the neighbour is planned that this one hears; null if none is.
  HeardCable* owner_of(const HeardCable& one) {
    for (HeardCable& other : heard_) {
      if (&other != &one && !other.right && is_neighbour(*one.nic->neighbour, *other.planned))
        return &other;
    }
    return nullptr;
  }

  void surplus() {
    for (const auto& [host, nics] : by_host_) {
      for (const RoceNic* nic : nics) {
        if (nic->neighbour && !planned_.contains(nic))
          add("surplus", *nic,
              said("roce.cable_surplus", nic->name(), neighbour_text(*nic->neighbour)));
      }
    }
  }

  RoceAudit& audit_;
  std::map<std::string, std::vector<const RoceNic*>> by_host_;
  std::map<const RoceNic*, const PlannedCable*> planned_;
  std::vector<HeardCable> heard_;
  size_t silent_ = 0, foreign_ = 0;
  const RoceNic* first_silent_ = nullptr;
  std::string first_foreign_;
};

}  // namespace

std::vector<PlannedCable> read_port_plan(const std::string& csv, const std::string& file) {
  return PortPlanReader(file).read(read_csv(csv, file));
}

void audit_cables(const std::vector<RoceHost>& hosts, const std::vector<PlannedCable>& plan,
                  RoceAudit& audit) {
  CableAuditor(hosts, plan, audit).run();
}

std::vector<std::string> cable_kinds() {
  return {"missing", "surplus", "moved", "swapped", "rotated"};
}

}  // namespace cb
