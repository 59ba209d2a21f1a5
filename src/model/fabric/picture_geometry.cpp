#include "model/fabric/picture_geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace cb {
namespace {

constexpr double kTop = 10;
constexpr double kBetweenRows = 96;
constexpr double kAboveHosts = 46;
constexpr double kHostsHeight = 22;
constexpr double kSingleHeight = 26;
constexpr double kWidestSingle = 104;
constexpr double kWidestGroup = 420;
constexpr double kBoxPadding = 5;
constexpr size_t kMostCellRows = 5;

// A grid of squares that fits into a width.
struct CellGrid {
  double side = 12, pitch = 14;
  size_t columns = 1, rows = 1;
};

// `cells` of the largest group of a row: all of its groups have squares of one size.
CellGrid grid_for(size_t cells, double width) {
  CellGrid out;
  for (const double side : {12.0, 10.0, 8.0, 7.0, 6.0, 5.0, 4.0}) {
    out.side = side;
    out.pitch = side + (side >= 8 ? 2 : 1);
    const double columns = std::floor((width - 2 * kBoxPadding + 1) / out.pitch);
    out.columns = static_cast<size_t>(std::max(1.0, columns));
    out.rows = (cells + out.columns - 1) / out.columns;
    if (out.rows <= kMostCellRows) break;
  }
  return out;
}

std::vector<std::vector<size_t>> members_of(const FabricLayout& layout) {
  std::vector<std::vector<size_t>> out(layout.groups.size());
  for (size_t i = 0; i < layout.switches.size(); ++i) out[layout.switches[i].group].push_back(i);
  return out;
}

std::vector<PictureRow> rows_of(const FabricLayout& layout,
                                const std::vector<std::vector<size_t>>& members) {
  std::map<int, PictureRow, std::greater<>> rows;
  for (size_t g = 0; g < layout.groups.size(); ++g) {
    PictureRow& row = rows[layout.groups[g].tier];
    row.tier = layout.groups[g].tier;
    row.groups.push_back(g);
    row.switches += members[g].size();
  }
  std::vector<PictureRow> out;
  for (auto& [tier, row] : rows) {
    row.single = row.switches == row.groups.size();
    out.push_back(std::move(row));
  }
  return out;
}

class RowPlacer {
 public:
  RowPlacer(PictureGeometry& out, const std::vector<std::vector<size_t>>& members)
      : out_(out), members_(members) {}

  void place(PictureRow& row, double top) {
    const auto n = static_cast<double>(row.groups.size());
    const double share = (kPictureWidth - kPictureLeft) / n;
    const double widest = row.single ? kWidestSingle : kWidestGroup;
    const double width = std::min(widest, share - (share > 60 ? 10 : 4));
    size_t largest = 0;
    for (const size_t g : row.groups) largest = std::max(largest, members_[g].size());
    grid_ = grid_for(largest, width);
    row.top = row.bottom = top;
    for (size_t i = 0; i < row.groups.size(); ++i) {
      const double middle = kPictureLeft + share * (static_cast<double>(i) + 0.5);
      place_group(row, row.groups[i], {middle - width / 2, top}, width);
      row.bottom = std::max(row.bottom, out_.group[row.groups[i]].bottom());
    }
    // Boxes of one row are of one height.
    for (const size_t g : row.groups) out_.group[g].size[1] = row.bottom - row.top;
  }

 private:
  void place_group(const PictureRow& row, size_t g, Point corner, double width) {
    const std::vector<size_t>& cells = members_[g];
    if (row.single) {
      out_.group[g] = {corner, {width, kSingleHeight}};
      for (const size_t s : cells) out_.cell[s] = out_.group[g];
      return;
    }
    CellGrid grid = grid_;
    grid.rows = (cells.size() + grid.columns - 1) / grid.columns;
    // Full rows: 40 cells are four rows of ten rather than two of nineteen and two more.
    grid.columns = (cells.size() + grid.rows - 1) / grid.rows;
    const double used = static_cast<double>(grid.columns) * grid.pitch;
    const double left = corner[0] + (width - used) / 2;
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t line_number = i / grid.columns;
      const auto column = static_cast<double>(i % grid.columns);
      const auto line = static_cast<double>(line_number);
      out_.cell[cells[i]] = {
          {left + column * grid.pitch, corner[1] + kHeadHeight + kBoxPadding + line * grid.pitch},
          {grid.side, grid.side}};
    }
    out_.group[g] = {
        corner,
        {width, kHeadHeight + 2 * kBoxPadding + static_cast<double>(grid.rows) * grid.pitch}};
  }

  PictureGeometry& out_;
  const std::vector<std::vector<size_t>>& members_;
  CellGrid grid_;  // of the row that is being placed
};

}  // namespace

const PictureRow& PictureGeometry::row_of(const FabricLayout& layout, size_t group_index) const {
  const int tier = layout.groups[group_index].tier;
  return *std::ranges::find(rows, tier, &PictureRow::tier);
}

PictureGeometry picture_geometry(const FabricLayout& layout) {
  PictureGeometry out;
  const auto members = members_of(layout);
  out.rows = rows_of(layout, members);
  out.group.resize(layout.groups.size());
  out.cell.resize(layout.switches.size());
  RowPlacer placer(out, members);
  double top = kTop;
  for (PictureRow& row : out.rows) {
    placer.place(row, top);
    top = row.bottom + kBetweenRows;
  }
  const double last = out.rows.empty() ? kTop : out.rows.back().bottom;
  out.hosts_top = last + kAboveHosts;
  out.bottom = last;
  for (const LayoutSwitch& s : layout.switches) {
    if (s.hosts.empty()) continue;
    const PictureBox& of = out.group[s.group];
    out.hosts[s.group] = {{of.corner[0], out.hosts_top}, {of.size[0], kHostsHeight}};
    out.bottom = out.hosts_top + kHostsHeight;
  }
  return out;
}

}  // namespace cb
