#pragma once

#include <string>
#include <string_view>

namespace cb::netlink {

// Sends one question by rtnetlink and returns the messages of its answer behind one another, each
// with its header. `dump`: all messages up to the one that ends them. Throws Error (the kernel's
// reason, or that it does not answer within five seconds). Needs no rights.
std::string ask(int type, std::string_view body, bool dump);

// The same for one message of generic netlink; `body` begins with its own header.
std::string ask_generic(int family, std::string_view body);

// An attribute with its head and padding.
std::string attribute(unsigned short type, std::string_view value);

}  // namespace cb::netlink
