// Draws findings into the picture of a subnet, each where it is, and the key below it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/svg.h"
#include "model/fabric/picture.h"
#include "model/fabric/picture_geometry.h"

namespace cb {

class FindingPainter {
 public:
  FindingPainter(Svg& svg, const FabricPicture& picture, const PictureGeometry& geometry);

  // Lines of the links that findings name; then fills of switches, and numbers of the first.
  void paint_links();
  void paint_marks();
  // Height of the key's lines, and the key itself from `top` on.
  double key_height() const;
  void paint_key(double top);
  // Which marks are in use, for the legend; absent links too.
  bool uses(PictureMark mark) const;
  bool uses_absent() const;

 private:
  struct Line {
    Point from, to;
  };
  void spread_hosts();
  std::optional<Line> line_of(const LayoutPlace& place) const;
  void fill_switches();
  void paint_lines(size_t finding);
  void paint_badges();
  void badge_at(const LayoutPlace& place, size_t number, PictureMark mark);
  Point free_point(const std::vector<Point>& wanted);

  Svg& svg_;
  const FabricPicture& picture_;
  const PictureGeometry& geometry_;
  Texts t_;
  std::vector<size_t> order_;  // of findings, the worst mark first
  std::vector<Point> taken_;   // middles of badges
  // Where the line of each adapter leaves its leaf: beside one another.
  std::map<std::pair<size_t, std::string>, double> host_x_;
};

// A mark's shape with what stands in it: fail a dark disc, warn a light diamond, waived a dashed
// ring.
void paint_badge(Svg& svg, Point middle, PictureMark mark, const std::string& text);
const char* mark_class(PictureMark mark);

}  // namespace cb
