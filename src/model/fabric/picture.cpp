#include "model/fabric/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "model/fabric/picture_findings.h"
#include "model/fabric/picture_geometry.h"

namespace cb {
namespace {

// The classes have names of their own, as a style within a page holds for all of it. The first two
// rules give the picture the page's whole width.
constexpr const char* kPictureStyle =
    ".figures.single:has(.fx-h){grid-template-columns:minmax(0,1fr)}"
    "@media print{.figures.single:has(.fx-h){grid-template-columns:minmax(0,1fr)}}"
    ".fx-h{font-size:12px;font-weight:700;fill:#1b2430}.fx-t{font-size:11px;fill:#1b2430}"
    ".fx-m{font-size:11px;fill:#55616d}"
    ".fx-n{font-size:10.5px;fill:#1b2430;stroke:#fff;stroke-width:3;paint-order:stroke}"
    ".fx-group{fill:#f4f6f8;stroke:#7b8794}.fx-switch{fill:#fff;stroke:#7b8794;stroke-width:.8}"
    ".fx-hosts{fill:#fff;stroke:#7b8794;stroke-dasharray:3 2}"
    ".fx-bundle{fill:none;stroke:#a4afba}.fx-w2{stroke-width:1}.fx-w3{stroke-width:1.5}"
    ".fx-w4{stroke-width:2}.fx-w5{stroke-width:2.5}.fx-w6{stroke-width:3}.fx-w7{stroke-width:3.5}"
    ".fx-w8{stroke-width:4}.fx-w9{stroke-width:4.5}.fx-w10{stroke-width:5}"
    ".fx-halo{stroke:#fff;stroke-width:5}.fx-link{stroke-width:2.6}"
    ".fx-absent{stroke-width:2;stroke-dasharray:6 4}"
    ".fx-link.fx-fail,.fx-absent.fx-fail{stroke:#a8221b}"
    ".fx-link.fx-warn,.fx-absent.fx-warn{stroke:#b07800}"
    ".fx-link.fx-waived,.fx-absent.fx-waived{stroke:#55616d}"
    ".fx-cell.fx-fail{fill:#a8221b}.fx-cell.fx-warn{fill:#f2c14e}"
    ".fx-cell.fx-waived{fill:#dfe4e9;stroke:#55616d}"
    ".fx-ring{fill:none;stroke-width:3}.fx-ring.fx-fail{stroke:#a8221b}"
    ".fx-ring.fx-warn{stroke:#b07800}.fx-ring.fx-waived{stroke:#55616d;stroke-dasharray:3 2}"
    ".fx-cross{fill:none;stroke-width:1.4}.fx-cross.fx-fail{stroke:#fff}"
    ".fx-cross.fx-warn{stroke:#1b2430}"
    ".fx-badge.fx-fail{fill:#a8221b;stroke:#fff}.fx-badge.fx-warn{fill:#f2c14e;stroke:#1b2430}"
    ".fx-badge.fx-waived{fill:#fff;stroke:#55616d;stroke-dasharray:2 1.5}"
    ".fx-in{font-size:10px;font-weight:700;fill:#1b2430}.fx-in.fx-fail{fill:#fff}";

constexpr double kAboveKey = 20;
constexpr double kLegendHeight = 30;
// With more switches a box for each with its name would make the file too large.
constexpr size_t kNamedSwitches = 1000;

std::string range_text(size_t least, size_t most) {
  return least == most ? std::to_string(least) : fmt::format("{}–{}", least, most);
}

// The first of these texts that fits, else the last, shortened.
std::string fitting(const std::vector<std::string>& texts, double pixels) {
  for (const std::string& text : texts) {
    if (label_width(text) <= pixels) return text;
  }
  return fit_label(texts.back(), pixels);
}

class FabricDrawing {
 public:
  FabricDrawing(const FabricPicture& picture, const PictureGeometry& geometry, Svg& svg)
      : layout_(picture.layout), geometry_(geometry), svg_(svg), t_(picture.lang) {
    members_.resize(layout_.groups.size());
    for (size_t i = 0; i < layout_.switches.size(); ++i)
      members_[layout_.switches[i].group].push_back(i);
  }

