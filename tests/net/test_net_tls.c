// Folders of certificates: keys that others can read, what others can change, lists of two CAs,
// lists that disappear, and certificates of our own that can no longer be used.
#include "common/oct_reason.h"
#include "net/net_tls.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/net_internal.h"
#include "tests/net/net_certs.h"
#include "tests/net/net_side.h"
#include "tests/net/net_test.h"

static certs_ca *ca, *next_ca;

static int
cas_make(void **state)
{
    (void)state;
    ca = certs_ca_create("old");
    next_ca = certs_ca_create("next");
    return 0;
}

static int
cas_remove(void **state)
{
    certs_ca_destroy(ca);
    certs_ca_destroy(next_ca);
    return net_test_folder_remove(state);
}

static void
path_in(char out[256], const char *folder, const char *file)
{
    (void)snprintf(out, 256, "%s/%s", net_test_path(folder), file);
}

static void
refused(const char *folder, const char *words)
{
    oct_reason why = {""};
    net_tls *tls = NULL;
    T_ERR(net_tls_open(&tls, net_test_path(folder), &why), OCT_EINVAL);
    if (strstr(why.text, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, why.text);
    }
}

// Gives whether something new is in use.
static bool
reloads(net_tls *tls, oct_err want, const char *words)
{
    oct_reason why = {""};
    bool is_new;
    T_ERR(net_tls_reload(tls, &is_new, &why), want);
    if (strstr(why.text, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, why.text);
    }
    return is_new;
}

static void
test_keys_that_others_can_read_are_refused(void **state)
{
    (void)state;
    static const mode_t bad[] = {0640, 0604, 0644, 0666, 0620};
    char key[256];
    oct_reason why;
    char words[512];
    net_tls *tls;
    certs_write_usual(ca, "actor", false, net_test_path("open"));
    path_in(key, "open", "node.key");
    (void)snprintf(words, sizeof(words), "chmod 600 %s", key);
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        assert_int_equal(chmod(key, bad[i]), 0);
        refused("open", words);
        refused("open", bad[i] == 0620 ? "can write this key" : "can read this key");
    }
    assert_int_equal(chmod(key, 0400), 0);
    T_OK(net_tls_open(&tls, net_test_path("open"), &why));
    net_tls_close(tls);
}

static void
test_what_others_can_change_is_refused_at_start_and_later(void **state)
{
    (void)state;
    static const char *const names[] = {"ca.crt", "node.crt", "crl.pem"};
    char path[256];
    oct_reason why;
    const char *folder = net_test_path("shared");
    net_tls *tls;
    certs_write_usual(ca, "replay", true, folder);
    certs_list_append(ca, folder);
    T_OK(net_tls_open(&tls, folder, &why));
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        path_in(path, "shared", names[i]);
        FILE *file = fopen(path, "a");
        assert_true(file != NULL && fputs("\n", file) >= 0 && fclose(file) == 0); // it is new
        for (mode_t bit = 002; bit <= 020; bit *= 8) {
            assert_int_equal(chmod(path, 0644 | bit), 0);
            refused("shared", "can be written by other users: chmod go-w");
            reloads(tls, OCT_EINVAL, names[i]);
        }
        assert_int_equal(chmod(path, 0644), 0);
        reloads(tls, OCT_OK, "");
    }
    path_in(path, "shared", ".");
    assert_int_equal(chmod(path, 0770), 0);
    refused("shared", "can be written by other users: chmod go-w");
    assert_int_equal(chmod(path, 01777), 0); // as Kubernetes' is, for its files tell
    net_tls *other;
    T_OK(net_tls_open(&other, net_test_path("shared"), &why));
    net_tls_close(other);
    if (geteuid() == 0) {
        path_in(path, "shared", "crl.pem");
        assert_int_equal(chown(path, 65534, 65534), 0);
        refused("shared", "belongs to user 65534, who could change it");
    }
    net_tls_close(tls);
}

