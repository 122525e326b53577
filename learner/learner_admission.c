// Says who may take part in a run, and how much of it one certificate may use.
//
// 1. A peer registers with its environment, which the run checks first. It gets a slot in the table
//    of actors (learner_actors.h) and a token: a signature of its session by the run's key. The key
//    is in the run folder, so a peer that registers again with a later process, and shows its
//    token, keeps its session. Replay has the key, too, and so knows whose batches it takes.
// 2. Every report and request has the token. Without the right one a peer is unknown.
// 3. A certificate has budgets, whatever number of peers comes with it: slots
//    (learner.actors_per_certificate), evaluations that are not answered yet, and log lines.
//
// Failures. What is refused is counted in the tallies, and the first case of each kind is logged,
// so that no peer can fill the log. A certificate that leaves LEARNER_TICKETS_MAX evaluations
// unanswered gets one a minute until it answers; each answer gives one back. The reason for which
// the last peer was refused stays in the status until an actor is live.
#include "learner/learner_admission.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bucket.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_text.h"
#include "learner/learner_pace.h"

#define PEER_LINES_MAX      1024 // log lines that one certificate may cause at once, …
#define PEER_LINES_A_SECOND 0.1  // … and per second after that

struct learner_admission {
    learner_admission_options o;
    uint8_t key[WIRE_TOKEN_KEY_BYTES];
    wire_token_maker *tokens;
    oct_bucket tickets;    // unanswered evaluations, per certificate
    oct_bucket peer_lines; // log lines about actors that connect and disconnect, per certificate
    uint64_t refused_ns;   // when a registration was refused last, …
    char refused[WIRE_NAME_MAX]; // … and why; "": never
};

learner_admission *
learner_admission_create(const learner_admission_options *options)
{
    learner_admission *admission = oct_alloc(sizeof(*admission));
    admission->o = *options;
    memcpy(admission->key, options->key, sizeof(admission->key));
    admission->o.key = admission->key;
    admission->tokens = wire_token_maker_create(admission->key);
    oct_bucket_init(&admission->peer_lines, PEER_LINES_MAX, PEER_LINES_A_SECOND);
    oct_bucket_init(&admission->tickets, LEARNER_TICKETS_MAX, LEARNER_TICKETS_A_SECOND);
    return admission;
}

void
learner_admission_destroy(learner_admission *admission)
{
    if (admission != NULL) {
        wire_token_maker_destroy(admission->tokens);
        explicit_bzero(admission->key, sizeof(admission->key));
        free(admission);
    }
}

static uint64_t
now_ms(void)
{
    return oct_clock_ns() / 1000000;
}

// ---- tokens

const uint8_t *
learner_admission_key(const learner_admission *admission)
{
    return admission->key;
}

void
learner_admission_token(const learner_admission *admission, const learner_actor *actor,
                        uint8_t out[WIRE_TOKEN_BYTES])
{
    wire_token_make(admission->tokens, admission->o.run_id, actor->session, actor->id, out);
}

static bool
is_token_of(const learner_admission *admission, uint64_t session,
            const uint8_t token[WIRE_TOKEN_BYTES])
{
    uint8_t right[WIRE_TOKEN_BYTES];
    wire_token_make(admission->tokens, admission->o.run_id, session, learner_actors_id(session),
                    right);
    return wire_token_equal(right, token);
}

learner_actor *
learner_admission_find(learner_admission *admission, uint32_t actor_id,
                       const uint8_t token[WIRE_TOKEN_BYTES])
{
    learner_actor *actor = learner_actors_find(admission->o.actors, actor_id);
    if (actor == NULL || is_token_of(admission, actor->session, token)) {
        return actor;
    }
    if (admission->o.tallies->bad_tokens++ == 0) {
        oct_log_warn("LEARNER-BAD-TOKEN",
                     "actor=%08" PRIx32
                     " without its token; later requests without a token are only counted",
                     actor_id);
    }
    return NULL;
}

// ---- registrations

// Counts a refusal for the limit of a certificate, and logs the first.
static void
places_refuse(learner_admission *admission, const oct_holder *holder, oct_reason *why)
{
    oct_reason_set(why,
                   "the certificate %s (SHA-256 begins %02x%02x%02x%02x) has as many registered "
                   "actors as it may: learner.actors_per_certificate: %" PRIu32,
                   holder->name, holder->id[0], holder->id[1], holder->id[2], holder->id[3],
                   admission->o.config->learner.actors_per_certificate);
    if (admission->o.tallies->places_refused++ == 0) {
        oct_log_warn("LEARNER-PLACES", "%s; later refusals are only counted", why->text);
    }
}

