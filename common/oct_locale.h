#ifndef COMMON_OCT_LOCALE_H
#define COMMON_OCT_LOCALE_H

#include <locale.h>

// Returns the locale C, which writes numbers with a decimal point, as files, messages and
// Prometheus' format need them. The locale of the program may write a comma: foreign programs link
// libraries of Octet, and a plug-in may call setlocale.
//
// Threads: any. Owns: static storage.
locale_t oct_locale_plain(void);

#endif // COMMON_OCT_LOCALE_H
