// A small writer of SVG elements. It escapes text; numbers have one decimal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/chart.h"

namespace cb {

// Makes any text safe inside HTML and SVG, in elements and in quoted attributes: replaces control
// characters and invalid UTF-8, escapes & < > " '.
std::string markup_escape(std::string_view text);

class Svg {
 public:
  Svg(double width, double height, std::string_view id, std::string_view title,
      std::string_view description);

  void line(Point from, Point to, std::string_view css);
  void rect(Point corner, Point size, std::string_view css, std::string_view title = {});
  void circle(Point centre, double radius, std::string_view css);
  void polyline(const std::vector<Point>& points, std::string_view css);
  void polygon(const std::vector<Point>& points, std::string_view css);
  // Draws squares of one style as a single element, which keeps thousands of them small.
  void squares(const std::vector<Point>& corners, double size, std::string_view css);
  // `anchor`: start, middle or end.
  void text(Point at, std::string_view text, std::string_view css,
            std::string_view anchor = "start");

  std::string str() const { return out_ + "</svg>"; }

 private:
  void shape(std::string_view element, const std::vector<Point>& points, std::string_view css);
  std::string out_;
};

}  // namespace cb
