// Keeps the file of the daemon's table: opens it at start, creates it when a learner configures a
// table, and writes its generations to the disk from a thread of its own.
//
// What survives. The table changes the file's mapping directly and commits each change
// (replay_journal.h), so a killed process loses nothing in any mode: the kernel still has the
// pages. After a power failure only the last generation that was finished counts (replay_sync.h).
//
// A generation goes through these steps. There is one at a time, and the table keeps changing
// meanwhile.
// 1. replay_disk_tick begins it when it is due: it copies the head and the sessions, and marks the
//    blocks that are not full.
// 2. Each batch marks 1 MiB more of the full blocks and each tick 16 MiB, so that the loop never
//    stops for long.
// 3. Once all blocks are marked, the loop pushes the generation into the ring. The disk thread
//    writes it to the disk and wakes the loop.
// 4. The loop ends the generation and calls on_synced, which sends the acks that it allows. With
//    CONFIG_SYNC_ALWAYS the next generation begins at once.
//
// What failures lead to:
// - A write fails: the state is FAILING, the table in memory stays in use, and with
// CONFIG_SYNC_ALWAYS
//   nothing more is acknowledged. The next generation, one interval later, writes all pages again.
// - The file lacks room when it is opened at start: the state is FULL, and opening is tried again
//   every second. Until it succeeds, no learner gets a table, because nothing may overwrite the
//   file. Any other error ends the start.
// - The disk has no room for a new file: the state is FULL, make answers OCT_EAGAIN, and the
//   learner asks again.
// - In lock-step, a learner may go back to the copy of an earlier turn (replay_copy.h). The copy
//   replaces the file, and the table is recovered from it as after a kill.
#include "replay/replay_disk_io.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "common/oct_ring.h"
#include "common/oct_text.h"
#include "replay/replay_copy.h"
#include "replay/replay_journal.h"
#include "replay/replay_sync.h"

#define SECOND_NS 1000000000.0
#define LOOK_NS   1000000000u // between two attempts to open the file
#define WAIT_MS   1000        // the disk thread waits in the ring for a generation
// Bytes of blocks that are marked at once: a stop of some tenths of a millisecond with each batch,
// and of one or two milliseconds with each tick.
#define MARK_BYTES_BATCH (1u << 20)
#define MARK_BYTES_TICK  (16u << 20)
#define REASON_MAX       256

struct replay_disk {
    net_loop *loop;
    replay_disk_options options;
    char *path;       // the options' path, copied
    net_fn on_synced; // called after each generation
    void *arg;
    replay_file *file;   // NULL: there is no file yet
    replay_table *found; // the table in the file, until the caller takes it; NULL: none
    oct_err unread; // why the existing file could not be opened; OCT_OK: it could, or there is none
    uint64_t looked_ns; // last attempt to open it
    replay_sync *sync;  // NULL: there is no table in use
    replay_disk_state state;
    char trouble[REASON_MAX]; // one line for the log and the status
    uint64_t begun_ns;        // beginning of the last generation
    uint64_t synced_ns;       // end of the last generation that succeeded; 0: none
    uint64_t failures;
    replay_recovered recovered;
    // The disk thread gets each generation through the ring.
    pthread_t thread;
    oct_ring *jobs; // NULL: CONFIG_SYNC_NONE, and there is no thread
    net_wakeup *wakeup;
    bool is_marking; // loop thread: a generation has begun and is not with the disk thread yet
    bool is_writing; // loop thread: a generation is with the disk thread
    // Written by the disk thread; the loop reads both after the wakeup.
    oct_err result;
    int code; // errno, if result is an error
};

// ---- the thread

static void *
disk_thread(void *arg)
{
    replay_disk *disk = arg;
    for (;;) {
        void *job;
        oct_err err = oct_ring_pop_wait(disk->jobs, &job, WAIT_MS);
        if (err == OCT_ECLOSED) {
            return NULL;
        }
        if (err == OCT_OK) {
            disk->result = replay_sync_write(job, true);
            disk->code = errno;
            net_wakeup_send(disk->wakeup);
        }
    }
}

static bool
is_trouble(replay_disk_state state)
{
    return state == REPLAY_DISK_FULL || state == REPLAY_DISK_FAILING;
}

