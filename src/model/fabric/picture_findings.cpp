#include "model/fabric/picture_findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace cb {
namespace {

constexpr double kBadge = 7.5;      // radius
constexpr double kKeyLine = 19;     // pixels
constexpr size_t kDrawnLines = 80;  // of findings; the switches of all are filled
constexpr size_t kBadgesOfOne = 4;  // of one finding

bool same_spot(Point a, Point b) { return std::hypot(a[0] - b[0], a[1] - b[1]) < 2 * kBadge + 1; }

Point between(Point a, Point b, double share) {
  return {a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share};
}

std::string kind_text(const std::string& kind, const Texts& t) {
  const std::string id = "checked." + kind;
  if (has_text(id)) return t(id);
  std::string out = kind;
  std::ranges::replace(out, '_', ' ');
  return out;
}

const char* mark_word(PictureMark mark) {
  switch (mark) {
    case PictureMark::fail:
      return "state.fail";
    case PictureMark::warn:
      return "state.warn";
    case PictureMark::waived:
      return "state.waived";
  }
  return "state.fail";
}

}  // namespace

const char* mark_class(PictureMark mark) {
  switch (mark) {
    case PictureMark::fail:
      return "fx-fail";
    case PictureMark::warn:
      return "fx-warn";
    case PictureMark::waived:
      return "fx-waived";
  }
  return "fx-fail";
}

void paint_badge(Svg& svg, Point middle, PictureMark mark, const std::string& text) {
  const auto [x, y] = middle;
  const std::string css = std::string("fx-badge ") + mark_class(mark);
  constexpr double kCorner = kBadge + 2.5;
  if (mark == PictureMark::warn)
    svg.polygon({{x, y - kCorner}, {x + kCorner, y}, {x, y + kCorner}, {x - kCorner, y}}, css);
  else
    svg.circle(middle, kBadge, css);
  svg.text({x, y + 3.6}, text, std::string("fx-in ") + mark_class(mark), "middle");
}

