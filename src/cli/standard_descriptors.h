#pragma once

namespace cb {

// Opens /dev/null on those of the descriptors 0, 1 and 2 that are closed: the next file that is
// opened would get their number, and what is meant for the terminal would be written into it.
// Throws Error if that cannot be done. Comes before anything else is opened.
void open_standard_descriptors();

}  // namespace cb
