// Creates, checks and maps the file of a durable table.
#include "replay/replay_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_cgroup.h"
#include "common/oct_file.h"
#include "common/oct_pulse.h"
#include "common/oct_reason.h"
#include "replay/replay_step.h"

#define PAGE_BYTES    4096u
#define MIB           1048576.0
#define RESERVE_BYTES (64ull << 20) // allocated between two signs of life

static const char magic[8] = {'O', 'C', 'T', 'E', 'T', 'R', 'P', 'L'};
// The first bytes of a file without a header. The header is written last, so such a file holds no
// rows.
static const char unfinished[8] = {'O', 'C', 'T', 'E', 'T', 'N', 'E', 'W'};

static_assert(sizeof(replay_file_header) <= REPLAY_FILE_LIFE_AT, "page 0 holds both");
static_assert(REPLAY_FILE_LIFE_AT + sizeof(replay_file_identity) <= PAGE_BYTES,
              "page 0 holds both");
static_assert(offsetof(replay_snapshot, sessions) == sizeof(replay_snapshot), "no gap before them");
static_assert(sizeof(replay_mark) == 32, "a mark is never cut by the end of a sector");

// ---- where everything lies

static uint64_t
region_add(uint64_t *end, uint64_t bytes)
{
    uint64_t begin = *end;
    *end = begin + (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    return begin;
}

// Computes the rest of a header in which block_rows, blocks, the bytes of a row, sampler,
// journal_runs, sessions and version are set. Returns the layout of its blocks.
static replay_layout
header_lay(replay_file_header *header)
{
    replay_layout layout = replay_layout_make(header->block_rows, header->obs_bytes,
                                              header->action_bytes, header->extra_dim);
    const replay_select_ops *select = replay_select_find((int)header->sampler);
    replay_region_bytes bytes = replay_regions_measure(&layout, header->blocks, select);
    memcpy(header->magic, magic, sizeof(magic));
    header->byte_order = REPLAY_BYTE_ORDER;
    header->block_layout = REPLAY_BLOCK_LAYOUT;
    header->head_bytes = sizeof(replay_head);
    uint64_t end = PAGE_BYTES;
    header->live_at = region_add(&end, sizeof(replay_live));
    header->journal_at =
        region_add(&end, sizeof(replay_journal) +
                             header->journal_runs * (uint64_t)sizeof(replay_journal_entry));
    header->sessions_at =
        region_add(&end, header->sessions * (uint64_t)sizeof(replay_kept_session));
    header->snapshot_at[0] = region_add(&end, replay_snapshot_bytes(header->sessions));
    header->snapshot_at[1] = region_add(&end, replay_snapshot_bytes(header->sessions));
    header->marks_at = region_add(&end, header->blocks * (uint64_t)(2 * sizeof(replay_mark)));
    header->used_at = region_add(&end, bytes.used);
    header->select_at = region_add(&end, bytes.select);
    header->blocks_at = region_add(&end, bytes.blocks);
    header->file_bytes = end;
    header->crc = oct_crc32(0, header, offsetof(replay_file_header, crc));
    return layout;
}

static replay_file_header
header_of(const wire_configure *configure, uint32_t sessions, replay_layout *layout)
{
    replay_config_blocks blocks = replay_config_layout(configure);
    replay_file_header header;
    memset(&header, 0, sizeof(header));
    header.run_id = configure->run_id;
    header.block_rows = blocks.rows;
    header.blocks = blocks.count;
    header.obs_bytes = configure->obs_bytes;
    header.action_bytes = configure->action_bytes;
    header.extra_dim = configure->extra_dim;
    header.sampler = (uint32_t)configure->sampler;
    header.journal_runs = replay_config_batch_rows(configure);
    header.sessions = sessions;
    header.version = REPLAY_FILE_VERSION;
    *layout = header_lay(&header);
    return header;
}

uint64_t
replay_file_bytes(const wire_configure *configure)
{
    replay_layout layout;
    return header_of(configure, REPLAY_SESSIONS_MAX, &layout).file_bytes;
}

// Returns true if a header has the values that header_lay computes from its shape; then sets
// *layout.
static bool
header_is_whole(const replay_file_header *header, replay_layout *layout)
{
    uint32_t rows = header->block_rows;
    if (rows < REPLAY_BLOCK_ROWS_MIN || rows > REPLAY_BLOCK_ROWS_MAX || (rows & (rows - 1)) != 0 ||
        header->blocks == 0 || header->blocks > REPLAY_CAPACITY_MAX / rows + 1 ||
        (uint64_t)header->blocks * rows > UINT32_MAX || header->obs_bytes == 0 ||
        header->obs_bytes > WIRE_OBS_BYTES_MAX || header->action_bytes > 4 * WIRE_ACTIONS_MAX ||
        header->extra_dim > WIRE_EXTRA_MAX || header->journal_runs > WIRE_BATCH_COUNT_MAX ||
        header->sessions == 0 || header->sessions > REPLAY_SESSIONS_MAX ||
        !replay_select_find((int)header->sampler)) {
        return false;
    }
    replay_file_header wanted = *header;
    *layout = header_lay(&wanted);
    return memcmp(&wanted, header, sizeof(wanted)) == 0;
}

// ---- life

// The kernel and the file now. boot is "" if the kernel does not tell.
static replay_file_identity
life_now(const replay_file *file)
{
    replay_file_identity life;
    memset(&life, 0, sizeof(life));
    struct stat status;
    if (fstat(file->descriptor, &status) == 0) {
        life.device = status.st_dev;
        life.inode = status.st_ino;
    }
    int boot = oct_file_open("/proc/sys/kernel/random/boot_id", O_RDONLY, 0, NULL);
    if (boot >= 0) {
        if (read(boot, life.boot, sizeof(life.boot) - 1) < 0) {
            life.boot[0] = 0;
        }
        (void)close(boot);
    }
    return life;
}

bool
replay_file_is_live(const replay_file *file)
{
    replay_file_identity now = life_now(file);
    return now.boot[0] != 0 && memcmp(file->base + REPLAY_FILE_LIFE_AT, &now, sizeof(now)) == 0;
}

void
replay_file_set_live(replay_file *file)
{
    replay_file_identity now = life_now(file);
    replay_step();
    memcpy(file->base + REPLAY_FILE_LIFE_AT, &now, sizeof(now));
    replay_step();
}

void
replay_file_set_synced(replay_file *file)
{
    memset(file->base + REPLAY_FILE_LIFE_AT, 0, sizeof(replay_file_identity));
    replay_step();
}

// ---- sums

uint64_t
replay_snapshot_bytes(uint32_t sessions)
{
    return sizeof(replay_snapshot) + sessions * (uint64_t)sizeof(replay_kept_session);
}

uint32_t
replay_snapshot_crc(const replay_snapshot *snapshot, uint32_t sessions)
{
    uint32_t crc = oct_crc32(0, &snapshot->generation, sizeof(snapshot->generation));
    return oct_crc32(crc, &snapshot->head,
                     replay_snapshot_bytes(sessions) - offsetof(replay_snapshot, head));
}

// Returns the machine's memory, or what the control groups leave to this process, whichever is
// less.
static uint64_t
memory_bytes(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return OCT_MIN(machine, oct_cgroup_memory_left(""));
}

void
replay_file_expect_samples(const replay_file *file)
{
    uint64_t at = file->header->blocks_at;
    if (!file->is_copy && file->bytes > memory_bytes() / 2) { // a copy is read in order
        (void)madvise(file->base + at, file->bytes - at, MADV_RANDOM);
    }
}

uint32_t
replay_mark_crc(const replay_layout *layout, const replay_block *block, uint64_t serial,
                uint32_t count)
{
    // Fields that do not change while the block fills.
    const uint64_t fixed[] = {
        block->layout, serial,       block->previous,    block->session, block->actor_id,
        block->stream, block->first, block->episode_age, count};
    replay_column columns[REPLAY_COLUMNS];
    replay_layout_columns(layout, columns);
    uint32_t crc = oct_crc32(0, fixed, sizeof(fixed));
    for (size_t i = 0; i < REPLAY_COLUMNS; i++) {
        crc = oct_crc32(crc, (const uint8_t *)block + columns[i].at, columns[i].row_bytes * count);
    }
    return crc;
}

// ---- open and close

// Maps errno of a call that needs room on the disk.
static oct_err
err_of_disk(int code)
{
    return code == ENOSPC || code == EDQUOT ? OCT_EAGAIN : OCT_EIO;
}

// Maps errno of a call that opens a file. OCT_EINVAL: the error stays until someone changes
// something.
static oct_err
err_of_open(int code)
{
    static const int lasting[] = {EACCES, EPERM, EROFS,   EISDIR,      ENOTDIR,
                                  ELOOP,  EXDEV, ENOTSUP, ENAMETOOLONG};
    for (size_t i = 0; i < OCT_COUNTOF(lasting); i++) {
        if (code == lasting[i]) {
            return OCT_EINVAL;
        }
    }
    return err_of_disk(code);
}

// Returns true if the file system reports less free room than bytes. The check comes first, because
// a failed allocation fills the disk for all programs until it is undone. Limits that the file
// system does not report (quotas) show in the allocation.
static bool
room_is_short(int descriptor, uint64_t bytes)
{
    struct statvfs system;
    if (bytes == 0 || fstatvfs(descriptor, &system) != 0 || system.f_blocks == 0) {
        return false; // a file system without a size of its own, for instance a memfd
    }
    // f_bavail even for root, because root in most containers has no right to the reserved blocks
    // that f_bfree includes.
    return bytes / system.f_frsize >= system.f_bavail;
}

// Returns how many of these bytes the file does not have on the disk.
static uint64_t
bytes_missing(int descriptor, uint64_t bytes)
{
    struct stat status;
    uint64_t has = fstat(descriptor, &status) == 0 ? (uint64_t)status.st_blocks * 512 : 0;
    return has < bytes ? bytes - has : 0;
}

oct_err
replay_file_reserve(int descriptor, const char *path, uint64_t bytes, oct_reason *why)
{
    uint64_t missing = bytes_missing(descriptor, bytes);
    int code = bytes > INT64_MAX ? EFBIG : room_is_short(descriptor, missing) ? ENOSPC : 0;
    for (uint64_t at = 0; code == 0 && at < bytes; at += RESERVE_BYTES) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS); // some file systems write all the bytes
        off_t piece = (off_t)OCT_MIN(bytes - at, RESERVE_BYTES);
        code = posix_fallocate(descriptor, (off_t)at, piece);
    }
    if (code == 0) {
        return OCT_OK;
    }
    (void)oct_refuse(why, "%s: no room for %.1f MiB: %s", path, (double)missing / MIB,
                     oct_file_strerror(code));
    return err_of_disk(code);
}

