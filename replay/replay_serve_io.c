// Serves the learner's requests: Configure, Sample (held until the limiter allows it),
// UpdatePriorities, Status.
//
// A Configure first passes the check of its numbers and the fence (replay_fence.h): of several
// learners, only the newest of the run that is at work may use the table. Then replay_config_decide
// chooses: keep the present table and change its limiter and window, make a new table, or refuse. A
// table in memory is replaced by another run's, a table in a file never.
//
// A Sample is answered at once if the limiter allows it and no earlier one waits. Otherwise it is
// held, in order of arrival, until replay_pump finds that it is allowed or its deadline passes. The
// deadline, a full list of held requests, and a table of another run are answered without windows,
// and the learner asks again.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_libm.h"
#include "common/oct_log.h"
#include "common/oct_memory.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "replay/replay_select.h"
#include "replay/replay_state_io.h"

#define REASON_MAX     256
#define TIMEOUT_MS_MAX 60000 // the longest that a Sample is held

typedef struct replay_io replay_io;

// ---- frames

static uint8_t *
request_begin(void *call, size_t length)
{
    replay_request *request = call;
    request->io->activity.bytes_replied += length;
    return net_rpc_responder.begin(request->call, length);
}

static void
request_send(void *call)
{
    replay_request *request = call;
    net_rpc_responder.send(request->call);
    request->call = NULL;
}

const oct_responder replay_serve_responder = {.begin = request_begin, .send = request_send};

void
replay_serve_frame(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    replay_io *io = arg;
    replay_request *request = io->request;
    while (request->call) { // there are as many slots as contexts, so one is free
        request++;
        OCT_ASSERT(request < io->request + REPLAY_CONTEXTS);
    }
    *request = (replay_request){.io = io, .call = call};
    oct_err err = wire_server_handle(io->server, request, role, frame, length);
    if (err != OCT_OK &&
        oct_log_limit_is_due(&io->complaints.bad_request)) { // the caller has been answered
        oct_holder holder;
        if (net_rpc_caller(call, &holder) != OCT_OK) {
            holder.name[0] = '\0';
        }
        replay_complain_of(&io->complaints.bad_request, "REPLAY-BAD-REQUEST", &holder,
                           wire_server_reason(io->server));
    }
}

// ---- configure

static void
budget_log(const wire_configure *configure)
{
    replay_budget_line lines[REPLAY_BUDGET_LINES];
    uint64_t total = replay_config_budget(configure, replay_config_layout(configure), lines);
    char text[512];
    size_t used = 0;
    for (size_t i = 0; i < REPLAY_BUDGET_LINES && used < sizeof(text); i++) {
        int added = snprintf(text + used, sizeof(text) - used, " %s=%" PRIu64, lines[i].name,
                             lines[i].bytes);
        used += added > 0 ? (size_t)added : 0;
    }
    oct_log_notice("REPLAY-BUDGET", "bytes=%" PRIu64 "%s", total, text);
}

// Refuses a table that does not fit into the memory, with the capacity that would.
static oct_err
memory_check(const replay_io *io, const wire_configure *wanted, oct_reason *why)
{
    replay_budget_line lines[REPLAY_BUDGET_LINES];
    uint64_t needed = replay_config_budget(wanted, replay_config_layout(wanted), lines);
    if (io->disk || io->data) { // the file's pages need not be in memory
        needed -= replay_config_kept(wanted);
    }
    uint64_t held = io->table ? replay_table_stats_get(io->table).memory_bytes : 0;
    uint64_t available = oct_memory_available() + held; // the old table is freed first
    if (!oct_memory_suffices(available, needed)) {
        char takes[32], has[32];
        return oct_refuse(
            why,
            "replay.capacity: %" PRIu64 " rows take %s, but %s of memory are available; "
            "about %.0f rows would fit",
            wanted->capacity, oct_text_bytes(takes, sizeof(takes), (double)needed, ""),
            oct_text_bytes(has, sizeof(has), (double)available, ""),
            OCT_MEMORY_SHARE * (double)available / (double)needed * (double)wanted->capacity);
    }
    return OCT_OK;
}

