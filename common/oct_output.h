#ifndef COMMON_OCT_OUTPUT_H
#define COMMON_OCT_OUTPUT_H

// Filters standard output and standard error of a program, because a terminal obeys control
// characters.
//
// After oct_output_guard everything that stdio writes passes oct_text_tame_lines: control
// characters, and characters that reorder the text around them, become '?'. So a file name or a
// text of a peer cannot do harm, whichever code prints it. Descriptors are not guarded: oct_log and
// the screens write to them and filter their texts themselves.
//
// Full: where the caller has opened descriptor 1 or 2 with O_NONBLOCK, a reader that takes nothing
// is waited for once, for two seconds; what is printed after that is dropped.
//
// Threads: oct_output_guard runs before other threads start; after that, stdio's own locks suffice.

// Replaces stdout and stderr. Their buffering is as before: by lines to a terminal, else by blocks,
// and none for stderr. If memory is short they stay unguarded.
void oct_output_guard(void);
// Writes a text with this program's own escape sequences to descriptor 1 or 2, after all that was
// printed. The caller has filtered foreign parts (cli_line_add). If the descriptor cannot be
// written to, nothing happens.
void oct_output_styled(int fd, const char *text);

#endif // COMMON_OCT_OUTPUT_H