// OpenSSL would wait for its writer.
static void
test_a_pipe_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"ca.crt", "node.crt", "node.key", "crl.pem"};
    char path[256];
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        certs_write_usual(ca, "replay", true, net_test_path("pipe"));
        certs_list_append(ca, net_test_path("pipe"));
        path_in(path, "pipe", names[i]);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        refused("pipe", "not a regular file");
        assert_int_equal(unlink(path), 0);
    }
}

static void
test_each_ca_has_its_list_or_the_old_files_stay(void **state)
{
    (void)state;
    oct_reason why;
    net_tls *tls;
    certs_write_usual(ca, "replay", true, net_test_path("both"));
    T_OK(net_tls_open(&tls, net_test_path("both"), &why));
    assert_int_equal(net_tls_revocation(tls), NET_TLS_NO_LIST);
    certs_list_append(ca, net_test_path("both"));
    reloads(tls, OCT_OK, "");
    assert_int_equal(net_tls_revocation(tls), NET_TLS_LIST);
    certs_trust_append(next_ca, net_test_path("both"));
    reloads(tls, OCT_EINVAL, "no revocation list of the CA \"next\"");
    refused("both", "no revocation list of the CA \"next\"");
    certs_list_append(next_ca, net_test_path("both"));
    reloads(tls, OCT_OK, "");
    net_tls_close(tls);
}