// Sets the state, and logs it if it is a new trouble or the end of one.
static void
trouble_set(replay_disk *disk, replay_disk_state state, const char *text)
{
    bool is_new = disk->state != state;
    bool was_bad = is_trouble(disk->state);
    disk->state = state;
    oct_text_copy(disk->trouble, sizeof(disk->trouble), text);
    if (is_new && is_trouble(state)) {
        oct_log_error(state == REPLAY_DISK_FULL ? "REPLAY-DISK-FULL" : "REPLAY-DISK-FAILING", "%s",
                      text);
    } else if (is_new && was_bad) {
        oct_log_notice("REPLAY-DISK", "path=%s can be written again", disk->path);
    }
}

// On the loop thread: a generation was written, or could not be (code: errno).
static void
generation_end(replay_disk *disk, oct_err err, int code)
{
    disk->is_writing = false;
    replay_sync_end(disk->sync, err);
    if (err == OCT_OK) {
        disk->synced_ns = oct_clock_ns();
        trouble_set(disk, REPLAY_DISK_WELL, "");
        return;
    }
    char text[REASON_MAX];
    disk->failures++;
    (void)snprintf(text, sizeof(text),
                   "%s cannot be written: %s; later changes than generation %" PRIu64
                   " do not survive a power failure",
                   disk->path, strerror(code), replay_sync_generation(disk->sync));
    trouble_set(disk, REPLAY_DISK_FAILING, text);
}

static void
generation_written(void *arg)
{
    replay_disk *disk = arg;
    if (!disk->is_writing) {
        return; // no generation is with the thread
    }
    generation_end(disk, disk->result, disk->code);
    disk->on_synced(disk->arg);
    if (disk->options.mode == CONFIG_SYNC_ALWAYS) {
        replay_disk_tick(disk, oct_clock_ns());
    }
}

static oct_err
thread_start(replay_disk *disk)
{
    disk->jobs = oct_ring_create(1);
    disk->wakeup = net_wakeup_create(disk->loop, generation_written, disk);
    if (pthread_create(&disk->thread, NULL, disk_thread, disk) != 0) {
        oct_ring_destroy(disk->jobs);
        disk->jobs = NULL;
        return OCT_EIO;
    }
    return OCT_OK;
}

// ---- open and close

static void
found_log(const replay_disk *disk, uint64_t begin_ns)
{
    const replay_recovered *r = &disk->recovered;
    oct_log_notice("REPLAY-FOUND",
                   "path=%s run=%016" PRIx64 " rows=%" PRIu64 " windows=%" PRIu64
                   " state=%s generation=%" PRIu64 " rows_cut=%" PRIu64 " blocks_left=%" PRIu64
                   " blocks_torn=%" PRIu64 " took_ms=%" PRIu64,
                   disk->path, disk->file->header->run_id, r->rows,
                   replay_table_stats_get(disk->found).size, r->is_exact ? "exact" : "synced",
                   r->generation, r->rows_cut, r->blocks_left, r->blocks_torn,
                   (oct_clock_ns() - begin_ns) / 1000000);
    if (r->blocks_torn > 0) {
        oct_log_warn("REPLAY-TORN", "path=%s blocks=%" PRIu64 " have wrong checksums: dropped",
                     disk->path, r->blocks_torn);
    }
}

static void
locks_log(const replay_disk *disk)
{
    if (!disk->file->is_locked) {
        oct_log_warn("REPLAY-NO-LOCKS",
                     "path=%s: this file system has no locks; make sure that no other octet-replay "
                     "uses the file",
                     disk->path);
    }
}

// Opens the file and recovers the table in it. is_whole: the file is complete, even if its own
// record says that it was copied.
static oct_err
disk_read(replay_disk *disk, bool is_whole, oct_reason *why)
{
    uint64_t begin_ns = oct_clock_ns();
    oct_err err = replay_file_open(&disk->file, disk->path, why);
    if (err == OCT_ENOTFOUND) {
        return OCT_OK;
    }
    OCT_TRY(err);
    locks_log(disk);
    if (is_whole) {
        replay_file_set_live(disk->file);
    }
    err = replay_recover(&disk->recovered, disk->file, why);
    if (err == OCT_OK &&
        replay_table_restore(&disk->found, disk->file, disk->recovered.is_exact) != OCT_OK) {
        err = oct_refuse(why, "%s: its sessions are damaged", disk->path);
    }
    if (err != OCT_OK) {
        replay_file_close(disk->file);
        disk->file = NULL;
        return err;
    }
    found_log(disk, begin_ns);
    return OCT_OK;
}

// Records that the file cannot be opened now, and why.
static void
unread_set(replay_disk *disk, oct_err err, const char *reason)
{
    disk->unread = err;
    disk->looked_ns = oct_clock_ns();
    trouble_set(disk, err == OCT_EAGAIN ? REPLAY_DISK_FULL : REPLAY_DISK_FAILING, reason);
}