// Sets the pointers into the mapping.
static void
views_set(replay_file *file, const replay_layout *layout)
{
    uint8_t *base = file->base;
    const replay_file_header *header = file->header;
    file->layout = *layout;
    file->live = (replay_live *)(void *)(base + header->live_at);
    file->journal = (replay_journal *)(void *)(base + header->journal_at);
    file->sessions = (replay_kept_session *)(void *)(base + header->sessions_at);
    file->snapshot[0] = (replay_snapshot *)(void *)(base + header->snapshot_at[0]);
    file->snapshot[1] = (replay_snapshot *)(void *)(base + header->snapshot_at[1]);
    file->marks = (replay_mark(*)[2])(void *)(base + header->marks_at);
    file->regions = (replay_regions){
        .blocks = base + header->blocks_at,
        .used = (uint64_t *)(void *)(base + header->used_at),
        .select = base + header->select_at,
    };
}

static oct_err
file_map(replay_file *file, uint64_t bytes, oct_reason *why)
{
    int sharing = file->is_copy ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, sharing, file->descriptor, 0);
    if (base == MAP_FAILED) {
        return oct_fail(why, OCT_EIO, "%s cannot be mapped: %s", file->path,
                        oct_file_strerror(errno));
    }
    file->base = base;
    file->bytes = bytes;
    file->header = base;
    return OCT_OK;
}

