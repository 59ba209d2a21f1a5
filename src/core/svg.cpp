#include "core/svg.h"

#include <fmt/format.h>

#include "core/text.h"

namespace cb {
namespace {

constexpr double kPixelsPerColumn = 6.3;  // for the style sheet's 11 px sans serif faces

}  // namespace

double label_width(std::string_view text) {
  return static_cast<double>(display_width(text)) * kPixelsPerColumn;
}

std::string fit_label(std::string_view text, double pixels) {
  std::string out = terminal_safe(text);
  if (label_width(out) <= pixels) return out;
  while (!out.empty() && label_width(out) + kPixelsPerColumn > pixels) {
    // Removes a whole UTF-8 character: its continuation bytes, then its first byte.
    while (out.size() > 1 && (static_cast<unsigned char>(out.back()) & 0xC0U) == 0x80U)
      out.pop_back();
    out.pop_back();
  }
  return out + "…";
}

std::string markup_escape(std::string_view text) {
  std::string out;
  for (const char c : terminal_safe(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Svg::Svg(double width, double height, std::string_view id, std::string_view title,
         std::string_view description) {
  out_ = fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-labelledby=\"{}t {}d\">"
      "<title id=\"{}t\">{}</title><desc id=\"{}d\">{}</desc>",
      width, height, id, id, id, markup_escape(title), id, markup_escape(description));
}

void Svg::line(Point from, Point to, std::string_view css) {
  out_ +=
      fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>",
                  from[0], from[1], to[0], to[1], css);
}

void Svg::rect(Point corner, Point size, std::string_view css, std::string_view title) {
  out_ +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"",
                  corner[0], corner[1], size[0], size[1], css);
  out_ += title.empty() ? "/>" : fmt::format("><title>{}</title></rect>", markup_escape(title));
}

void Svg::circle(Point centre, double radius, std::string_view css) {
  out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"{}\"/>", centre[0],
                      centre[1], radius, css);
}

void Svg::shape(std::string_view element, const std::vector<Point>& points, std::string_view css) {
  out_ += fmt::format("<{} class=\"{}\" points=\"", element, css);
  for (const auto& [x, y] : points) out_ += fmt::format("{:.1f},{:.1f} ", x, y);
  if (!points.empty()) out_.pop_back();
  out_ += "\"/>";
}

void Svg::polyline(const std::vector<Point>& list, std::string_view css) {
  shape("polyline", list, css);
}

void Svg::polygon(const std::vector<Point>& list, std::string_view css) {
  shape("polygon", list, css);
}

void Svg::squares(const std::vector<Point>& corners, double size, std::string_view css) {
  if (corners.empty()) return;
  out_ += fmt::format("<path class=\"{}\" d=\"", css);
  for (const auto& [x, y] : corners)
    out_ += fmt::format("M{:.1f} {:.1f}h{:.1f}v{:.1f}h-{:.1f}z", x, y, size, size, size);
  out_ += "\"/>";
}

void Svg::path(std::string_view commands, std::string_view css) {
  if (!commands.empty()) out_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", css, commands);
}

void Svg::style(std::string_view rules) { out_ += fmt::format("<style>{}</style>", rules); }

void Svg::begin_group(std::string_view title) {
  out_ += fmt::format("<g><title>{}</title>", markup_escape(title));
}

void Svg::end_group() { out_ += "</g>"; }

void Svg::text(Point at, std::string_view text, std::string_view css, std::string_view anchor) {
  out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>",
                      at[0], at[1], css, anchor, markup_escape(text));
}

}  // namespace cb