static void
configured_log(const replay_io *io)
{
    const wire_configure *configure = replay_table_configure(io->table);
    oct_log_notice("REPLAY-CONFIGURED",
                   "run=%016" PRIx64 " capacity=%" PRIu64 " block_rows=%" PRIu32 " streams=%" PRIu32
                   " obs_bytes=%" PRIu32 " window=%s steps=%" PRIu32 " stride=%" PRIu32
                   " sampler=%s min_size=%" PRIu64 " samples_per_insert=%g tolerance=%g path=%s",
                   configure->run_id, configure->capacity, replay_table_blocks(io->table).rows,
                   configure->streams, configure->obs_bytes,
                   replay_config_window_name((int)configure->window), configure->window_steps,
                   configure->window_stride, replay_select_find((int)configure->sampler)->name,
                   configure->min_size, configure->samples_per_insert, configure->tolerance,
                   io->disk ? replay_disk_path(io->disk) : "none");
}

// Turns lock-step on or off, as the table's configuration says.
static void
turns_set(replay_io *io)
{
    const wire_configure *configure = replay_table_configure(io->table);
    replay_turns_set(io->turns, configure->turn_actors, replay_table_turn(io->table));
    io->turns_epoch = configure->epoch;
}

// Takes a table into use, new or found.
static void
table_begin(replay_io *io, replay_table *table)
{
    io->table = table;
    io->band_logged = 0;
    io->is_overrun_logged = false;
    memset(io->inserted_session, 0, sizeof(io->inserted_session));
    replay_complaints_begin(&io->complaints);
    replay_activity_begin(&io->activity, table, oct_clock_ns());
    replay_acks_set_disk(io->acks, io->disk);
    replay_acks_set_table(io->acks, io->table);
    turns_set(io);
    configured_log(io);
}

// Makes a table in a file. There is none yet.
static oct_err
table_make_durable(replay_io *io, const wire_configure *configure, oct_reason *why)
{
    replay_table *table;
    oct_err err = replay_disk_make(&table, io->disk, configure, why);
    if (err != OCT_OK) { // no room: the learner asks again
        return err == OCT_EAGAIN ? OCT_EAGAIN : OCT_EINVAL;
    }
    budget_log(configure);
    table_begin(io, table);
    return OCT_OK;
}

static replay_table *
table_create(const replay_io *io, const wire_configure *configure)
{
    return io->data ? replay_table_create_over(configure, io->data)
                    : replay_table_create(configure);
}

// Makes a table without a file, in place of the present one.
static void
table_make(replay_io *io, const wire_configure *configure)
{
    if (io->table) {
        oct_log_notice("REPLAY-REPLACED",
                       "run=%016" PRIx64 " replaces run=%016" PRIx64 " and its %" PRIu64 " windows",
                       configure->run_id, replay_table_configure(io->table)->run_id,
                       replay_table_stats_get(io->table).size);
    }
    replay_acks_set_table(io->acks, NULL);
    io->activity.elsewhere = replay_activity_done(&io->activity, io->table);
    replay_table_destroy(io->table);
    budget_log(configure);
    table_begin(io, table_create(io, configure));
}

// Sets the key of session tokens. The last key counts: a learner that lost its key makes another,
// and its actors register again.
static void
key_take(replay_io *io, const wire_configure *wanted, bool is_new_table)
{
    if (wanted->limiter_only || io->data || // no actor inserts into a data set
        !replay_admit_set_key(io->admit, wanted->run_id, wanted->token_key)) {
        return;
    }
    replay_acks_admit(io->acks, io->admit);
    if (!is_new_table) {
        oct_log_notice("REPLAY-KEY-REPLACED", "run=%016" PRIx64 " its actors must register again",
                       wanted->run_id);
    }
}

// Returns true if octet set asks; a learner that changes only the limiter names its epoch.
static bool
is_operator(const wire_configure *asked)
{
    return asked->limiter_only && asked->epoch == 0;
}

