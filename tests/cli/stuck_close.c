// A socket that never closes: preloaded into a program, as nng_close can hang
// (docs/internals/decisions).
#include <stdint.h>
#include <unistd.h>

int nng_close(uint32_t socket);

int
nng_close(uint32_t socket)
{
    (void)socket;
    for (;;) {
        pause();
    }
}