  void draw() {
    draw_bundles();
    draw_host_lines();
    for (const PictureRow& row : geometry_.rows) {
      for (const size_t g : row.groups) draw_group(row, g);
      label_row(row);
    }
    draw_hosts();
  }

  // After the lines of findings, which would cross them.
  void draw_heads() {
    for (const auto& [at, text] : heads_) svg_.text(at, text, "fx-n", "middle");
  }

  void legend(double top, const FindingPainter& findings) {
    double x = 4;
    const double y = top + 16;
    const auto word = [&](const std::string& text) {
      svg_.text({x, y}, text, "fx-m");
      x += label_width(text) + 18;
    };
    svg_.rect({x, y - 9}, {10, 10}, "fx-switch");
    x += 16;
    word(t_("picture.legend.switch"));
    svg_.path(fmt::format("M{:.1f} {:.1f}h22", x, y - 6), "fx-bundle fx-w2");
    svg_.path(fmt::format("M{:.1f} {:.1f}h22", x, y - 1), "fx-bundle fx-w8");
    x += 28;
    word(t_("picture.legend.bundle"));
    for (const auto& [mark, id] :
         {std::pair(PictureMark::fail, "state.fail"), std::pair(PictureMark::warn, "state.warn"),
          std::pair(PictureMark::waived, "state.waived")}) {
      if (!findings.uses(mark)) continue;
      paint_badge(svg_, {x + 8, y - 4}, mark, "n");
      x += 22;
      word(t_(id));
    }
    if (!findings.uses_absent()) return;
    svg_.line({x, y - 4}, {x + 26, y - 4}, "fx-absent fx-fail");
    x += 32;
    word(t_("picture.legend.absent"));
  }

 private:
  std::string group_name(const LayoutGroup& group, bool brief) const {
    std::string out;
    if (group.pod > 0) {
      const std::string pods = range_text(group.pod, group.last_pod);
      out = brief ? pods : t_("picture.pod", pods);
    }
    if (!group.rail.empty()) out += (out.empty() ? "" : " ") + group.rail;
    return out;
  }

  void draw_group(const PictureRow& row, size_t g) {
    const LayoutGroup& group = layout_.groups[g];
    const PictureBox& box = geometry_.group[g];
    if (row.single) {
      for (const size_t s : members_[g]) {
        const LayoutSwitch& one = layout_.switches[s];
        svg_.rect(box.corner, box.size, "fx-group", switch_title(one));
        svg_.text({box.middle(), box.corner[1] + box.size[1] / 2 + 4},
                  fit_label(one.name, box.size[0] - 6), "fx-t", "middle");
      }
      return;
    }
    const std::string count = t_.count("picture.switches", members_[g].size());
    const std::string name = group_name(group, false);
    svg_.begin_group(name.empty() ? count : name + ": " + count);
    svg_.rect(box.corner, box.size, "fx-group");
    std::vector<std::string> heads;
    if (!name.empty()) heads = {name + ": " + count, name, group_name(group, true)};
    if (name.empty()) heads = {count, std::to_string(members_[g].size())};
    heads_.emplace_back(Point{box.middle(), box.corner[1] + 12}, fitting(heads, box.size[0] - 4));
    svg_.end_group();
    draw_cells(members_[g]);
  }

  std::string switch_title(const LayoutSwitch& one) const {
    return one.adapters() == 0 ? one.name
                               : one.name + ": " + t_.count("picture.adapters", one.adapters());
  }

  void draw_cells(const std::vector<size_t>& cells) {
    if (layout_.switches.size() <= kNamedSwitches) {
      for (const size_t s : cells)
        svg_.rect(geometry_.cell[s].corner, geometry_.cell[s].size, "fx-switch",
                  switch_title(layout_.switches[s]));
      return;
    }
    std::vector<Point> corners;
    for (const size_t s : cells) corners.push_back(geometry_.cell[s].corner);
    if (!cells.empty()) svg_.squares(corners, geometry_.cell[cells.front()].size[0], "fx-switch");
  }