// Logs each number of the configuration that has changed, and who asked for it: a learner that
// begins, or an operator (octet set).
static void
changes_log(const wire_call *call, const wire_configure *wanted, const wire_configure *was,
            const wire_configure *now)
{
    const struct {
        const char *key;
        double was, now;
    } numbers[] = {
        {"streams", was->streams, now->streams},
        {"window", (double)was->window, (double)now->window},
        {"window_steps", was->window_steps, now->window_steps},
        {"window_stride", was->window_stride, now->window_stride},
        {"discount", was->discount, now->discount},
        {"reward_clip", was->reward_clip, now->reward_clip},
        {"min_size", (double)was->min_size, (double)now->min_size},
        {"samples_per_insert", was->samples_per_insert, now->samples_per_insert},
        {"tolerance", was->tolerance, now->tolerance},
    };
    const replay_request *request = wire_call_transport(call);
    oct_holder holder = {.name = ""};
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        if (numbers[i].was == numbers[i].now) {
            continue;
        }
        if (holder.name[0] == '\0' && net_rpc_caller(request->call, &holder) != OCT_OK) {
            (void)snprintf(holder.name, sizeof(holder.name), "none");
        }
        oct_log_notice("REPLAY-CHANGED", "key=%s was=%g now=%g by=%s certificate=\"%s\"",
                       numbers[i].key, numbers[i].was, numbers[i].now,
                       is_operator(wanted) ? "operator" : "learner", holder.name);
    }
}

// Changes the present table's limiter and window.
static void
table_change(replay_io *io, const wire_call *call, const wire_configure *wanted)
{
    const wire_configure *now = replay_table_configure(io->table);
    wire_configure before = *now;
    replay_table_set(io->table, wanted);
    changes_log(call, wanted, &before, now);
    if (before.window != now->window || before.window_steps != now->window_steps ||
        before.window_stride != now->window_stride) {
        oct_log_notice("REPLAY-WINDOW",
                       "window=%s steps=%" PRIu32 " stride=%" PRIu32 " windows=%" PRIu64,
                       replay_config_window_name((int)now->window), now->window_steps,
                       now->window_stride, replay_table_stats_get(io->table).size);
    }
}

// Checks whether the learner may use the table now. Refusals are counted, and some are logged.
static oct_err
fence_check(replay_io *io, uint64_t run_id, uint64_t epoch, oct_reason *why)
{
    oct_err err = replay_fence_check(&io->fence, run_id, epoch, oct_clock_ns(), why);
    if (err != OCT_OK) {
        replay_complain(&io->complaints.fenced, "REPLAY-LEARNER-REFUSED", why->text);
    }
    return err;
}

// The table that a Configure is for: the one in use, or the one found in the file.
static const replay_table *
table_present(const replay_io *io, const wire_configure *wanted)
{
    return io->table || !io->disk || wanted->limiter_only ? io->table : replay_disk_found(io->disk);
}

static oct_err
other_run_refuse(const replay_io *io, const wire_configure *current, oct_reason *why)
{
    return oct_refuse(why,
                      "%s holds the rows of run %016" PRIx64
                      ", which are not overwritten; name another file (--path), or remove it",
                      replay_disk_path(io->disk), current->run_id);
}

// Gives back the windows that were drawn for updates which the learner lost: it repeats the
// updates, so it draws again. This happens once for each learner: a repeated Configure must not
// give back what was drawn in between. Returns the number of windows.
static uint64_t
samples_return(replay_io *io, const wire_configure *wanted)
{
    bool is_of_table = wanted->table != 0 && wanted->table == replay_table_id(io->table);
    if (!is_of_table || (wanted->epoch != 0 && io->returned_epoch == wanted->epoch)) {
        return 0;
    }
    io->returned_epoch = wanted->epoch;
    uint64_t returned = replay_table_return(io->table, wanted->samples);
    io->activity.elsewhere.samples += returned; // so that this process's counters do not fall
    if (returned > 0) {
        oct_log_notice("REPLAY-RETURNED",
                       "run=%016" PRIx64 " epoch=%" PRIu64 " windows=%" PRIu64
                       " were sampled for updates that are lost: they are sampled again",
                       wanted->run_id, wanted->epoch, returned);
    }
    return returned;
}