FindingPainter::FindingPainter(Svg& svg, const FabricPicture& picture,
                               const PictureGeometry& geometry)
    : svg_(svg), picture_(picture), geometry_(geometry), t_(picture.lang) {
  order_.resize(picture.layout.findings.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  spread_hosts();
  std::ranges::stable_sort(order_, {},
                           [&](size_t i) { return static_cast<int>(picture.marks[i]); });
}

// In the middle of the switch, then to its right and left in turn.
void FindingPainter::spread_hosts() {
  std::map<size_t, size_t> seen;
  for (const LayoutFinding& finding : picture_.layout.findings) {
    for (const LayoutPlace& place : finding.places) {
      if (!place.from || place.host.empty()) continue;
      const auto [at, fresh] = host_x_.try_emplace({*place.from, place.host}, 0.0);
      if (!fresh) continue;
      constexpr size_t kSteps = 7;
      const size_t n = seen[*place.from]++ % kSteps;
      const size_t aside = (n + 1) / 2;
      const double steps = static_cast<double>(aside) * (n % 2 == 0 ? -1 : 1);
      const PictureBox& cell = geometry_.cell[*place.from];
      at->second = cell.middle() + steps * cell.size[0] / (kSteps + 1);
    }
  }
}

bool FindingPainter::uses(PictureMark mark) const {
  return std::ranges::find(picture_.marks, mark) != picture_.marks.end();
}

bool FindingPainter::uses_absent() const {
  return std::ranges::any_of(picture_.layout.findings, [](const LayoutFinding& f) {
    return std::ranges::any_of(f.places, &LayoutPlace::absent);
  });
}

std::optional<FindingPainter::Line> FindingPainter::line_of(const LayoutPlace& place) const {
  if (!place.from) return std::nullopt;
  const PictureBox& a = geometry_.cell[*place.from];
  if (!place.host.empty()) {
    const auto hosts = geometry_.hosts.find(picture_.layout.switches[*place.from].group);
    const double y = hosts == geometry_.hosts.end() ? a.bottom() + 30 : hosts->second.corner[1];
    const double x = host_x_.at({*place.from, place.host});
    return Line{{x, a.bottom()}, {x, y}};
  }
  if (!place.to) return std::nullopt;
  const PictureBox& b = geometry_.cell[*place.to];
  const bool a_above = a.corner[1] < b.corner[1];
  const PictureBox& upper = a_above ? a : b;
  const PictureBox& lower = a_above ? b : a;
  return Line{{lower.middle(), lower.corner[1]}, {upper.middle(), upper.bottom()}};
}

// The worst mark of each switch; a cross or a stroke tells them apart without colour.
void FindingPainter::fill_switches() {
  std::map<size_t, PictureMark> worst;
  for (size_t i = 0; i < picture_.layout.findings.size(); ++i) {
    for (const LayoutPlace& place : picture_.layout.findings[i].places) {
      for (const auto& at : {place.from, place.to}) {
        if (!at) continue;
        const auto [known, fresh] = worst.try_emplace(*at, picture_.marks[i]);
        if (!fresh) known->second = std::min(known->second, picture_.marks[i]);
      }
    }
  }
  for (const auto& [at, mark] : worst) {
    const PictureBox& cell = geometry_.cell[at];
    const bool single = cell.size[0] > cell.size[1] * 1.5;
    const std::string css = std::string(single ? "fx-ring " : "fx-cell ") + mark_class(mark);
    svg_.rect(cell.corner, cell.size, css, picture_.layout.switches[at].name);
    if (single || mark == PictureMark::waived) continue;
    const double x = cell.corner[0], y = cell.corner[1], s = cell.size[0];
    std::string strokes = fmt::format("M{:.1f} {:.1f}l{:.1f} {:.1f}", x + 1, y + 1, s - 2, s - 2);
    if (mark == PictureMark::fail)
      strokes += fmt::format("M{:.1f} {:.1f}l{:.1f} {:.1f}", x + s - 1, y + 1, 2 - s, s - 2);
    svg_.path(strokes, std::string("fx-cross ") + mark_class(mark));
  }
}

void FindingPainter::paint_lines(size_t finding) {
  for (const LayoutPlace& place : picture_.layout.findings[finding].places) {
    const auto line = line_of(place);
    if (!line) continue;
    const std::string mark = mark_class(picture_.marks[finding]);
    svg_.line(line->from, line->to, "fx-halo");
    svg_.line(line->from, line->to, (place.absent ? "fx-absent " : "fx-link ") + mark);
  }
}

Point FindingPainter::free_point(const std::vector<Point>& wanted) {
  const auto is_free = [&](Point p) {
    return std::ranges::none_of(taken_, [&](Point other) { return same_spot(p, other); });
  };
  const auto found = std::ranges::find_if(wanted, is_free);
  taken_.push_back(found == wanted.end() ? wanted.front() : *found);
  return taken_.back();
}

void FindingPainter::badge_at(const LayoutPlace& place, size_t number, PictureMark mark) {
  std::vector<Point> wanted;
  if (const auto line = line_of(place)) {
    for (const double share : {0.5, 0.34, 0.66, 0.22, 0.78, 0.42, 0.58})
      wanted.push_back(between(line->from, line->to, share));
    for (const double aside : {17.0, -17.0, 34.0, -34.0})
      wanted.push_back({wanted.front()[0] + aside, wanted.front()[1]});
  } else if (place.from) {
    const PictureBox& cell = geometry_.cell[*place.from];
    for (const double down : {0.0, 17.0, 34.0}) {
      wanted.push_back({cell.corner[0] + cell.size[0], cell.corner[1] - 3 + down});
      wanted.push_back({cell.corner[0], cell.corner[1] - 3 + down});
    }
  }
  if (!wanted.empty()) paint_badge(svg_, free_point(wanted), mark, std::to_string(number));
}

void FindingPainter::paint_badges() {
  for (size_t i = 0; i < std::min(order_.size(), kNumberedFindings); ++i) {
    const LayoutFinding& finding = picture_.layout.findings[order_[i]];
    // What is there stands before what should be.
    std::vector<LayoutPlace> places = finding.places;
    std::stable_partition(places.begin(), places.end(),
                          [](const LayoutPlace& p) { return !p.absent; });
    if (places.size() > kBadgesOfOne) places.resize(kBadgesOfOne);
    const bool some_present = !places.empty() && !places.front().absent;
    for (const LayoutPlace& place : places) {
      if (!place.absent || !some_present) badge_at(place, i + 1, picture_.marks[order_[i]]);
    }
  }
}

void FindingPainter::paint_links() {
  const size_t drawn = std::min(order_.size(), kDrawnLines);
  for (size_t i = drawn; i > 0; --i) paint_lines(order_[i - 1]);
}

void FindingPainter::paint_marks() {
  fill_switches();
  paint_badges();
}

double FindingPainter::key_height() const {
  const size_t shown = std::min(order_.size(), kNumberedFindings);
  const size_t all = order_.size() + picture_.layout.findings_left_out;
  return kKeyLine * static_cast<double>(std::max<size_t>(1, shown) + (all > shown ? 1 : 0));
}

void FindingPainter::paint_key(double top) {
  double y = top + 12;
  const size_t shown = std::min(order_.size(), kNumberedFindings);
  for (size_t i = 0; i < shown; ++i) {
    const LayoutFinding& finding = picture_.layout.findings[order_[i]];
    const PictureMark mark = picture_.marks[order_[i]];
    paint_badge(svg_, {12, y - 4}, mark, std::to_string(i + 1));
    std::string text = t_("picture.key", t_(mark_word(mark)), kind_text(finding.kind, t_),
                          finding.part.empty() ? t_("picture.whole") : finding.part);
    if (!finding.part.empty() && finding.places.empty()) text += t_.gap() + t_("picture.no_place");
    svg_.text({28, y}, fit_label(text, kPictureWidth - 40), "fx-t");
    y += kKeyLine;
  }
  const size_t all = order_.size() + picture_.layout.findings_left_out;
  if (all == 0) svg_.text({4, y}, t_("picture.none"), "fx-t");
  if (all > shown) svg_.text({28, y}, t_.count("picture.more", all - shown), "fx-t");
}

}  // namespace cb
