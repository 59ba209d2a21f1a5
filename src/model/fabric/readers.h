// Files in which others have written down a subnet. Pure. Each reader throws UsageError with `file`
// and the place where it cannot read on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/fabric/net.h"

namespace cb {

// Reads a file of any kind that is known, by its content; else as ibnetdiscover's.
Net read_subnet(const std::string& text, const std::string& file);

// What `ibnetdiscover --cache` writes: everything that it was told.
Net read_cache(std::string_view bytes, const std::string& file);
// `iblinkinfo`, with -l or without.
Net read_iblinkinfo(std::string_view text, const std::string& file);
// `ibqueryerrors`, with --data or without: a port that it does not name has no errors.
Net read_ibqueryerrors(std::string_view text, const std::string& file);
// `dump_fts`, `dump_lfts`, and what OpenSM writes to opensm-lfts.dump.
Net read_forwarding(std::string_view text, const std::string& file);
// ibdiagnet2.db_csv.
Net read_db_csv(std::string_view text, const std::string& file);
// UFM's answers to /resources/ports, /resources/links, /resources/systems and /app/alarms, as curl
// saves them.
Net read_ufm(std::string_view text, const std::string& file);

// Joins what several files tell of one subnet: nodes by their GUID, their ports' GUIDs or their
// names, links by their ends; what one does not know the other fills in. Where both know, the first
// stands.
Net join_nets(const std::vector<Net>& nets);

}  // namespace cb