static oct_err
descriptor_open(replay_file *file, int flags, oct_reason *why)
{
    int access = file->is_copy ? O_RDONLY : O_RDWR;
    file->descriptor = oct_file_open(file->path, flags | access, 0600, NULL);
    if (file->descriptor < 0) {
        if (errno == ENOENT && !(flags & O_CREAT)) {
            return oct_fail(why, OCT_ENOTFOUND, "%s does not exist", file->path);
        }
        int code = errno;
        (void)oct_refuse(why, "%s cannot be opened: %s", file->path, oct_file_strerror(code));
        return err_of_open(code);
    }
    oct_lock got = file->is_shared ? OCT_LOCK_NONE : oct_file_lock(file->descriptor, file->is_copy);
    if (got == OCT_LOCK_TAKEN) {
        return oct_fail(
            why, OCT_EIO, "%s is in use by %s", file->path,
            file->is_copy
                ? "octet-replay; first end its run, or close its octet.Replay"
                : "another octet-replay, or by a command that reads it"); // the other process may
                                                                          // be about to end
    }
    if (got == OCT_LOCK_FAILED) {
        return oct_fail(why, OCT_EIO, "%s cannot be locked: %s", file->path,
                        oct_file_strerror(errno));
    }
    file->is_locked = got == OCT_LOCK_HELD;
    return OCT_OK;
}

