#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/messages/texts.h"
#include "judge/handover.h"
#include "judge/verdict.h"

namespace cb {

// The day as on which `report` judges. Not the clock: a report made next year says the same. A
// campaign without an end has its begin.
std::string report_day(const Campaign& campaign);

// The acceptance report as one self-contained page.
std::string report_page(const Campaign& campaign, const Judgement& judgement,
                        const Paperwork& papers, Lang lang);

// Whether DIR/report-signed.html is, byte for byte, what `report DIR` writes, with the signatures
// as they were verified or with none of the keys known.
bool is_our_signed_report(const std::filesystem::path& directory, const SignoffCheck& verified);

}  // namespace cb
