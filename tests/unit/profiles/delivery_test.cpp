// One profile is a whole delivery: nothing of node, fabric, GPUDirect, collectives and storage is
// left out, and nothing that the parts ask for is lost where they are put together.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "core/file.h"
#include "core/profile.h"

using namespace cb;

namespace {

Profile delivered(const std::string& name) {
  const std::filesystem::path root = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  return load_profile(name, [&](const std::string& n) -> std::optional<std::string> {
    const auto file = root / "profiles" / (n + ".json");
    return std::filesystem::exists(file) ? std::optional(read_file(file)) : std::nullopt;
  });
}

std::set<std::string> steps_of(const Profile& profile) {
  std::set<std::string> out;
  for (const Step& s : profile.steps) out.insert(s.id);
  return out;
}

std::set<std::string> criteria_of(const Profile& profile) {
  std::set<std::string> out;
  for (const Criterion& c : profile.criteria) out.insert(c.id);
  return out;
}

struct Delivery {
  const char* name;
  const char* cluster;
  const char* ports;
};

const std::vector<Delivery> kDeliveries{
    {"a100", "a100-sxm-80g", "200g"}, {"a800", "a800-sxm", "200g"}, {"h100", "h100-sxm", "400g"},
    {"h200", "h200-sxm", "400g"},     {"h20", "h20", "400g"},       {"h800", "h800-sxm", "400g"},
    {"b200", "b200", "400g"}};

}  // namespace

TEST_CASE("a delivery has the steps and criteria of all its parts") {
  for (const Delivery& d : kDeliveries) {
    for (const char* network : {"-ib", "-roce"}) {
      const Profile whole = delivered(std::string("delivery-") + d.name + network);
      CAPTURE(whole.name);
      size_t count = 0;
      for (const std::string& part :
           {std::string(d.cluster) + "-cluster" + network, std::string("gpu-direct-") + d.ports,
            std::string("gds"), std::string("nvme-gen4"), std::string("parallel-fs-node")}) {
        CAPTURE(part);
        const Profile one = delivered(part);
        CHECK(std::ranges::includes(steps_of(whole), steps_of(one)));
        CHECK(std::ranges::includes(criteria_of(whole), criteria_of(one)));
        count += one.criteria.size();
      }
      CHECK(whole.criteria.size() == count);  // no two parts share a criterion
    }
  }
}

TEST_CASE("what is handed over with a delivery is on its checklist") {
  for (const Delivery& d : kDeliveries) {
    for (const char* network : {"-ib", "-roce"}) {
      const Profile whole = delivered(std::string("delivery-") + d.name + network);
      CAPTURE(whole.name);
      std::set<std::string> items;
      for (const ChecklistItem& item : whole.checklist) items.insert(item.id);
      for (const char* id : {"delivery.manuals", "delivery.training", "delivery.spares",
                             "host.cooling", "network.manuals"})
        CHECK_MESSAGE(items.contains(id), id);
    }
  }
}