// Refuses to make a table while an existing file could not be opened: nothing may overwrite it.
static oct_err
unread_refuse(const replay_disk *disk, oct_reason *why)
{
    if (disk->unread == OCT_OK) {
        return OCT_OK;
    }
    (void)oct_refuse(why, "%s", disk->trouble);
    return disk->unread == OCT_EINVAL ? OCT_EINVAL : OCT_EAGAIN;
}

oct_err
replay_disk_open(replay_disk **out, net_loop *loop, const replay_disk_options *options,
                 net_fn on_synced, void *arg, oct_reason *why)
{
    replay_disk *disk = oct_alloc(sizeof(*disk));
    disk->loop = loop;
    disk->options = *options;
    disk->on_synced = on_synced;
    disk->arg = arg;
    disk->path = strdup(options->path);
    OCT_ASSERT(disk->path);
    oct_err err = disk_read(disk, false, why);
    if (err == OCT_EAGAIN) { // replay_disk_look tries again
        unread_set(disk, err, why->text);
        err = OCT_OK;
    }
    if (err == OCT_OK && options->mode != CONFIG_SYNC_NONE &&
        (err = thread_start(disk)) != OCT_OK) {
        oct_reason_set(why, "%s: cannot start the thread that writes it", disk->path);
    }
    if (err != OCT_OK) {
        replay_disk_close(disk);
        return err;
    }
    *out = disk;
    return OCT_OK;
}

void
replay_disk_close(replay_disk *disk)
{
    if (!disk) {
        return;
    }
    if (disk->jobs) {
        oct_ring_close(disk->jobs);
        (void)pthread_join(disk->thread, NULL);
        oct_ring_destroy(disk->jobs);
        if (disk->is_writing) {
            generation_end(disk, disk->result, disk->code);
        } else if (disk->is_marking) {
            replay_sync_end(disk->sync, OCT_EAGAIN); // the last generation below does its work, too
        }
    }
    if (disk->wakeup) {
        net_wakeup_destroy(disk->wakeup);
    }
    if (disk->sync && replay_sync_begin(disk->sync)) {
        (void)replay_sync_mark(disk->sync, UINT64_MAX);
        oct_err err = replay_sync_write(disk->sync, disk->options.mode != CONFIG_SYNC_NONE);
        generation_end(disk, err, errno);
    }
    replay_sync_destroy(disk->sync);
    replay_table_destroy(disk->found);
    replay_file_close(disk->file);
    free(disk->path);
    free(disk);
}

const char *
replay_disk_path(const replay_disk *disk)
{
    return disk->path;
}

// ---- the table

replay_table *
replay_disk_found(const replay_disk *disk)
{
    return disk->found;
}

bool
replay_disk_look(replay_disk *disk, uint64_t now_ns)
{
    oct_reason why;
    bool is_awaited = disk->unread != OCT_OK && disk->unread != OCT_EINVAL;
    if (!is_awaited || now_ns - disk->looked_ns < LOOK_NS) {
        return false;
    }
    oct_err err = disk_read(disk, false, &why);
    if (err != OCT_OK) {
        unread_set(disk, err, why.text);
        return false;
    }
    disk->unread = OCT_OK;
    trouble_set(disk, REPLAY_DISK_IDLE, "");
    return disk->found != NULL; // NULL: the file was removed meanwhile
}

static void
generations_begin(replay_disk *disk)
{
    disk->sync = replay_sync_create(disk->file);
    disk->begun_ns = oct_clock_ns();
    trouble_set(disk, REPLAY_DISK_WELL, "");
}

replay_table *
replay_disk_take(replay_disk *disk)
{
    replay_table *table = disk->found;
    disk->found = NULL;
    generations_begin(disk);
    return table;
}

oct_err
replay_disk_make(replay_table **out, replay_disk *disk, const wire_configure *configure,
                 oct_reason *why)
{
    OCT_ASSERT(!disk->file);
    OCT_TRY(unread_refuse(disk, why));
    oct_err err = replay_file_create(&disk->file, disk->path, configure, why);
    if (err == OCT_EAGAIN) {
        trouble_set(disk, REPLAY_DISK_FULL, why->text);
    }
    OCT_TRY(err);
    locks_log(disk);
    *out = replay_table_create_in(configure, disk->file);
    generations_begin(disk);
    return OCT_OK;
}

// ---- lock-step

