// Audits the files of replay tables against what actors wrote down: octet-replay's own recovery,
// then chaos_audit.h. usage: chaos_audit killed|cut|synced|damaged FILE[,FILE...] [ACKS[:COUNT]...]
// Prints what is wrong, then one line of numbers; of several files, those of recovery are the last
// one's. Exit code 0: sound, 1: not, 2: a file is refused.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "tests/chaos/chaos_audit.h"

#define FILES_MAX 16

// text: a path, and how many of its entries count (all of them).
static bool
claims_read(chaos_audit *audit, char *text)
{
    uint64_t count = UINT64_MAX;
    char *colon = strrchr(text, ':');
    if (colon != NULL) {
        *colon = '\0';
        count = strtoull(colon + 1, NULL, 10);
    }
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    size_t bytes = sizeof(chaos_acks) + CHAOS_ACKS_MAX * sizeof(chaos_ack);
    const chaos_acks *acks = fd >= 0 ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    bool is_there =
        acks != MAP_FAILED && memcmp(acks->magic, CHAOS_ACKS_MAGIC, sizeof(acks->magic)) == 0;
    if (is_there) {
        chaos_audit_claim(audit, acks->ack, OCT_MIN(count, acks->count));
    } else {
        fprintf(stderr, "%s is no file of acknowledgements\n", text);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_there;
}

static void
print(const chaos_audit_result *r, const replay_recovered *recovered)
{
    printf("rows=%" PRIu64 " taken=%" PRIu64 " blocks=%" PRIu64 " oldest=%" PRIu64 " acked=%" PRIu64
           " left=%" PRIu64 " unsynced=%" PRIu64 " missing=%" PRIu64 " doubled=%" PRIu64
           " foreign=%" PRIu64 " holes=%" PRIu64 " altered=%" PRIu64 " backward=%" PRIu64
           " streams=%" PRIu64 " miscount=%" PRIu64 " torn=%" PRIu64 " generation=%" PRIu64
           " exact=%d\n",
           r->rows, r->taken, r->blocks, r->oldest, r->acked, r->left, r->unsynced, r->missing,
           r->doubled, r->foreign, r->holes, r->altered, r->backward, r->streams, r->miscount,
           recovered->blocks_torn, recovered->generation, recovered->is_exact);
}

// False: it is refused; said.
static bool
file_take(chaos_audit *audit, const char *path, replay_file **out, replay_recovered *recovered)
{
    oct_reason why;
    if (replay_file_open(out, path, &why) != OCT_OK) {
        fprintf(stderr, "%s\n", why.text);
        return false;
    }
    if (replay_recover(recovered, *out, &why) != OCT_OK) {
        fprintf(stderr, "%s\n", why.text);
        replay_file_close(*out);
        return false;
    }
    chaos_audit_take(audit, *out);
    return true;
}

int
main(int argc, char **argv)
{
    static const char *const modes[] = {"killed", "cut", "synced", "damaged"};
    size_t mode = 0;
    while (argc >= 3 && mode < OCT_COUNTOF(modes) && strcmp(argv[1], modes[mode]) != 0) {
        mode++;
    }
    if (argc < 3 || mode == OCT_COUNTOF(modes)) {
        fprintf(stderr, "usage: chaos_audit killed|cut|synced|damaged FILE[,FILE...] "
                        "[ACKS[:COUNT]...]\n");
        return 2;
    }
    replay_recovered recovered = {0};
    replay_file *files[FILES_MAX];
    size_t count = 0;
    chaos_audit *audit = chaos_audit_create((chaos_audit_mode)mode);
    bool is_good = true;
    for (char *rest, *path = strtok_r(argv[2], ",", &rest); is_good && path != NULL;
         path = strtok_r(NULL, ",", &rest)) {
        is_good = count < FILES_MAX && file_take(audit, path, &files[count], &recovered);
        count += is_good;
    }
    bool is_read = true;
    for (int i = 3; is_good && i < argc; i++) {
        is_read &= claims_read(audit, argv[i]);
    }
    chaos_audit_result result = chaos_audit_end(audit);
    if (is_good) {
        fputs(chaos_audit_words(audit), stdout);
        print(&result, &recovered);
    }
    chaos_audit_destroy(audit);
    while (count > 0) {
        replay_file_close(files[--count]);
    }
    if (!is_good) {
        return 2;
    }
    return is_read && chaos_audit_is_sound(&result) ? 0 : 1;
}
