// Where a finding stands in the picture of its subnet.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/fabric/layout.h"

namespace cb {

class FindingPlaces {
 public:
  // `switches`: of each switch's node its place in FabricLayout::switches.
  FindingPlaces(const Net& net, const std::map<size_t, size_t>& switches);

  // Reads the devices and ports that a finding names: "leaf-0 port 2 – host1 mlx5_0 port 1; …",
  // "LID 5", "leaf-0 → spine-1 → leaf-0". Empty where none of them is in the subnet.
  std::vector<LayoutPlace> of(const NetFinding& finding) const;

 private:
  struct Spot {
    std::vector<size_t> nodes;  // several of one name
    int port = -1;
    std::string text;  // the device as it was named
  };
  Spot spot_of(std::string_view text) const;
  void add_link(std::string_view a, std::string_view b, bool absent,
                std::vector<LayoutPlace>& out) const;
  void add_spot(const Spot& spot, std::vector<LayoutPlace>& out) const;
  void add_list(std::string_view list, bool absent, std::vector<LayoutPlace>& out) const;
  std::optional<size_t> switch_at(size_t node) const;

  const Net& net_;
  const std::map<size_t, size_t>& switches_;
  std::map<std::string, std::vector<size_t>> by_name_;  // in small letters; also by id
  std::map<NetEnd, NetEnd> peer_;
};

}  // namespace cb