  void label_row(const PictureRow& row) {
    const bool highest = &row == &geometry_.rows.front() && geometry_.rows.size() > 1;
    const std::string name = row.tier == 0              ? t_("picture.leaves")
                             : highest && row.tier >= 2 ? t_("picture.cores")
                             : row.tier == 1            ? t_("picture.spines")
                                                        : t_("picture.tier", row.tier + 1);
    const double y = row.top + 12;
    svg_.text({4, y}, name, "fx-h");
    svg_.text({4, y + 14}, t_.count("picture.switches", row.switches), "fx-m");
  }

  // How many links a bundle between these tiers has: what most have, if more than half do.
  void draw_bundles() {
    std::map<std::pair<int, int>, std::vector<const LayoutBundle*>> tiers;
    for (const LayoutBundle& b : layout_.bundles)
      tiers[{layout_.groups[b.lower].tier, layout_.groups[b.upper].tier}].push_back(&b);
    for (const auto& [tier, bundles] : tiers) {
      draw_tier_bundles(bundles);
      if (tier.first != tier.second) label_bundles(bundles);
    }
  }

  static size_t usual_count(const std::vector<const LayoutBundle*>& bundles) {
    std::map<size_t, size_t> votes;
    for (const LayoutBundle* b : bundles) ++votes[b->links];
    const auto most = std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; });
    return 2 * most->second > bundles.size() ? most->first : 0;
  }

  // Where the line to the other group leaves a box: in the order of those groups, so that lines of
  // one box do not lie upon each other.
  double anchor(size_t from, size_t to) const {
    const PictureBox& box = geometry_.group[from];
    const double far = geometry_.group[to].middle();
    const double share =
        std::clamp((far - kPictureLeft) / (kPictureWidth - kPictureLeft), 0.0, 1.0);
    return box.middle() + (share - 0.5) * box.size[0] * 0.7;
  }

  void draw_tier_bundles(const std::vector<const LayoutBundle*>& bundles) {
    constexpr size_t kAllNumbered = 12;
    const size_t usual = usual_count(bundles);
    const size_t unusual = static_cast<size_t>(
        std::ranges::count_if(bundles, [&](const LayoutBundle* b) { return b->links != usual; }));
    std::map<int, std::string> by_width;  // in half pixels
    for (const LayoutBundle* b : bundles) {
      const PictureBox& lower = geometry_.group[b->lower];
      const PictureBox& upper = geometry_.group[b->upper];
      const double x1 = anchor(b->lower, b->upper), x2 = anchor(b->upper, b->lower);
      const double y1 = lower.corner[1], y2 = upper.bottom();
      std::string& path = by_width[line_width(b->links, bundles.size())];
      // Links within a tier bow over it.
      path += y2 < y1 ? fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x1, y1, x2, y2)
                      : fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", x1, y1,
                                    (x1 + x2) / 2, y1 - 60, x2, upper.corner[1]);
      const bool numbered = b->links != usual && (unusual <= kAllNumbered);
      if (numbered && y2 < y1)
        heads_.emplace_back(Point{x1 + (x2 - x1) * 0.2, y1 + (y2 - y1) * 0.2 + 4},
                            std::to_string(b->links));
    }
    for (const auto& [half_pixels, path] : by_width)
      svg_.path(path, fmt::format("fx-bundle fx-w{}", half_pixels));
  }

  static int line_width(size_t links, size_t lines) {
    const int most = lines > 200 ? 2 : lines > 60 ? 5 : 10;
    const double wanted = 2 + 1.1 * std::log2(static_cast<double>(std::max<size_t>(1, links)));
    return std::clamp(static_cast<int>(std::lround(wanted)), 2, most);
  }

  void label_bundles(const std::vector<const LayoutBundle*>& bundles) {
    size_t least = bundles.front()->links, most = 0, all = 0;
    for (const LayoutBundle* b : bundles) {
      least = std::min(least, b->links);
      most = std::max(most, b->links);
      all += b->links;
    }
    const PictureRow& lower = geometry_.row_of(layout_, bundles.front()->lower);
    const double y = lower.top - 46;
    svg_.text({4, y}, t_.count("picture.links", all), "fx-m");
    svg_.text({4, y + 14}, t_("picture.per_line", range_text(least, most)), "fx-m");
  }

  void draw_host_lines() {
    std::string path;
    for (const auto& [g, box] : geometry_.hosts) {
      const double y = geometry_.group[g].bottom();
      path += fmt::format("M{:.1f} {:.1f}V{:.1f}", box.middle(), y, box.corner[1]);
    }
    svg_.path(path, "fx-bundle fx-w6");
  }

  void draw_hosts() {
    if (geometry_.hosts.empty()) return;
    size_t least = layout_.adapters, most = 0;
    std::map<size_t, size_t> adapters;
    for (const LayoutSwitch& s : layout_.switches) {
      if (s.hosts.empty()) continue;
      adapters[s.group] += s.adapters();
      least = std::min(least, s.adapters());
      most = std::max(most, s.adapters());
    }
    for (const auto& [g, box] : geometry_.hosts) {
      const std::string number = std::to_string(adapters[g]);
      svg_.rect(box.corner, box.size, "fx-hosts");
      svg_.text({box.middle(), box.corner[1] + 15},
                fitting({t_.count("picture.adapters", adapters[g]), number}, box.size[0] - 4),
                "fx-t", "middle");
    }
    svg_.text({4, geometry_.hosts_top - 18}, t_.count("picture.hosts", layout_.hosts), "fx-h");
    svg_.text({4, geometry_.hosts_top - 3}, t_.count("picture.adapters", layout_.adapters), "fx-m");
    svg_.text({4, geometry_.hosts_top + 12}, t_("picture.per_leaf", range_text(least, most)),
              "fx-m");
  }

  const FabricLayout& layout_;
  const PictureGeometry& geometry_;
  Svg& svg_;
  Texts t_;
  std::vector<std::vector<size_t>> members_;
  std::vector<std::pair<Point, std::string>> heads_;  // of groups, and numbers of lines
};

}  // namespace