// Keeps the present or the found table for this learner.
static void
table_keep(replay_io *io, const wire_call *call, const wire_configure *wanted, uint64_t *returned)
{
    bool is_found = io->table == NULL;
    if (is_found) {
        table_begin(io, replay_disk_take(io->disk));
    }
    table_change(io, call, wanted);
    if (is_found || (!wanted->limiter_only && io->turns_epoch != wanted->epoch)) {
        turns_set(io);
    }
    key_take(io, wanted, is_found);
    if (!wanted->limiter_only) {
        *returned = samples_return(io, wanted);
        replay_fence_note(&io->fence, wanted->run_id, wanted->epoch, oct_clock_ns());
    }
}

// Completes an operator's request with the table's numbers: those that it does not name, and
// min_size, which it cannot name.
static void
limiter_keep(const replay_io *io, wire_configure *wanted)
{
    if (!wanted->limiter_only || !io->table) {
        return;
    }
    const wire_configure *now = replay_table_configure(io->table);
    wanted->min_size = now->min_size;
    if (wanted->keep_samples_per_insert) {
        wanted->samples_per_insert = now->samples_per_insert;
    }
    if (wanted->keep_tolerance) {
        wanted->tolerance = now->tolerance;
    }
}

// Makes the configuration that a Configure means; a data set is served whole. OCT_EINVAL: what it
// asks cannot be changed.
static oct_err
table_fit(const replay_io *io, wire_configure *out, const wire_configure *wanted, oct_reason *why)
{
    if (wanted->limiter_only && io->data) {
        return oct_refuse(why, "replay serves a data set and has no limiter");
    }
    if (wanted->limiter_only && replay_turns_is_on(io->turns)) {
        return oct_refuse(why,
                          "run.deterministic: in lock-step, the limiter cannot be changed, or the "
                          "run would not be repeatable");
    }
    if (io->data) {
        return replay_data_fit(out, io->data, wanted, why);
    }
    *out = *wanted;
    limiter_keep(io, out);
    return OCT_OK;
}

// Refuses a data set without a single window.
static oct_err
windows_check(const replay_io *io, oct_reason *why)
{
    if (!io->data || replay_table_stats_get(io->table).size > 0) {
        return OCT_OK;
    }
    return oct_refuse(why, "replay.data: %s has no window of %" PRIu32 " steps", io->data->path,
                      replay_table_configure(io->table)->window_steps);
}

// wanted has passed replay_config_check, and its learner the fence.
static oct_err
table_configure(replay_io *io, const wire_call *call, const wire_configure *wanted,
                uint64_t *returned, oct_reason *why)
{
    OCT_TRY(replay_turn_begin(io, wanted, why));
    const replay_table *present = table_present(io, wanted);
    const wire_configure *current = present ? replay_table_configure(present) : NULL;
    replay_config_blocks blocks = {0};
    if (present) {
        blocks = replay_table_blocks(present);
    }
    switch (replay_config_decide(current, io->data ? NULL : &blocks, wanted, why)) {
    case REPLAY_CONFIG_REFUSE:
        return OCT_EINVAL;
    case REPLAY_CONFIG_KEEP:
        table_keep(io, call, wanted, returned);
        return OCT_OK;
    case REPLAY_CONFIG_REPLACE:
        if (io->disk) {
            return other_run_refuse(io, current, why);
        }
        break;
    case REPLAY_CONFIG_CREATE:
        break;
    }
    OCT_TRY(memory_check(io, wanted, why));
    wire_configure without_key = *wanted; // the table does not need the key
    explicit_bzero(without_key.token_key, sizeof(without_key.token_key));
    if (io->disk) {
        OCT_TRY(table_make_durable(io, &without_key, why));
    } else {
        table_make(io, &without_key);
    }
    key_take(io, wanted, true);
    replay_fence_note(&io->fence, wanted->run_id, wanted->epoch, oct_clock_ns());
    return OCT_OK;
}