// That has the name of the one before, as a CA that is renewed may: the list of the other is none
// of its own.
static void
test_each_ca_has_its_list_though_both_have_one_name(void **state)
{
    (void)state;
    certs_ca *renewed = certs_ca_create("old");
    certs_write_usual(ca, "replay", true, net_test_path("renewed"));
    certs_list_append(ca, net_test_path("renewed"));
    certs_trust_append(renewed, net_test_path("renewed"));
    refused("renewed", "no revocation list of the CA \"old\"");
    certs_list_append(renewed, net_test_path("renewed"));
    oct_reason why;
    net_tls *tls;
    if (net_tls_open(&tls, net_test_path("renewed"), &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    net_tls_close(tls);
    certs_ca_destroy(renewed);
}

// One that only signs other authorities revokes nobody who connects.
static void
test_root_of_an_authority_needs_no_list(void **state)
{
    (void)state;
    certs_ca *issuing = certs_ca_create_below(ca, "issuing");
    oct_reason why;
    char path[256];
    net_tls *tls;
    certs_write_usual(issuing, "replay", true, net_test_path("below"));
    certs_trust_append(ca, net_test_path("below"));
    certs_list_append(issuing, net_test_path("below"));
    T_OK(net_tls_open(&tls, net_test_path("below"), &why));
    net_tls_close(tls);
    path_in(path, "below", "crl.pem");
    assert_int_equal(unlink(path), 0);
    certs_list_append(ca, net_test_path("below"));
    refused("below", "no revocation list of the CA \"issuing\"");
    certs_ca_destroy(issuing);
}

static void
test_a_list_with_rubbish_behind_it_is_refused(void **state)
{
    (void)state;
    char path[256];
    certs_write_usual(ca, "replay", true, net_test_path("cut"));
    certs_list_append(ca, net_test_path("cut"));
    path_in(path, "cut", "crl.pem");
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    (void)fputs("-----BEGIN X509 CRL-----\nMIIB", file); // as while it is being copied
    (void)fclose(file);
    refused("cut", "not a revocation list in PEM");
}

// Whoever was revoked stays out, also behind a second list, and when the file is removed.
static void
test_removing_the_list_revokes_nothing_less(void **state)
{
    (void)state;
    char path[256];
    const char *url = tls_url();
    side leaver, good, to;
    certs_write_usual(ca, "replay", true, net_test_path("keeper"));
    certs_trust_append(next_ca, net_test_path("keeper"));
    certs_write_usual(ca, "actor", false, net_test_path("leaver"));
    certs_write_usual(next_ca, "actor", false, net_test_path("newcomer"));
    certs_trust_append(ca, net_test_path("newcomer"));
    certs_revoke(ca, net_test_path("leaver"), net_test_path("keeper"));
    certs_list_append(next_ca, net_test_path("keeper"));
    side_open(&to, "keeper");
    side_pull(&to, url, ACTOR);
    side_open(&leaver, "leaver");
    side_push(&leaver, url, REPLAY);
    while (counts_of(&to).refused < 2) {
        side_turn(&leaver);
        side_turn(&to);
    }
    side_open(&good, "newcomer");
    side_push(&good, url, REPLAY);
    pass_one(&good, &to);
    const char *log = net_test_path("list.log");
    int saved = net_test_stderr_to(log);
    path_in(path, "keeper", "crl.pem");
    assert_int_equal(unlink(path), 0);
    char text[4096] = "";
    while (strstr(text, "NET-TLS-LIST-KEPT") == NULL) {
        side_turn(&to);
        net_test_read(log, text, sizeof(text));
    }
    net_test_stderr_back(saved);
    uint64_t before = counts_of(&to).refused;
    while (counts_of(&to).refused < before + 2) {
        side_turn(&leaver);
        side_turn(&to);
    }
    assert_int_equal(leaver.connected, 0);
    pass_one(&good, &to);
    assert_int_equal(good.disconnected, 0);
    side_close(&good);
    side_close(&leaver);
    side_close(&to);
}

// What one side has written, to the other.
static bool
bytes_pass(BIO *from, BIO *to)
{
    char bytes[4096];
    int length = BIO_read(from, bytes, sizeof(bytes));
    return length > 0 && BIO_write(to, bytes, length) == length;
}

// Both sides of a connection in memory, as far as they get.
typedef struct pair {
    SSL *ssl, *their_ssl; // who accepts, who connects
    BIO *in, *sent, *their_in, *their_sent;
} pair;

static pair
pair_make(net_tls *tls, net_tls *their_tls, const char *host)
{
    pair p;
    p.ssl = net_tls_connection(tls, NULL, &p.in, &p.sent);
    p.their_ssl = net_tls_connection(their_tls, host, &p.their_in, &p.their_sent);
    return p;
}

static void
pair_meet(pair p)
{
    bool continues = true;
    while (continues) {
        (void)SSL_do_handshake(p.their_ssl);
        continues = bytes_pass(p.their_sent, p.in);
        (void)SSL_do_handshake(p.ssl);
        continues = bytes_pass(p.sent, p.their_in) || continues;
    }
}

static void
pair_free(pair p)
{
    SSL_free(p.ssl);
    SSL_free(p.their_ssl);
}

// Whether tls takes the certificate in theirs, from which its connection is made: peer is who that
// is.
static bool
is_taken(net_tls *tls, const char *theirs, net_tls_peer *peer)
{
    oct_reason why;
    net_tls *their_tls;
    T_OK(net_tls_open(&their_tls, net_test_path(theirs), &why));
    pair p = pair_make(tls, their_tls, "localhost");
    pair_meet(p);
    bool taken = SSL_is_init_finished(p.ssl) == 1;
    if (taken) {
        T_OK(net_tls_peer_read(p.ssl, peer));
    }
    net_tls_reason(p.ssl, &why);
    pair_free(p);
    net_tls_close(their_tls);
    return taken;
}

// As what an archive of whole seconds, or a copy that keeps times, brings.
static void
test_list_is_taken_that_has_the_time_of_the_one_before(void **state)
{
    (void)state;
    oct_reason why;
    char path[256];
    struct stat before;
    net_tls *tls;
    net_tls_peer peer;
    certs_write_usual(ca, "replay", true, net_test_path("timed"));
    certs_write_usual(ca, "actor", false, net_test_path("stolen"));
    certs_list_append(ca, net_test_path("timed"));
    T_OK(net_tls_open(&tls, net_test_path("timed"), &why));
    assert_true(is_taken(tls, "stolen", &peer));
    path_in(path, "timed", "crl.pem");
    assert_int_equal(stat(path, &before), 0);
    certs_revoke(ca, net_test_path("stolen"), net_test_path("timed"));
    const struct timespec times[] = {before.st_atim, before.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    reloads(tls, OCT_OK, "");
    assert_false(is_taken(tls, "stolen", &peer));
    net_tls_close(tls);
}

// Who connects goes by the names that the certificate has for hosts, and by nothing else of it.
static void
test_hosts_that_a_certificate_is_good_for(void **state)
{
    (void)state;
    static const struct {
        const char *sans, *host;
        bool is_good;
    } cases[] = {
        {"DNS:one.farm.example", "one.farm.example", true},
        {"DNS:one.farm.example", "two.farm.example", false},
        {"DNS:two.farm.example", "one.farm.example", false}, // though that is its holder's name
        {"DNS:farm.example", "one.farm.example", false},
        {"DNS:*.farm.example", "one.farm.example", true},
        {"DNS:*.farm.example", "a.one.farm.example", false},
        {"DNS:o*.farm.example", "one.farm.example", false}, // half a name
        {"IP:192.0.2.7", "192.0.2.7", true},
        {"IP:192.0.2.7", "192.0.2.8", false},
        {"DNS:192.0.2.7", "192.0.2.7", false},
        {"IP:2001:db8::7", "2001:db8::7", true},
        {"IP:2001:db8::7", "2001:db8::8", false},
    };
    oct_reason why;
    net_tls *here, *there;
    certs_write_usual(ca, "actor", false, net_test_path("here"));
    T_OK(net_tls_open(&here, net_test_path("here"), &why));
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        const certs_leaf leaf = {
            .unit = "replay", .name = "one.farm.example", .sans = cases[i].sans, .may_serve = true};
        certs_write(ca, &leaf, net_test_path("there"));
        T_OK(net_tls_open(&there, net_test_path("there"), &why));
        pair p = pair_make(there, here, cases[i].host);
        pair_meet(p);
        if ((SSL_is_init_finished(p.their_ssl) == 1) != cases[i].is_good) {
            fail_msg("%s at %s", cases[i].sans, cases[i].host);
        }
        net_tls_reason(p.their_ssl, &why);
        assert_int_equal(strstr(why.text, "does not name this host") != NULL, !cases[i].is_good);
        pair_free(p);
        net_tls_close(there);
    }
    net_tls_close(here);
}

static void
actor_and_replay_open(net_tls **here, net_tls **there)
{
    oct_reason why;
    certs_write_usual(ca, "actor", false, net_test_path("here"));
    certs_write_usual(ca, "replay", true, net_test_path("there"));
    T_OK(net_tls_open(here, net_test_path("here"), &why));
    T_OK(net_tls_open(there, net_test_path("there"), &why));
}

// Also where the system's settings of OpenSSL would allow them.
static void
test_versions_before_1_2_are_refused(void **state)
{
    (void)state;
    static const int versions[] = {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION};
    oct_reason why;
    net_tls *here, *there;
    actor_and_replay_open(&here, &there);
    for (size_t i = 0; i < OCT_COUNTOF(versions); i++) {
        pair p = pair_make(there, here, "localhost");
        SSL_set_security_level(p.ssl, 0);
        SSL_set_security_level(p.their_ssl, 0);
        assert_int_equal(SSL_set_min_proto_version(p.their_ssl, versions[i]), 1);
        assert_int_equal(SSL_set_max_proto_version(p.their_ssl, versions[i]), 1);
        pair_meet(p);
        assert_int_equal(SSL_is_init_finished(p.ssl), versions[i] >= TLS1_2_VERSION);
        net_tls_reason(p.ssl, &why);
        pair_free(p);
    }
    net_tls_close(here);
    net_tls_close(there);
}

// One that was resumed would not be checked against a list that has come since. Who connects asks
// for it here, as none of ours does.
static void
test_no_session_is_resumed(void **state)
{
    (void)state;
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    char byte;
    net_tls *here, *there;
    actor_and_replay_open(&here, &there);
    for (size_t i = 0; i < OCT_COUNTOF(versions); i++) {
        SSL_SESSION *session = NULL;
        for (int turn = 0; turn < 2; turn++) {
            pair p = pair_make(there, here, "localhost");
            (void)SSL_clear_options(p.their_ssl, SSL_OP_NO_TICKET);
            assert_int_equal(SSL_set_max_proto_version(p.their_ssl, versions[i]), 1);
            assert_true(session == NULL || SSL_set_session(p.their_ssl, session) == 1);
            pair_meet(p);
            assert_true(SSL_is_init_finished(p.ssl) && SSL_is_init_finished(p.their_ssl));
            assert_false(SSL_session_reused(p.ssl));
            (void)SSL_read(p.their_ssl, &byte, 1); // with what comes behind the handshake
            SSL_SESSION_free(session);
            session = SSL_get1_session(p.their_ssl);
            SSL_set_shutdown(p.ssl, SSL_SENT_SHUTDOWN); // else OpenSSL takes it for a bad one
            SSL_set_shutdown(p.their_ssl, SSL_SENT_SHUTDOWN);
            pair_free(p);
        }
        SSL_SESSION_free(session);
    }
    net_tls_close(here);
    net_tls_close(there);
}

// What the accepting side reads in the certificate of an actor of that name.
static void
name_read(const char *name, char out[OCT_HOLDER_NAME_MAX + 1])
{
    const certs_leaf leaf = {.unit = "actor", .name = name, .sans = "DNS:localhost"};
    oct_reason why;
    net_tls *tls;
    net_tls_peer peer;
    certs_write_usual(ca, "replay", true, net_test_path("reader"));
    certs_write(ca, &leaf, net_test_path("named"));
    T_OK(net_tls_open(&tls, net_test_path("reader"), &why));
    assert_true(is_taken(tls, "named", &peer));
    assert_int_equal(peer.role, OCT_ROLE_ACTOR);
    memcpy(out, peer.holder.name, sizeof(peer.holder.name));
    net_tls_close(tls);
}

// It goes into messages, which only text may.
static void
test_names_of_holders_are_cut_between_characters(void **state)
{
    (void)state;
    char name[81] = "", out[OCT_HOLDER_NAME_MAX + 1], want[OCT_HOLDER_NAME_MAX + 1];
    for (size_t i = 0; i < 40; i++) {
        memcpy(name + 2 * i, "é", 3);
    }
    name_read(name, out);
    (void)snprintf(want, sizeof(want), "%.60s...", name);
    assert_string_equal(out, want);
    name_read("a \"rack\"", out);
    assert_string_equal(out, "a ?rack?");
}

// ---- our own certificate can no longer be used

// A replay that runs with the certificates in "host", and "good" and "stolen", which it takes.
static net_tls *
host_open(void)
{
    oct_reason why;
    net_tls *tls;
    net_tls_peer peer;
    certs_write_usual(ca, "replay", true, net_test_path("host"));
    certs_list_append(ca, net_test_path("host"));
    certs_write_usual(ca, "actor", false, net_test_path("good"));
    certs_write_usual(ca, "actor", false, net_test_path("stolen"));
    T_OK(net_tls_open(&tls, net_test_path("host"), &why));
    assert_true(is_taken(tls, "stolen", &peer));
    return tls;
}

static void
host_close(net_tls *tls)
{
    char path[256];
    path_in(path, "host", "crl.pem");
    assert_int_equal(unlink(path), 0);
    net_tls_close(tls);
}

// The list is in force, under the certificate that was in use, and words say what is wrong with
// that in the folder. It is taken once, and told as long as it is so.
static void
takes_the_list_alone(net_tls *tls, const char *words)
{
    net_tls_peer peer;
    assert_true(reloads(tls, OCT_EINVAL, words));
    assert_false(is_taken(tls, "stolen", &peer));
    assert_true(is_taken(tls, "good", &peer));
    assert_false(reloads(tls, OCT_EINVAL, words));
}

static void
test_a_list_that_revokes_our_own_certificate_is_taken(void **state)
{
    (void)state;
    net_tls *tls = host_open();
    certs_revoke(ca, net_test_path("host"), net_test_path("host"));
    certs_revoke(ca, net_test_path("stolen"), net_test_path("host"));
    takes_the_list_alone(tls, "host/node.crt: certificate revoked");
    refused("host", "certificate revoked");
    // The list that came, not the one before it, stays when the file is removed.
    net_tls_peer peer;
    char path[256];
    path_in(path, "host", "crl.pem");
    assert_int_equal(unlink(path), 0);
    assert_true(reloads(tls, OCT_EINVAL, "certificate revoked"));
    assert_int_equal(net_tls_revocation(tls), NET_TLS_LIST_KEPT);
    assert_false(is_taken(tls, "stolen", &peer));
    // A new certificate ends it.
    certs_write_usual(ca, "replay", true, net_test_path("host"));
    certs_list_append(ca, net_test_path("host"));
    assert_true(reloads(tls, OCT_OK, ""));
    assert_false(is_taken(tls, "stolen", &peer));
    assert_false(reloads(tls, OCT_EAGAIN, ""));
    host_close(tls);
}

static void
test_a_list_is_taken_beside_a_certificate_that_has_expired(void **state)
{
    (void)state;
    const certs_leaf leaf = {.unit = "replay",
                             .name = "replay",
                             .sans = "DNS:localhost",
                             .may_serve = true,
                             .days_from = -20,
                             .days = 10};
    net_tls *tls = host_open();
    certs_write(ca, &leaf, net_test_path("host"));
    certs_revoke(ca, net_test_path("stolen"), net_test_path("host"));
    takes_the_list_alone(tls, "host/node.crt: certificate has expired");
    host_close(tls);
}

static void
test_a_list_is_taken_beside_a_key_that_others_can_read(void **state)
{
    (void)state;
    char path[256];
    net_tls *tls = host_open();
    path_in(path, "host", "node.key");
    assert_int_equal(chmod(path, 0644), 0);
    certs_revoke(ca, net_test_path("stolen"), net_test_path("host"));
    takes_the_list_alone(tls, "other users can read this key");
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(reloads(tls, OCT_OK, ""));
    host_close(tls);
}

// As when one host's folder is copied over another's. At start the daemon says the same.
static void
test_a_certificate_of_another_role_is_not_taken(void **state)
{
    (void)state;
    net_tls *tls = host_open();
    certs_write_usual(ca, "actor", false, net_test_path("host"));
    assert_true(reloads(tls, OCT_EINVAL,
                        "host/node.crt: the certificate is an actor's; a replay's is needed (octet "
                        "certs issue replay NAME makes one)"));
    assert_int_equal(net_tls_role(tls), OCT_ROLE_REPLAY);
    certs_revoke(ca, net_test_path("stolen"), net_test_path("host"));
    takes_the_list_alone(tls, "the certificate is an actor's");
    host_close(tls);
}

// ca.crt is of another CA and node.crt is still of ours: whoever is connected stays so.
static void
test_half_of_another_ca_changes_nothing(void **state)
{
    (void)state;
    char from[256], to[256];
    net_tls_peer peer;
    net_tls *tls = host_open();
    certs_write_usual(next_ca, "replay", true, net_test_path("coming"));
    path_in(to, "host", "ca.crt");
    path_in(from, "coming", "ca.crt");
    assert_int_equal(rename(from, to), 0);
    assert_false(reloads(tls, OCT_EINVAL, "no revocation list of the CA \"next\""));
    path_in(to, "host", "crl.pem");
    assert_int_equal(unlink(to), 0);
    certs_list_append(next_ca, net_test_path("host"));
    assert_false(reloads(tls, OCT_EINVAL, "host/node.crt: "));
    assert_true(is_taken(tls, "good", &peer));
    assert_false(reloads(tls, OCT_EINVAL, "host/node.crt: "));
    certs_write_usual(next_ca, "replay", true, net_test_path("host"));
    assert_true(reloads(tls, OCT_OK, ""));
    assert_false(is_taken(tls, "good", &peer));
    host_close(tls);
}

// What the log and the health check say, and what is done with connections.
static void
test_a_daemon_that_was_revoked_cuts_off_the_others(void **state)
{
    (void)state;
    char text[4096] = "", trouble[NET_GATE_TROUBLE_BYTES];
    const char *url = tls_url();
    side stolen, to;
    net_tls_close(host_open());
    side_open(&to, "host");
    side_pull(&to, url, ACTOR);
    side_open(&stolen, "stolen");
    side_push(&stolen, url, REPLAY);
    pass_one(&stolen, &to);
    assert_false(net_gate_trouble(net_loop_gate(to.loop), trouble));
    assert_string_equal(trouble, "");
    int saved = net_test_stderr_to(net_test_path("revoked.log"));
    certs_revoke(ca, net_test_path("host"), net_test_path("host"));
    certs_revoke(ca, net_test_path("stolen"), net_test_path("host"));
    while (counts_of(&to).revoked < 1 || counts_of(&to).refused < 1) {
        side_turn(&stolen);
        side_turn(&to);
    }
    assert_false(net_gate_trouble(net_loop_gate(to.loop), trouble)); // a restart would not help
    net_test_stderr_back(saved);
    assert_non_null(strstr(trouble, "files of --tls cannot be used: "));
    assert_non_null(strstr(trouble, "host/node.crt: certificate revoked"));
    net_test_read(net_test_path("revoked.log"), text, sizeof(text));
    assert_non_null(strstr(text, "NET-TLS-KEPT ca.crt and crl.pem were reloaded, but the previous "
                                 "certificate and key stay in use: "));
    assert_null(strstr(text, "NET-TLS-NEW"));
    certs_write_usual(ca, "replay", true, net_test_path("host"));
    while (trouble[0] != '\0') {
        side_turn(&to);
        assert_false(net_gate_trouble(net_loop_gate(to.loop), trouble));
    }
    side_close(&stolen);
    side_close(&to);
}

int
main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_that_others_can_read_are_refused),
        cmocka_unit_test(test_what_others_can_change_is_refused_at_start_and_later),
        cmocka_unit_test(test_a_pipe_is_refused),
        cmocka_unit_test(test_each_ca_has_its_list_or_the_old_files_stay),
        cmocka_unit_test(test_each_ca_has_its_list_though_both_have_one_name),
        cmocka_unit_test(test_root_of_an_authority_needs_no_list),
        cmocka_unit_test(test_list_is_taken_that_has_the_time_of_the_one_before),
        cmocka_unit_test(test_a_list_with_rubbish_behind_it_is_refused),
        cmocka_unit_test(test_removing_the_list_revokes_nothing_less),
        cmocka_unit_test(test_a_list_that_revokes_our_own_certificate_is_taken),
        cmocka_unit_test(test_a_list_is_taken_beside_a_certificate_that_has_expired),
        cmocka_unit_test(test_a_list_is_taken_beside_a_key_that_others_can_read),
        cmocka_unit_test(test_a_certificate_of_another_role_is_not_taken),
        cmocka_unit_test(test_half_of_another_ca_changes_nothing),
        cmocka_unit_test(test_a_daemon_that_was_revoked_cuts_off_the_others),
        cmocka_unit_test(test_hosts_that_a_certificate_is_good_for),
        cmocka_unit_test(test_versions_before_1_2_are_refused),
        cmocka_unit_test(test_no_session_is_resumed),
        cmocka_unit_test(test_names_of_holders_are_cut_between_characters),
    };
    return cmocka_run_group_tests_name("net_tls", tests, cas_make, cas_remove);
}
