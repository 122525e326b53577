// What newlib or picolibc wants of a machine, for programs that were compiled for a bare Cortex-M
// or RISC-V and are run by qemu-user: its Linux system calls. No semihosting: qemu-arm 7.2 cannot
// run its Cortex-M models, so the Thumb-2 code of a Cortex-M runs on its largest Cortex-A, which
// has all of these instructions.

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#ifdef __riscv
#define SYSTEM_EXIT  93
#define SYSTEM_WRITE 64
#else
#define SYSTEM_EXIT  1
#define SYSTEM_WRITE 4
#endif
#define HEAP_BYTES (64 * 1024)

void _start(void);
void _exit(int code);
int _write(int file, const char *bytes, int count);
void *_sbrk(ptrdiff_t bytes);
int _close(int file);
int _fstat(int file, struct stat *st);
int _isatty(int file);
int _lseek(int file, int offset, int whence);
int _read(int file, char *bytes, int count);
int _getpid(void);
int _kill(int pid, int signal);
int main(void);

static int
system_call(int number, int a, const void *b, int c)
{
#ifdef __riscv
    register int a0 __asm__("a0") = a;
    register const void *a1 __asm__("a1") = b;
    register int a2 __asm__("a2") = c;
    register int a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
#else
    register int r0 __asm__("r0") = a;
    register const void *r1 __asm__("r1") = b;
    register int r2 __asm__("r2") = c;
    register int r7 __asm__("r7") = number;
    __asm__ volatile("svc 0" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r7) : "memory");
    return r0;
#endif
}

void
_exit(int code)
{
    for (;;) {
        (void)system_call(SYSTEM_EXIT, code, NULL, 0);
    }
}

void
_start(void)
{
#ifdef __riscv
    __asm__ volatile(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop");
#endif
    int code = main();
    (void)fflush(stdout);
    _exit(code);
}

#ifdef __PICOLIBC__
static int
output_put(char c, FILE *file)
{
    (void)file;
    return system_call(SYSTEM_WRITE, 1, &c, 1) == 1 ? c : EOF;
}

static FILE output = FDEV_SETUP_STREAM(output_put, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdout = &output;
#endif

int
_write(int file, const char *bytes, int count)
{
    return system_call(SYSTEM_WRITE, file, bytes, count);
}

void *
_sbrk(ptrdiff_t bytes)
{
    static char heap[HEAP_BYTES] __attribute__((aligned(8)));
    static ptrdiff_t used;
    if (bytes > HEAP_BYTES - used) {
        return (void *)-1;
    }
    used += bytes;
    return heap + used - bytes;
}

int
_close(int file)
{
    return file < 0 ? -1 : 0;
}

int
_fstat(int file, struct stat *st)
{
    st->st_mode = S_IFCHR;
    return file < 0 ? -1 : 0;
}

int
_isatty(int file)
{
    return file < 3;
}

int
_lseek(int file, int offset, int whence)
{
    (void)file;
    (void)offset;
    (void)whence;
    return 0;
}

int
_read(int file, char *bytes, int count)
{
    (void)file;
    (void)bytes;
    (void)count;
    return 0;
}

int
_getpid(void)
{
    return 1;
}

int
_kill(int pid, int signal)
{
    (void)pid;
    (void)signal;
    return -1;
}