PictureMark usual_mark(const LayoutFinding& finding) {
  return finding.kind == kOtherPorts ? PictureMark::warn : PictureMark::fail;
}

std::string picture_title(const FabricPicture& picture) {
  const Texts t(picture.lang);
  const FabricLayout& l = picture.layout;
  return t("picture.title", l.hosts, l.adapters, l.switches.size(), l.links);
}

std::string picture_caption(const FabricPicture& picture) {
  const Texts t(picture.lang);
  const size_t all = picture.layout.findings.size() + picture.layout.findings_left_out;
  return t("picture.caption") + t.gap() +
         (all == 0 ? t("picture.none") : t.count("picture.findings", all));
}

std::string draw_fabric(const FabricPicture& picture, const std::string& id,
                        const std::string& title, const std::string& description) {
  const PictureGeometry geometry = picture_geometry(picture.layout);
  const double key = geometry.bottom + kAboveKey;
  Svg unused(0, 0, "", "", "");
  const double height =
      key + FindingPainter(unused, picture, geometry).key_height() + kLegendHeight;
  Svg svg(kPictureWidth, height, id, title, description);
  svg.style(kPictureStyle);
  FabricDrawing drawing(picture, geometry, svg);
  FindingPainter findings(svg, picture, geometry);
  drawing.draw();
  findings.paint_links();
  drawing.draw_heads();
  findings.paint_marks();
  findings.paint_key(key);
  drawing.legend(key + findings.key_height(), findings);
  return svg.str();
}

std::string fabric_svg_file(const FabricPicture& picture) {
  std::string svg =
      draw_fabric(picture, "fabric", picture_title(picture), picture_caption(picture));
  constexpr std::string_view kBegin = "<svg ";
  const std::string_view lang = picture.lang == Lang::zh ? "zh-CN" : "en";
  svg.replace(0, kBegin.size(),
              fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" xml:lang=\"{}\" "
                          "font-family=\"'Noto Sans','Segoe UI',Arial,'Noto Sans CJK SC',"
                          "'Microsoft YaHei',sans-serif\" ",
                          lang));
  return svg + "\n";
}

}  // namespace cb
