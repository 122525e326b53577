#ifndef COMMON_OCT_LOCALE_H
#define COMMON_OCT_LOCALE_H

#include <locale.h>

// The locale C, whose numbers have a point. Files, messages and Prometheus' format have them in it.
// That of the program may have commas: libraries of Octet are in programs of others, and a plug-in
// may call setlocale.
//
// Threads: any. Owns: static storage.
locale_t oct_locale_plain(void);

#endif // COMMON_OCT_LOCALE_H
