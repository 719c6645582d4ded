// The terminal that a person looks at.
#pragma once

namespace lact {

/// Columns of the terminal behind a file descriptor; 80 if there is none.
int terminal_columns(int descriptor);

}  // namespace lact