static oct_err
configure_do(replay_io *io, const wire_call *call, const wire_configure *asked, uint64_t *returned,
             oct_reason *why)
{
    if (asked->release) {
        replay_fence_release(&io->fence, asked->run_id, asked->epoch);
        return OCT_OK;
    }
    OCT_TRY(replay_config_check(asked, why));
    if (!is_operator(asked)) {
        OCT_TRY(fence_check(io, asked->run_id, asked->epoch, why));
    }
    wire_configure wanted;
    OCT_TRY(table_fit(io, &wanted, asked, why));
    oct_err err = table_configure(io, call, &wanted, returned, why);
    explicit_bzero(wanted.token_key, sizeof(wanted.token_key));
    return err == OCT_OK ? windows_check(io, why) : err;
}

// Rows with an action that the table has stored; the run counts its steps from them.
static uint64_t
steps_taken(const replay_table_stats *stats)
{
    return stats->rows_taken - stats->ends;
}

static wire_configured
configured_state(const replay_io *io, uint64_t returned)
{
    wire_configured state = {.incarnation = io->incarnation};
    if (io->table) {
        replay_table_stats stats = replay_table_stats_get(io->table);
        state.table = replay_table_id(io->table);
        state.steps = steps_taken(&stats);
        state.inserts = stats.inserts;
        state.samples = stats.samples + returned;
        state.returned = returned;
        state.balance = replay_limiter_balance(replay_table_limiter(io->table));
        state.libm = replay_turns_is_on(io->turns) ? oct_libm_sum() : 0;
    }
    return state;
}

static void
configure(void *arg, wire_call *call, const wire_configure *wanted)
{
    replay_io *io = arg;
    oct_reason why = {""};
    uint64_t returned = 0;
    oct_err err = configure_do(io, call, wanted, &returned, &why);
    if (err != OCT_OK) {
        if (err == OCT_EINVAL) { // the fence and the disk log their own refusals
            oct_log_error("REPLAY-CONFIGURE-REFUSED", "run=%016" PRIx64 " reason=\"%s\"",
                          wanted->run_id, why.text);
        }
        wire_reply_error(call, err, why.text);
    } else {
        wire_configured state = configured_state(io, returned);
        wire_reply_configure(call, &state);
    }
    replay_pump(io); // also after an error: the table may have been destroyed
}

// ---- sample

wire_sampled
replay_serve_nothing(const replay_io *io, bool is_configured)
{
    wire_sampled none = {.incarnation = io->incarnation};
    if (is_configured) {
        replay_table_stats stats = replay_table_stats_get(io->table);
        replay_table_counters(&none, io->table);
        none.incarnation = io->incarnation;
        none.steps = steps_taken(&stats);
    }
    return none;
}

static void
sample_refuse(replay_io *io, wire_call *call, bool is_configured)
{
    wire_sampled none = replay_serve_nothing(io, is_configured);
    wire_reply_sample(call, &none);
}

// Returns false if the limiter does not allow a sample now.
static bool
sample_draw(replay_io *io, const wire_sample *request, wire_sampled *out)
{
    uint32_t batches = replay_table_may_sample(io->table, request->batch_size, request->batches,
                                               request->version_min);
    if (batches > 0) {
        replay_table_sample(out, io->table, request->batch_size, batches);
    }
    return batches > 0;
}

// Answers a request. Returns false if it must wait.
static bool
sample_serve(replay_io *io, wire_call *call, const wire_sample *request)
{
    uint64_t begin_ns = oct_clock_ns();
    wire_sampled sampled;
    bool is_now = request->turn > 0 ? replay_turn_sample(io, request, &sampled)
                                    : sample_draw(io, request, &sampled);
    if (!is_now) {
        return false;
    }
    replay_table_stats stats = replay_table_stats_get(io->table);
    sampled.incarnation = io->incarnation;
    sampled.steps = steps_taken(&stats);
    wire_reply_sample(call, &sampled);
    io->activity.sample_ns += oct_clock_ns() - begin_ns;
    return true;
}