// Refuses a file without a header. OCT_ENOTFOUND: it never held rows, because it is empty or was
// not finished. OCT_EINVAL: it held some, and its first page has been overwritten with zeros.
static oct_err
header_absent(const replay_file *file, uint64_t bytes, bool is_unfinished, oct_reason *why)
{
    if (!is_unfinished && bytes > PAGE_BYTES) {
        return oct_refuse(why, "%s: its header is damaged: the first page holds only zeros",
                          file->path);
    }
    return oct_fail(why, OCT_ENOTFOUND, "%s is %s", file->path,
                    is_unfinished ? "not finished" : "empty");
}

// Reads page 0 of an existing file. OCT_ENOTFOUND: the file never held rows.
static oct_err
header_read(const replay_file *file, replay_file_header *header, replay_layout *layout,
            oct_reason *why)
{
    static const replay_file_header nothing;
    struct stat status;
    memset(header, 0, sizeof(*header));
    if (fstat(file->descriptor, &status) != 0 ||
        pread(file->descriptor, header, sizeof(*header), 0) < 0) {
        return oct_fail(why, OCT_EIO, "%s cannot be read: %s", file->path,
                        oct_file_strerror(errno));
    }
    uint64_t bytes = (uint64_t)status.st_size;
    bool is_unfinished = memcmp(header->magic, unfinished, sizeof(unfinished)) == 0;
    if (is_unfinished || memcmp(header, &nothing, sizeof(nothing)) == 0) {
        return header_absent(file, bytes, is_unfinished, why);
    }
    if (memcmp(header->magic, magic, sizeof(magic)) != 0) {
        return oct_refuse(why, "%s is not a file of octet-replay", file->path);
    }
    bool is_old = header->version == REPLAY_FILE_VERSION_OLD;
    OCT_TRY(replay_block_readable(file->path, header->byte_order, header->version,
                                  is_old ? REPLAY_FILE_VERSION_OLD : REPLAY_FILE_VERSION,
                                  header->block_layout, why));
    if (oct_crc32(0, header, offsetof(replay_file_header, crc)) != header->crc ||
        !header_is_whole(header, layout)) {
        return oct_refuse(why, "%s: its header is damaged", file->path);
    }
    if (bytes != header->file_bytes) {
        return oct_refuse(why, "%s is %" PRIu64 " bytes long, its header says %" PRIu64 ": %s",
                          file->path, bytes, header->file_bytes,
                          bytes < header->file_bytes ? "it was cut off"
                                                     : "something was added to it");
    }
    return OCT_OK;
}

// Returns true if a store might have to allocate a page. A table's file is fully allocated, but a
// copy may have holes where there were zeros. (Some file systems report reserved pages as holes.)
static bool
has_holes(const replay_file *file, uint64_t bytes)
{
    off_t hole = lseek(file->descriptor, 0, SEEK_HOLE);
    return hole >= 0 && (uint64_t)hole < bytes;
}

static replay_file *
file_make(const char *path, bool is_copy)
{
    replay_file *file = oct_alloc(sizeof(*file));
    file->is_copy = is_copy;
    file->descriptor = -1;
    file->path = strdup(path);
    OCT_ASSERT(file->path);
    return file;
}

static oct_err
file_open(replay_file **out, replay_file *file, oct_reason *why)
{
    replay_file_header header;
    replay_layout layout;
    oct_err err = descriptor_open(file, 0, why);
    if (err == OCT_OK) {
        err = header_read(file, &header, &layout, why);
    }
    if (err == OCT_OK && !file->is_copy && has_holes(file, header.file_bytes)) {
        err = replay_file_reserve(file->descriptor, file->path, header.file_bytes, why);
    }
    if (err == OCT_OK) {
        err = file_map(file, header.file_bytes, why);
    }
    if (err != OCT_OK) {
        replay_file_close(file);
        return err;
    }
    views_set(file, &layout);
    *out = file;
    return OCT_OK;
}

bool
replay_file_is_one(const char *path)
{
    char begin[sizeof(magic)] = "";
    int file = oct_file_open(path, O_RDONLY, 0, NULL);
    bool is_one = file >= 0 && read(file, begin, sizeof(begin)) == (ssize_t)sizeof(begin) &&
                  memcmp(begin, magic, sizeof(begin)) == 0;
    if (file >= 0) {
        (void)close(file);
    }
    return is_one;
}