// Finds the session of a request: that of its token or, in lock-step, that of its index.
// OCT_EAGAIN: an actor with another certificate has this index. *out is 0 if there is no session,
// or if the token is wrong (of another run, for example).
static oct_err
session_find(const learner_admission *admission, const wire_register *request,
             const oct_holder *holder, uint64_t *out, oct_reason *why)
{
    const uint64_t own = request->session;
    *out = own != 0 && is_token_of(admission, own, request->token) ? own : 0;
    if (*out != 0 || request->role != WIRE_ROLE_ACTOR || request->place == 0) {
        return OCT_OK;
    }
    *out = admission->o.pace->session(admission->o.pacer, request->place - 1);
    const learner_actor *there = learner_actors_of(admission->o.actors, *out);
    if (there != NULL && !learner_actor_came_with(there, holder)) {
        return oct_fail(why, OCT_EAGAIN, "an actor with another certificate has index %" PRIu32,
                        request->place - 1);
    }
    return OCT_OK;
}

oct_err
learner_admission_register(learner_admission *admission, const wire_register *request,
                           const oct_holder *holder, learner_actor **out, oct_reason *why)
{
    learner_registrant who = {
        .role = request->role,
        .label = request->label,
        .place = request->place,
        .holder = holder,
    };
    OCT_TRY(session_find(admission, request, holder, &who.session, why));
    oct_err err = learner_actors_register(admission->o.actors, &who, oct_clock_ns(), out);
    if (err == OCT_EINVAL) {
        oct_reason_set(why, "its session is registered in another role");
    } else if (err == OCT_EAGAIN && holder != NULL &&
               learner_actors_is_full(admission->o.actors, holder)) {
        places_refuse(admission, holder, why);
    } else if (err == OCT_EAGAIN) {
        oct_reason_set(why, "no room for another actor: all %u slots are taken",
                       LEARNER_ACTORS_MAX);
    }
    return err;
}

void
learner_admission_refuse(learner_admission *admission, const wire_register *request,
                         const char *why)
{
    char text[2 * WIRE_NAME_MAX];
    int length =
        snprintf(text, sizeof(text), "%s/%" PRIu32 ": %s", request->host, request->pid, why);
    oct_text_quote(admission->refused, sizeof(admission->refused), text,
                   OCT_MIN((size_t)length, sizeof(text) - 1));
    admission->refused_ns = oct_clock_ns();
    admission->o.tallies->actors_refused++;
}

const char *
learner_admission_last_refused(const learner_admission *admission)
{
    uint64_t now_ns = oct_clock_ns();
    bool is_old = now_ns - admission->refused_ns > LEARNER_PEER_GONE_S * UINT64_C(1000000000);
    bool is_over = is_old && learner_actors_live_get(admission->o.actors, now_ns).actors > 0;
    return is_over ? "" : admission->refused;
}

// ---- log lines

bool
learner_admission_may_tell(learner_admission *admission, const oct_holder *holder)
{
    uint64_t left_out;
    if (!oct_bucket_take(&admission->peer_lines, holder->id, now_ms(), &left_out)) {
        return false;
    }
    if (left_out > 0) {
        oct_log_warn("LEARNER-UNLOGGED", "lines=%" PRIu64 " certificate=\"%s\"", left_out,
                     holder->name);
    }
    return true;
}

void
learner_admission_ignored(learner_admission *admission, const learner_actor *actor,
                          const char *what)
{
    if (admission->o.tallies->bad_reports++ == 0) {
        oct_log_warn("LEARNER-BAD-REPORT",
                     "actor=%08" PRIx32 " host=\"%s\" certificate=\"%s\" %s: ignored; later "
                     "reports that are ignored are only counted",
                     actor->id, actor->host, actor->holder.name, what);
    }
}

// ---- tickets

bool
learner_admission_may_evaluate(learner_admission *admission, const learner_actor *actor)
{
    static const oct_holder nobody;
    if (actor->ticket != 0 || learner_actor_came_with(actor, &nobody) ||
        oct_bucket_is_left(&admission->tickets, actor->holder.id, now_ms())) {
        return true;
    }
    admission->o.tallies->tickets_refused++;
    if (learner_admission_may_tell(admission, &actor->holder)) {
        oct_log_warn("LEARNER-TICKETS-REFUSED",
                     "evaluator=%08x host=\"%s\" certificate=\"%s\" %d evaluations were not "
                     "answered: it gets one per minute until it answers",
                     actor->id, actor->host, actor->holder.name, LEARNER_TICKETS_MAX);
    }
    return false;
}

void
learner_admission_ordered(learner_admission *admission, learner_actor *actor, uint64_t ticket)
{
    if (ticket != actor->ticket) {
        oct_bucket_use(&admission->tickets, actor->holder.id, now_ms());
        actor->ticket = ticket;
    }
}

void
learner_admission_answered(learner_admission *admission, learner_actor *actor)
{
    oct_bucket_give(&admission->tickets, actor->holder.id, now_ms());
    actor->ticket = 0;
}
