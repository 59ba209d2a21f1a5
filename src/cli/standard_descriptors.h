#pragma once

namespace cb {

// Opens /dev/null on each of the descriptors 0, 1 and 2 that is closed. Otherwise the next file
// opened would get its number, and text meant for the terminal would go into that file. Throws
// Error on failure. Call it before anything else is opened.
void open_standard_descriptors();

// True if it was closed: what is written there is seen by nobody.
bool standard_output_was_closed();

}  // namespace cb