// Returns true if there is a table, and it belongs to the request's run.
static bool
sample_has_table(const replay_io *io, const wire_sample *request)
{
    return io->table && replay_table_configure(io->table)->run_id == request->run_id;
}

static bool
sample_size_ok(const replay_io *io, wire_call *call, const wire_sample *request)
{
    uint32_t most = replay_table_batch_max(io->table);
    if (request->batch_size >= 1 && request->batch_size <= most) {
        return true;
    }
    char reason[REASON_MAX];
    (void)snprintf(reason, sizeof(reason), "batch_size %" PRIu32 "; allowed are 1 to %" PRIu32,
                   request->batch_size, most);
    wire_reply_error(call, OCT_EINVAL, reason);
    return false;
}

static void
sample(void *arg, wire_call *call, const wire_sample *request)
{
    replay_io *io = arg;
    oct_reason why;
    if (!sample_has_table(io, request)) {
        sample_refuse(io, call, false);
        return;
    }
    oct_err err = fence_check(io, request->run_id, request->epoch, &why);
    if (err != OCT_OK) {
        wire_reply_error(call, err, why.text);
        return;
    }
    if (!replay_fence_is_of(&io->fence, request->run_id, request->epoch)) {
        sample_refuse(io, call, false); // this learner has not configured the table
        return;
    }
    replay_fence_note(&io->fence, request->run_id, request->epoch, oct_clock_ns());
    if (!sample_size_ok(io, call, request)) {
        return;
    }
    replay_table_set_others(io->table, &request->others);
    if (request->batches == 0) {
        replay_pump(io); // the others' counters may allow what is held
        sample_refuse(io, call, true);
        return;
    }
    if (replay_turn_ask(io, request, &why) != OCT_OK) {
        wire_reply_error(call, OCT_EINVAL, why.text);
        return;
    }
    if (io->held_count == 0 && sample_serve(io, call, request)) {
        replay_pump(io);
        return;
    }
    if (request->timeout_ms == 0 || io->held_count == REPLAY_HELD_MAX) {
        replay_table_sample_cancelled(io->table);
        sample_refuse(io, call, true);
        return;
    }
    uint64_t now_ns = oct_clock_ns();
    uint64_t timeout_ms = OCT_MIN(request->timeout_ms, TIMEOUT_MS_MAX);
    io->held[io->held_count++] = (replay_held){call, *request, now_ns + timeout_ms * 1000000};
    replay_waiting_begin(&io->activity.sample_wait, now_ns);
    replay_pump(io); // a full FIFO table must make room for the windows that this request lacks
}

static void
held_remove(replay_io *io, uint32_t at)
{
    io->held_count--;
    memmove(&io->held[at], &io->held[at + 1], (io->held_count - at) * sizeof(io->held[0]));
    if (io->held_count == 0) {
        replay_waiting_end(&io->activity.sample_wait, oct_clock_ns());
    }
}

void
replay_serve_held(replay_io *io)
{
    while (io->held_count > 0) {
        replay_held *first = &io->held[0];
        oct_reason why;
        if (!sample_has_table(io, &first->request)) { // the table was replaced meanwhile
            sample_refuse(io, first->call, false);
        } else if (fence_check(io, first->request.run_id, first->request.epoch, &why) != OCT_OK) {
            wire_reply_error(first->call, OCT_ESTALE, why.text); // a newer learner came meanwhile
        } else if (first->request.batch_size > replay_table_batch_max(io->table)) {
            (void)sample_size_ok(io, first->call, &first->request);
        } else if (!sample_serve(io, first->call, &first->request)) {
            return;
        }
        held_remove(io, 0);
    }
}

