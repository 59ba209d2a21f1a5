#include "core/inventory.h"

#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

using namespace cb;
using nlohmann::json;

namespace {

HostInventory two_gpus() {
  HostInventory out{.host = "n1"};
  for (const char* id : {"0", "1"}) {
    Part part{.kind = "gpu", .id = id};
    part.attributes = {{"memory_bytes", int64_t{80} << 30}, {"name", std::string("H200")}};
    part.unavailable["ecc"] = "needs root";
    out.parts.push_back(part);
  }
  out.parts.push_back({.kind = "system", .id = "0", .attributes = {{"load", 0.5}, {"vm", true}}});
  return out;
}

}  // namespace

TEST_CASE("parts by kind and id") {
  const HostInventory i = two_gpus();
  REQUIRE(i.find("gpu") != nullptr);
  CHECK(i.find("gpu")->id == "0");
  REQUIRE(i.find("gpu", "1") != nullptr);
  CHECK(i.find("gpu", "1")->id == "1");
  CHECK(i.find("gpu", "2") == nullptr);
  CHECK(i.find("nic") == nullptr);
  CHECK(i.all("gpu").size() == 2);
  CHECK(i.all("system").size() == 1);
  CHECK(i.all("nic").empty());
}

TEST_CASE("attributes as texts and numbers") {
  const HostInventory i = two_gpus();
  const Part* gpu = i.find("gpu");
  const Part* system = i.find("system");
  CHECK(text_of(gpu, "name") == "H200");
  CHECK(text_of(system, "vm") == "yes");
  CHECK(text_of(gpu, "absent") == std::nullopt);
  CHECK(text_of(nullptr, "name") == std::nullopt);
  CHECK(number_of(gpu, "memory_bytes") == 85899345920.0);
  CHECK(number_of(system, "load") == 0.5);
  CHECK(number_of(gpu, "name") == std::nullopt);
  CHECK(number_of(system, "vm") == std::nullopt);
  CHECK(number_of(nullptr, "load") == std::nullopt);
}

TEST_CASE("attributes are shown with their units") {
  CHECK(attribute_display("memory_bytes", int64_t{80} << 30) == "80.0 GiB");
  CHECK(attribute_display("mtu_bytes", int64_t{9000}) == "9000 B");
  CHECK(attribute_display("page_bytes", int64_t{4096}) == "4.00 KiB");
  CHECK(attribute_display("x_bytes", int64_t{65535}) == "65535 B");
  CHECK(attribute_display("x_bytes", int64_t{65536 + 512}) == "64.5 KiB");
  CHECK(attribute_display("rate_bits_per_second", int64_t{400'000'000'000}) == "400 Gb/s");
  CHECK(attribute_display("clock_hertz", 1.98e9) == "1.98 GHz");
  CHECK(attribute_display("lanes", int64_t{16}) == "16");
  CHECK(attribute_display("on", false) == "no");
  CHECK(attribute_display("name_bytes", std::string("9000")) == "9000");
}

TEST_CASE("an inventory is read back; what JSON cannot say is absent") {
  HostInventory i = two_gpus();
  i.parts[2].attributes["load"] = std::numeric_limits<double>::infinity();
  const HostInventory back = inventory_from_json(inventory_to_json(i));
  CHECK(back.host == "n1");
  REQUIRE(back.parts.size() == 3);
  CHECK(back.parts[0].attributes == i.parts[0].attributes);
  CHECK(back.parts[0].unavailable == i.parts[0].unavailable);
  CHECK(back.parts[2].attributes.size() == 1);
  CHECK_FALSE(inventory_to_json(i)["parts"][2].contains("unavailable"));
  json wrong = inventory_to_json(i);
  wrong["parts"][0]["attributes"]["name"] = json::array();
  CHECK_THROWS_WITH_AS(inventory_from_json(wrong), doctest::Contains("neither a number"), Error);
}
