// Functions of newer versions of glibc, for programs and libraries that have to run with
// glibc 2.28.
//
// The wheel is built on a system whose glibc is newer. Its files ask for __libc_start_main and the
// functions of stat in versions that glibc 2.28 does not have. graft_wheel.py takes the version
// from those symbols, so that the loader finds the functions here: this library comes first among
// the libraries of a program.
//
// Start of a program. Since glibc 2.34 a program no longer runs its own constructors;
// __libc_start_main finds them. The
// __libc_start_main of glibc 2.28 calls the function that the program passes as init, and such a
// program passes none. The function here passes one that runs the constructors. (The loader runs
// those of .preinit_array, and the destructors, with every glibc.)
#undef _FILE_OFFSET_BITS // with it stat would be another name of stat64
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.17"
#endif

typedef int main_function(int argc, char **argv, char **environment);
typedef void constructor(int argc, char **argv, char **environment);

int octet_old_start_main(main_function *program, int argc, char **argv, constructor *init,
                         void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
__asm__(".symver octet_old_start_main, __libc_start_main@" OLDEST);

int __libc_start_main(main_function *program, int argc, char **argv, constructor *init,
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

// dl_iterate_phdr reports the program first.
static int
first_object(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    *(struct dl_phdr_info *)out = *info;
    return 1;
}

static const ElfW(Dyn) * dynamic_section(const struct dl_phdr_info *program)
{
    for (size_t i = 0; i < program->dlpi_phnum; i++) {
        if (program->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            return (const ElfW(Dyn) *)(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
        }
    }
    return NULL;
}

static void
run_constructors(int argc, char **argv, char **environment)
{
    struct dl_phdr_info program;
    constructor *first = NULL, **array = NULL;
    size_t count = 0;
    (void)dl_iterate_phdr(first_object, &program);
    for (const ElfW(Dyn) *entry = dynamic_section(&program);
         entry != NULL && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_INIT) {
            first = (constructor *)(program.dlpi_addr + entry->d_un.d_ptr);
        } else if (entry->d_tag == DT_INIT_ARRAY) {
            array = (constructor **)(program.dlpi_addr + entry->d_un.d_ptr);
        } else if (entry->d_tag == DT_INIT_ARRAYSZ) {
            count = entry->d_un.d_val / sizeof(*array);
        }
    }
    if (first != NULL) {
        first(argc, argv, environment);
    }
    for (size_t i = 0; i < count; i++) {
        array[i](argc, argv, environment);
    }
}

int
__libc_start_main(main_function *program, int argc, char **argv, constructor *init,
                  void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    return octet_old_start_main(program, argc, argv, init != NULL ? init : run_constructors, fini,
                                rtld_fini, stack_end);
}

// struct stat is the kernel's on these machines.
int
stat(const char *path, struct stat *out)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, out, 0);
}

int
lstat(const char *path, struct stat *out)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

int
fstat(int fd, struct stat *out)
{
    return (int)syscall(SYS_fstat, fd, out);
}

int
fstatat(int folder, const char *path, struct stat *out, int flags)
{
    return (int)syscall(SYS_newfstatat, folder, path, out, flags);
}

int
stat64(const char *path, struct stat64 *out)
{
    return stat(path, (struct stat *)out);
}

int
lstat64(const char *path, struct stat64 *out)
{
    return lstat(path, (struct stat *)out);
}

int
fstat64(int fd, struct stat64 *out)
{
    return fstat(fd, (struct stat *)out);
}

int
fstatat64(int folder, const char *path, struct stat64 *out, int flags)
{
    return fstatat(folder, path, (struct stat *)out, flags);
}