oct_err
replay_disk_keep(const replay_disk *disk, uint64_t turn, uint32_t kept, oct_reason *why)
{
    const replay_head *head = replay_journal_held(disk->file);
    uint64_t begin_ns = oct_clock_ns();
    OCT_TRY(replay_copy_keep(disk->file, head, turn, kept, why));
    oct_log_info("REPLAY-COPY", "path=%s turn=%" PRIu64 " blocks=%" PRIu64 " took_ms=%" PRIu64,
                 disk->path, turn, head->next - head->oldest,
                 (oct_clock_ns() - begin_ns) / 1000000);
    return OCT_OK;
}

// Forgets the table in use and everything about its file, as if no file had been found.
static void
disk_forget(replay_disk *disk, replay_table **table)
{
    replay_table_destroy(*table);
    *table = NULL;
    replay_table_destroy(disk->found);
    replay_sync_destroy(disk->sync);
    replay_file_close(disk->file);
    disk->found = NULL;
    disk->sync = NULL;
    disk->file = NULL;
    disk->is_marking = false;
    disk->state = REPLAY_DISK_IDLE;
    disk->recovered = (replay_recovered){0};
}

oct_err
replay_disk_go_back(replay_disk *disk, replay_table **table, uint64_t turn,
                    const uint8_t hash[WIRE_HASH_BYTES], oct_reason *why)
{
    if (disk->is_writing) {
        return oct_fail(why, OCT_EAGAIN, "%s is being synced", disk->path);
    }
    OCT_TRY(unread_refuse(disk, why));
    if (turn > 0) {
        OCT_TRY(replay_copy_take(disk->path, turn, hash, why));
    } else if (oct_file_remove(disk->path) != 0 && errno != ENOENT) {
        return oct_fail(why, OCT_EIO, "%s cannot be removed: %s", disk->path,
                        oct_file_strerror(errno));
    }
    if (disk->file) {
        replay_copy_forget(disk->file, turn);
    }
    disk_forget(disk, table);
    oct_log_notice("REPLAY-WENT-BACK", "path=%s turn=%" PRIu64, disk->path, turn);
    oct_err err = turn > 0 ? disk_read(disk, true, why) : OCT_OK;
    if (err != OCT_OK) {
        disk_forget(disk, table);
    }
    return err;
}

// ---- generations

static void
generation_mark(replay_disk *disk, uint64_t bytes)
{
    if (disk->is_marking && replay_sync_mark(disk->sync, bytes)) {
        disk->is_marking = false;
        disk->is_writing = true;
        oct_err err = oct_ring_push(disk->jobs, disk->sync);
        OCT_ASSERT(err == OCT_OK); // the ring has one slot, and there is one generation at a time
    }
}

void
replay_disk_inserted(replay_disk *disk)
{
    generation_mark(disk, MARK_BYTES_BATCH);
}

void
replay_disk_tick(replay_disk *disk, uint64_t now_ns)
{
    uint64_t period_ns = (uint64_t)(disk->options.interval_s * SECOND_NS);
    // After a failed write the next generation waits for the interval, in every mode.
    bool is_at_once =
        disk->options.mode == CONFIG_SYNC_ALWAYS && disk->state != REPLAY_DISK_FAILING;
    bool is_due = is_at_once || now_ns - disk->begun_ns >= period_ns;
    if (disk->sync && disk->jobs && !disk->is_marking && !disk->is_writing && is_due) {
        disk->begun_ns = now_ns;
        disk->is_marking = replay_sync_begin(disk->sync);
    }
    generation_mark(disk, MARK_BYTES_TICK);
}

uint64_t
replay_disk_sequence(const replay_disk *disk, uint32_t index, const replay_session *session)
{
    return disk->options.mode == CONFIG_SYNC_ALWAYS
               ? replay_sync_sequence(disk->sync, index, session->session)
               : session->sequence;
}

replay_disk_status
replay_disk_status_get(const replay_disk *disk, uint64_t now_ns)
{
    return (replay_disk_status){
        .state = disk->state,
        .bytes = disk->file ? disk->file->bytes : 0,
        .generation = disk->sync ? replay_sync_generation(disk->sync) : 0,
        .synced_age_s = disk->synced_ns != 0 ? (double)(now_ns - disk->synced_ns) / SECOND_NS : NAN,
        .blocks_torn = disk->recovered.blocks_torn,
        .rows_cut = disk->recovered.rows_cut,
        .failures = disk->failures,
    };
}

const char *
replay_disk_trouble(const replay_disk *disk)
{
    return is_trouble(disk->state) ? disk->trouble : NULL;
}
