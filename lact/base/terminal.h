// The terminal that a person looks at.
#pragma once

namespace lact {

/// Columns of the terminal behind a file descriptor; 80 if there is none.
int terminal_columns(int descriptor);

/// Its rows; 24 if there is none.
int terminal_rows(int descriptor);

/// Whether lines on it can be cleared and written anew.
bool can_rewrite_lines(int descriptor);

}  // namespace lact
