#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/messages/texts.h"
#include "judge/handover.h"
#include "judge/verdict.h"

namespace cb {

// The day that `report` judges by: the day the campaign ended, or began if it has no end. It is not
// today, so that a report made next year says the same.
std::string report_day(const Campaign& campaign);

// The acceptance report as one self-contained page.
std::string report_page(const Campaign& campaign, const Judgement& judgement,
                        const Paperwork& papers, Lang lang);

// True if DIR/report-signed.html is, byte for byte, what `report DIR` writes, with the signatures
// as verified or with no key known.
bool is_our_signed_report(const std::filesystem::path& directory, const SignoffCheck& verified);

}  // namespace cb
