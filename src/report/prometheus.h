#pragma once

#include <string>

#include "judge/signoff_data.h"
#include "judge/verdict.h"

namespace cb {

// The verdicts for node_exporter's textfile collector: a few series per criterion and none per
// host, base units, no timestamps. `completed` is the campaign's end in seconds since 1970; absent
// where it has none.
std::string render_prometheus(const Campaign& campaign, const Judgement& judgement,
                              const SignoffCheck& signatures = {});

// A label's value as the text format wants it, without control characters.
std::string prometheus_label(std::string_view text);

}  // namespace cb
