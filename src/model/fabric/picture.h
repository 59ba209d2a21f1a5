// The picture of a subnet: tiers as rows, groups of switches as boxes, links as bundles with their
// number, and each finding where it is. Pure: equal input gives equal bytes. No script.
#pragma once

#include <string>
#include <vector>

#include "core/messages/texts.h"
#include "model/fabric/layout.h"

namespace cb {

// How a finding is drawn: each mark has a shape and a word besides its colour.
enum class PictureMark { fail, warn, waived };
// Without a profile: of kOtherPorts a warning, as only the paper is wrong.
PictureMark usual_mark(const LayoutFinding& finding);

struct FabricPicture {
  FabricLayout layout;
  std::vector<PictureMark> marks;  // of each of layout.findings
  Lang lang = Lang::en;
};

// "Subnet: 128 hosts, 1024 adapters, 48 switches, 2048 links".
std::string picture_title(const FabricPicture& picture);
// What it shows, in words.
std::string picture_caption(const FabricPicture& picture);

// The <svg> element for a page. `id` must be unique in the page.
std::string draw_fabric(const FabricPicture& picture, const std::string& id,
                        const std::string& title, const std::string& description);
// The same as a file of its own.
std::string fabric_svg_file(const FabricPicture& picture);

// Findings with a number and a line in the picture's key.
constexpr size_t kNumberedFindings = 12;

}  // namespace cb
