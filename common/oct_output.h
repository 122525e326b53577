#ifndef COMMON_OCT_OUTPUT_H
#define COMMON_OCT_OUTPUT_H

// Standard output and standard error of a program, where a terminal may obey what it is sent.
//
// After oct_output_guard everything that stdio writes there passes oct_text_tame_lines: control
// characters, and characters that reorder the text around them, arrive as '?'. So a name in a file,
// or a text of a peer, is safe in every message, whatever printed it. Descriptors are not guarded:
// oct_log and the screens write to them, and tame what they are given themselves.
//
// Threads: oct_output_guard before other threads start; stdio's own locks then.

// Replaces stdout and stderr. Their buffering stays: lines for a terminal, blocks otherwise, none
// for stderr. Without memory they stay as they are.
void oct_output_guard(void);
// Writes a text with escape sequences of this program to a descriptor, 1 or 2, behind all that was
// printed. Its foreign parts are tame already (cli_line_add). A descriptor that cannot be written
// is left alone.
void oct_output_styled(int fd, const char *text);

#endif // COMMON_OCT_OUTPUT_H