oct_err
replay_file_open(replay_file **out, const char *path, oct_reason *why)
{
    return file_open(out, file_make(path, false), why);
}

oct_err
replay_file_open_copy(replay_file **out, const char *path, oct_reason *why)
{
    return file_open(out, file_make(path, true), why);
}

oct_err
replay_file_open_shared(replay_file **out, const char *path, oct_reason *why)
{
    replay_file *file = file_make(path, true);
    file->is_shared = true;
    return file_open(out, file, why);
}

// ---- a new one

// Empties a file and marks it as unfinished. The mark is on the disk before the file grows, because
// a grown file that begins with zeros counts as damaged.
static oct_err
file_mark(const replay_file *file, oct_reason *why)
{
    if (ftruncate(file->descriptor, 0) == 0 &&
        pwrite(file->descriptor, unfinished, sizeof(unfinished), 0) ==
            (ssize_t)sizeof(unfinished) &&
        fdatasync(file->descriptor) == 0) {
        return OCT_OK;
    }
    int code = errno;
    (void)oct_refuse(why, "%s cannot be written: %s", file->path, strerror(code));
    return err_of_disk(code);
}

// Allocates disk room and maps a file that has no header yet.
static oct_err
file_reserve(replay_file *file, uint64_t bytes, oct_reason *why)
{
    replay_layout layout;
    replay_file_header there;
    oct_err err = header_read(file, &there, &layout, why);
    if (err != OCT_ENOTFOUND) {
        return err == OCT_OK ? oct_refuse(why, "%s exists", file->path) : err;
    }
    err = file_mark(file, why);
    if (err == OCT_OK) {
        err = replay_file_reserve(file->descriptor, file->path, bytes, why);
    }
    if (err == OCT_OK) {
        err = file_map(file, bytes, why);
    }
    if (err != OCT_OK) {
        (void)oct_file_remove(file->path);
    }
    return err;
}

// Makes an empty table, as the live state and as generation 1. All regions are zero before.
static void
file_begin(replay_file *file, const wire_configure *configure)
{
    replay_head *head = &file->live->head[0];
    replay_limiter_spec limiter = replay_config_limiter(configure);
    head->session_index = REPLAY_SESSION_NONE;
    head->configure = replay_kept_of(configure);
    head->last_windows = head->last_blocks = 1;
    head->select.weight_max = 1;
    head->rng = replay_config_rng(configure->seed);
    replay_limiter_init(&head->limiter, &limiter);
    replay_snapshot *first = file->snapshot[1];
    first->generation = 1;
    first->head = *head;
    first->crc = replay_snapshot_crc(first, file->header->sessions);
}

oct_err
replay_file_create_for(replay_file **out, const char *path, const wire_configure *configure,
                       uint32_t sessions, oct_reason *why)
{
    OCT_ASSERT(sessions > 0 && sessions <= REPLAY_SESSIONS_MAX);
    replay_file *file = file_make(path, false);
    replay_layout layout;
    replay_file_header header = header_of(configure, sessions, &layout);
    oct_err err = descriptor_open(file, O_CREAT, why);
    if (err == OCT_OK) {
        err = file_reserve(file, header.file_bytes, why);
    }
    if (err != OCT_OK) {
        replay_file_close(file);
        return err;
    }
    file->header = &header; // the file's own header is written last
    views_set(file, &layout);
    file_begin(file, configure);
    replay_step();
    // The header says that the rest is complete, so the rest is on the disk first, and so is the
    // file's name.
    if (msync(file->base, file->bytes, MS_SYNC) != 0 || oct_file_sync_folder(path) != OCT_OK) {
        (void)oct_refuse(why, "%s cannot be written: %s", path, oct_file_strerror(errno));
        (void)oct_file_remove(path);
        replay_file_close(file);
        return OCT_EIO;
    }
    memcpy(file->base, &header, sizeof(header));
    file->header = (const replay_file_header *)(const void *)file->base;
    replay_file_set_live(file);
    *out = file;
    return OCT_OK;
}

oct_err
replay_file_create(replay_file **out, const char *path, const wire_configure *configure,
                   oct_reason *why)
{
    return replay_file_create_for(out, path, configure, REPLAY_SESSIONS_MAX, why);
}

void
replay_file_close(replay_file *file)
{
    if (!file) {
        return;
    }
    if (file->base) {
        (void)munmap(file->base, file->bytes);
    }
    if (file->descriptor >= 0) {
        (void)close(file->descriptor);
    }
    free(file->path);
    free(file);
}
