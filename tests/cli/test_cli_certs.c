// Names and hosts that `octet certs` accepts and refuses.
#include <string.h>

#include "cli/cli_certs.h"
#include "tests/support/oct_test.h"

#define TEN "abcdefghij"

static void
test_names_that_would_leave_the_folder_or_mislead_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",     ".",           "..",     "../a",     "a/b",
        ".a",   "-a",          "a b",    "a\n",      "a,b",
        "a=b",  "$a",          "a\\",    "\xc3\xa9", "a/CN=b",
        "db",   "ca.key",      "CA.crt", "crl.pem",  "a;b",
        "a\tb", "openssl.cnf", "a*",     "~",        TEN TEN TEN TEN TEN TEN "abcd",
    };
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        if (cli_certs_name_is_valid(bad[i])) {
            fail_msg("'%s' is taken", bad[i]);
        }
    }
}

static void
test_plain_names_are_taken(void **state)
{
    (void)state;
    static const char *const good[] = {
        "a", "7", "_a", "actor-3", "train.example.org", "10.0.0.5", TEN TEN TEN TEN TEN TEN "abc",
    };
    for (size_t i = 0; i < OCT_COUNTOF(good); i++) {
        if (!cli_certs_name_is_valid(good[i])) {
            fail_msg("'%s' is refused", good[i]);
        }
    }
}

static void
test_hosts_are_addresses_or_names(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool valid, address;
    } cases[] = {
        {"", false, false},
        {"10.0.0.5", true, true},
        {"::1", true, true},
        {"fe80::1", true, true},
        {"10.0.0.256", false, false}, // a mistyped address is no name
        {"10.0.0", false, false},
        {"fe80::1%eth0", false, false},
        {"[::1]", false, false},
        {"host:5555", false, false},
        {"tcp://host", false, false},
        {"*.example.org", false, false},
        {"a..b", false, false},
        {".a", false, false},
        {"a.", false, false},
        {"-a", false, false},
        {"a-", false, false},
        {"a-.b", false, false},
        {"a\nDNS.9 = b", false, false},
        {"a, DNS:b", false, false},
        {"$ENV::HOME", false, false},
        {TEN TEN TEN TEN TEN TEN "abcd", false, false}, // a label of 64
        {"localhost", true, false},
        {"a_b", true, false},
        {"10.example", true, false},
        {"train-1.example.org", true, false},
        {TEN TEN TEN TEN TEN TEN "abc", true, false},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        if (cli_certs_host_is_valid(cases[i].host) != cases[i].valid ||
            cli_certs_host_is_address(cases[i].host) != cases[i].address) {
            fail_msg("'%s'", cases[i].host);
        }
    }
}

static void
test_a_host_is_added_once_and_not_without_bound(void **state)
{
    (void)state;
    static cli_certs_request request;
    char host[16];
    request = (cli_certs_request){0};
    assert_true(cli_certs_host_add(&request, "Train"));
    assert_true(cli_certs_host_add(&request, "train"));
    assert_true(cli_certs_host_add(&request, "fe80::1"));
    assert_true(cli_certs_host_add(&request, "FE80:0:0:0:0:0:0:1"));
    assert_int_equal(request.host_count, 2);
    while (request.host_count <= CLI_CERTS_HOSTS_MAX) {
        (void)snprintf(host, sizeof(host), "h%zu", request.host_count);
        assert_true(cli_certs_host_add(&request, host));
    }
    assert_false(cli_certs_host_add(&request, "one-more"));
    assert_true(cli_certs_host_add(&request, "train"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_that_would_leave_the_folder_or_mislead_are_refused),
        cmocka_unit_test(test_plain_names_are_taken),
        cmocka_unit_test(test_hosts_are_addresses_or_names),
        cmocka_unit_test(test_a_host_is_added_once_and_not_without_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
