// One profile is a whole delivery: nothing of node, fabric, GPUDirect, collectives and storage is
// left out, and nothing that the parts ask for is lost where they are put together.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "core/profile.h"
#include "shipped.h"

using namespace cb;

namespace {

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

struct WholeDelivery {
  const char* name;
  const char* cluster;
  bool fast_ports;  // 400 Gb/s, else 200
};

const std::vector<WholeDelivery> kDeliveries{
    {"a100", "a100-sxm-80g", false}, {"a800", "a800-sxm", false}, {"h100", "h100-sxm", true},
    {"h200", "h200-sxm", true},      {"h20", "h20", true},        {"h800", "h800-sxm", true},
    {"b200", "b200", true}};

}  // namespace

TEST_CASE("a delivery has the steps and criteria of all its parts") {
  for (const WholeDelivery& d : kDeliveries) {
    for (const char* network : {"-ib", "-roce"}) {
      const Profile whole = test::shipped(std::string("delivery-") + d.name + network);
      CAPTURE(whole.name);
      size_t count = 0;
      for (const std::string& part :
           {std::string(d.cluster) + "-cluster",
            test::network_profile(std::string_view(network) == "-roce", d.fast_ports),
            std::string("gpu-direct-") + (d.fast_ports ? "400g" : "200g"), std::string("gds"),
            std::string("preflight"), std::string("nvme-gen4"), std::string("parallel-fs-node")}) {
        CAPTURE(part);
        const Profile one = test::shipped(part);
        CHECK(std::ranges::includes(steps_of(whole), steps_of(one)));
        CHECK(std::ranges::includes(criteria_of(whole), criteria_of(one)));
        count += one.criteria.size();
      }
      CHECK(whole.criteria.size() == count);  // no two parts share a criterion
    }
  }
}

TEST_CASE("what is handed over with a delivery is on its checklist") {
  for (const WholeDelivery& d : kDeliveries) {
    for (const char* network : {"-ib", "-roce"}) {
      const Profile whole = test::shipped(std::string("delivery-") + d.name + network);
      CAPTURE(whole.name);
      std::set<std::string> items;
      for (const ChecklistItem& item : whole.checklist) items.insert(item.id);
      for (const char* id : {"delivery.manuals", "delivery.training", "delivery.spares",
                             "host.cooling", "network.manuals"})
        CHECK_MESSAGE(items.contains(id), id);
    }
  }
}
