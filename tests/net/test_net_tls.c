// Folders of certificates: keys that others can read, what others can change, lists of two CAs, and
// lists that disappear.
#include "net/net_tls.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

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
    char reason[1024] = "";
    net_tls *tls = NULL;
    T_ERR(net_tls_open(&tls, net_test_path(folder), reason, sizeof(reason)), OCT_EINVAL);
    if (strstr(reason, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, reason);
    }
}

static void
reloads(net_tls *tls, oct_err want, const char *words)
{
    char reason[1024] = "";
    T_ERR(net_tls_reload(tls, reason, sizeof(reason)), want);
    if (strstr(reason, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, reason);
    }
}

static void
test_keys_that_others_can_read_are_refused(void **state)
{
    (void)state;
    static const mode_t bad[] = {0640, 0604, 0644, 0666, 0620};
    char key[256], reason[1024], words[512];
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
    T_OK(net_tls_open(&tls, net_test_path("open"), reason, sizeof(reason)));
    net_tls_close(tls);
}

static void
test_what_others_can_change_is_refused_at_start_and_later(void **state)
{
    (void)state;
    static const char *const names[] = {"ca.crt", "node.crt", "crl.pem"};
    char path[256], reason[1024];
    const char *folder = net_test_path("shared");
    net_tls *tls;
    certs_write_usual(ca, "replay", true, folder);
    certs_list_append(ca, folder);
    T_OK(net_tls_open(&tls, folder, reason, sizeof(reason)));
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
    T_OK(net_tls_open(&other, net_test_path("shared"), reason, sizeof(reason)));
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
        refused("pipe", "no plain file");
        assert_int_equal(unlink(path), 0);
    }
}

static void
test_each_ca_has_its_list_or_the_old_files_stay(void **state)
{
    (void)state;
    char reason[1024];
    net_tls *tls;
    certs_write_usual(ca, "replay", true, net_test_path("both"));
    T_OK(net_tls_open(&tls, net_test_path("both"), reason, sizeof(reason)));
    assert_int_equal(net_tls_revocation(tls), NET_TLS_NO_LIST);
    certs_list_append(ca, net_test_path("both"));
    reloads(tls, OCT_OK, "");
    assert_int_equal(net_tls_revocation(tls), NET_TLS_LIST);
    certs_trust_append(next_ca, net_test_path("both"));
    reloads(tls, OCT_EINVAL, "no list of the CA \"next\"");
    refused("both", "no list of the CA \"next\"");
    certs_list_append(next_ca, net_test_path("both"));
    reloads(tls, OCT_OK, "");
    net_tls_close(tls);
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

// What the accepting side reads in the certificate of an actor of that name.
static void
name_read(const char *name, char out[OCT_HOLDER_NAME_MAX + 1])
{
    const certs_leaf leaf = {.unit = "actor", .name = name, .sans = "DNS:localhost"};
    char reason[1024];
    net_tls *tls, *theirs;
    net_tls_peer peer;
    BIO *in, *sent, *their_in, *their_sent;
    certs_write_usual(ca, "replay", true, net_test_path("reader"));
    certs_write(ca, &leaf, net_test_path("named"));
    T_OK(net_tls_open(&tls, net_test_path("reader"), reason, sizeof(reason)));
    T_OK(net_tls_open(&theirs, net_test_path("named"), reason, sizeof(reason)));
    SSL *ssl = net_tls_connection(tls, NULL, &in, &sent);
    SSL *their_ssl = net_tls_connection(theirs, "localhost", &their_in, &their_sent);
    bool goes_on = true;
    while (goes_on) {
        (void)SSL_do_handshake(their_ssl);
        goes_on = bytes_pass(their_sent, in);
        (void)SSL_do_handshake(ssl);
        goes_on = bytes_pass(sent, their_in) || goes_on;
    }
    T_OK(net_tls_peer_read(ssl, &peer));
    assert_int_equal(peer.role, OCT_ROLE_ACTOR);
    memcpy(out, peer.holder.name, sizeof(peer.holder.name));
    SSL_free(ssl);
    SSL_free(their_ssl);
    net_tls_close(tls);
    net_tls_close(theirs);
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

int
main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_that_others_can_read_are_refused),
        cmocka_unit_test(test_what_others_can_change_is_refused_at_start_and_later),
        cmocka_unit_test(test_a_pipe_is_refused),
        cmocka_unit_test(test_each_ca_has_its_list_or_the_old_files_stay),
        cmocka_unit_test(test_a_list_with_rubbish_behind_it_is_refused),
        cmocka_unit_test(test_removing_the_list_revokes_nothing_less),
        cmocka_unit_test(test_names_of_holders_are_cut_between_characters),
    };
    return cmocka_run_group_tests_name("net_tls", tests, cas_make, cas_remove);
}
