// Where the picture of a subnet draws each row, box and switch.
#pragma once

#include <map>
#include <vector>

#include "core/svg.h"
#include "model/fabric/layout.h"

namespace cb {

constexpr double kPictureWidth = 900;
constexpr double kPictureLeft = 128;  // the rows' labels stand before it
constexpr double kHeadHeight = 15;    // a group's name above its switches

struct PictureBox {
  Point corner = {};
  Point size = {};
  double middle() const { return corner[0] + size[0] / 2; }
  double bottom() const { return corner[1] + size[1]; }
};

struct PictureRow {
  int tier = 0;
  std::vector<size_t> groups;
  size_t switches = 0;
  bool single = false;  // a box is one switch with its name
  double top = 0, bottom = 0;
};

struct PictureGeometry {
  std::vector<PictureRow> rows;  // the highest tier first
  std::vector<PictureBox> group;
  std::vector<PictureBox> cell;        // of each switch
  std::map<size_t, PictureBox> hosts;  // of each group with adapters
  double hosts_top = 0, bottom = 0;

  const PictureRow& row_of(const FabricLayout& layout, size_t group_index) const;
};

PictureGeometry picture_geometry(const FabricLayout& layout);

}  // namespace cb