void
replay_serve_expired(replay_io *io, uint64_t now_ns)
{
    bool is_changed = false;
    for (uint32_t i = 0; i < io->held_count;) {
        if (now_ns < io->held[i].deadline_ns) {
            i++;
            continue;
        }
        sample_refuse(io, io->held[i].call, io->table != NULL);
        held_remove(io, i);
        is_changed = true;
    }
    if (is_changed && io->table) {
        replay_table_sample_cancelled(io->table);
        replay_pump(io);
    }
}

void
replay_serve_close(replay_io *io)
{
    while (io->held_count > 0) {
        wire_reply_error(io->held[0].call, OCT_ECLOSED, "replay is stopping");
        held_remove(io, 0);
    }
}

// ---- the rest

static void
update_priorities(void *arg, wire_call *call, const wire_priorities *priorities)
{
    replay_io *io = arg;
    oct_reason why;
    // Keys from another incarnation, or for another run's table, name other windows.
    bool is_of_table = io->table && priorities->incarnation == io->incarnation &&
                       replay_table_configure(io->table)->run_id == priorities->run_id;
    oct_err err =
        is_of_table ? fence_check(io, priorities->run_id, priorities->epoch, &why) : OCT_OK;
    if (err != OCT_OK) {
        wire_reply_error(call, err, why.text);
        return;
    }
    if (is_of_table && replay_fence_is_of(&io->fence, priorities->run_id, priorities->epoch)) {
        replay_fence_note(&io->fence, priorities->run_id, priorities->epoch, oct_clock_ns());
        replay_table_update(io->table, priorities);
    }
    wire_reply_update_priorities(call, &(wire_empty){0});
}

// Answers which of the named sessions have rows that this process stored.
static void
inserted_sessions(void *arg, wire_call *call, const wire_sessions *asked)
{
    static uint32_t actor_id[WIRE_PLACES_MAX];
    static uint64_t session[WIRE_PLACES_MAX];
    replay_io *io = arg;
    wire_sessions answer = {.run_id = asked->run_id, .actor_id = actor_id, .session = session};
    bool is_of_table = io->table && replay_table_configure(io->table)->run_id == asked->run_id;
    for (uint32_t i = 0; i < asked->count && is_of_table; i++) {
        uint32_t index =
            replay_table_find_session(io->table, asked->actor_id[i], asked->session[i]);
        if (index != REPLAY_SESSION_NONE && io->inserted_session[index] == asked->session[i]) {
            actor_id[answer.count] = asked->actor_id[i];
            session[answer.count++] = asked->session[i];
        }
    }
    wire_reply_inserted_sessions(call, &answer);
}

// Answers which sessions the named windows come from. Keys from another incarnation are unknown.
static void
window_origins(void *arg, wire_call *call, const wire_priorities *asked)
{
    static uint32_t actor_id[WIRE_PLACES_MAX];
    static uint64_t session[WIRE_PLACES_MAX];
    replay_io *io = arg;
    wire_sessions answer = {.run_id = asked->run_id, .actor_id = actor_id, .session = session};
    bool is_of_table = io->table && asked->incarnation == io->incarnation &&
                       replay_table_configure(io->table)->run_id == asked->run_id;
    answer.count = is_of_table ? OCT_MIN(asked->count, WIRE_PLACES_MAX) : 0;
    for (uint32_t i = 0; i < answer.count; i++) {
        const replay_block *block = replay_table_origin(io->table, asked->key[i]);
        actor_id[i] = block ? block->actor_id : 0;
        session[i] = block ? block->session : 0;
    }
    wire_reply_window_origins(call, &answer);
}

static void
replay_status(void *arg, wire_call *call, const wire_empty *empty)
{
    (void)empty;
    const replay_status_of of = replay_io_status(arg);
    replay_status_reply(&of, call);
}

const wire_replay_handlers replay_serve_handlers = {
    .configure = configure,
    .sample = sample,
    .update_priorities = update_priorities,
    .replay_status = replay_status,
    .table_digest = replay_turn_digest,
    .inserted_sessions = inserted_sessions,
    .window_origins = window_origins,
};
