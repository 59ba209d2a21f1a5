// A small writer of SVG elements. It escapes text; numbers have one decimal.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cb {

using Point = std::array<double, 2>;

// Makes any text safe inside HTML and SVG, in elements and in quoted attributes: replaces control
// characters and invalid UTF-8, escapes & < > " '.
std::string markup_escape(std::string_view text);

// Width in pixels of a label at the charts' text size (11 px). Wide characters count double.
double label_width(std::string_view text);

// The text, shortened with … to fit into `pixels`.
std::string fit_label(std::string_view text, double pixels);

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
  // Draws a path as SVG writes it ("M0 0L10 10"). Nothing of it is escaped.
  void path(std::string_view commands, std::string_view css);
  // Adds rules of CSS. In a page they hold for all of it: their classes have names of their own.
  void style(std::string_view rules);
  // Encloses what is drawn until end_group(); the pointer on it shows the title.
  void begin_group(std::string_view title);
  void end_group();
  // `anchor`: start, middle or end.
  void text(Point at, std::string_view text, std::string_view css,
            std::string_view anchor = "start");

  std::string str() const { return out_ + "</svg>"; }

 private:
  void shape(std::string_view element, const std::vector<Point>& points, std::string_view css);
  std::string out_;
};

}  // namespace cb
