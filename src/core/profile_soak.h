// The profile's soak: which steps are run again and again, and the criteria that judge it.
#pragma once

#include "core/profile.h"
#include "core/profile_reader.h"

namespace cb {

// Reads {"soak": "interruptions"|"mean_time_between_interruptions"|"decay"|"events", …}.
SoakRule read_soak_rule(ProfileReader& reader);

// Reads the profile's "soak". Gives criteria of a soak that name no step the soak's first one.
void read_soak(ProfileReader& reader, Profile& profile, Problems& problems);

// The soak's steps must be neighbours in the profile, an interruption must be judged, and criteria
// of a soak need one.
void validate_soak(const Profile& profile, Problems& problems);
void validate_soak_rule(const SoakRule& rule, const CaseInfo& info, const std::string& where,
                        Problems& problems);

// False for criteria that look at the soak as a whole and not at the figures of their step.
bool judges_figures(const Criterion& criterion);

// True if the criterion can fail for how often the soak was interrupted. Where one applies, a cycle
// that ended badly is evidence for it, and no gap.
bool counts_interruptions(const Criterion& criterion);

// True for a step of the soak that only reads what a host has counted and logged against itself.
// Those steps run once more after the last cycle: what happened in that cycle's loads is read then.
bool is_reading(const Profile& profile, const Step& step);

// True for a round of that number: the reading after the last cycle. Its jobs are of no cycle.
bool is_last_reading(const Profile& profile, size_t cycle);

// The kinds of events that "of" can name: name, class and whether the kernel's log tells it.
enum class EventClass { defect, degradation, environment, tool };
const char* event_class_name(EventClass c);  // "defect", …

struct EventKind {
  const char* name;
  EventClass cls;
  bool of_kernel_log;
};
const std::vector<EventKind>& event_kinds();
// Null if there is no such kind.
const EventKind* find_event_kind(std::string_view name);

}  // namespace cb
