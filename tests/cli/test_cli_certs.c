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
        "",           ".",      "..",      "../a",        "a/b",
        ".a",         "-a",     "a b",     "a\n",         "a,b",
        "a=b",        "$a",     "a\\",     "\xc3\xa9",    "a/CN=b",
        "ca.key",     "CA.crt", "crl.pem", "a;b",         "a\tb",
        "issued.pem", "a*",     "~",       "pending.pem", TEN TEN TEN TEN TEN TEN "abcd",
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
        bool valid;
    } cases[] = {
        {"", false},
        {"10.0.0.5", true},
        {"::1", true},
        {"fe80::1", true},
        {"10.0.0.256", false}, // a mistyped address is no name
        {"10.0.0", false},
        {"fe80::1%eth0", false},
        {"[::1]", false},
        {"host:5555", false},
        {"tcp://host", false},
        {"*.example.org", false},
        {"a..b", false},
        {".a", false},
        {"a.", false},
        {"-a", false},
        {"a-", false},
        {"a-.b", false},
        {"a\nDNS.9 = b", false},
        {"a, DNS:b", false},
        {"$ENV::HOME", false},
        {TEN TEN TEN TEN TEN TEN "abcd", false}, // a label of 64
        {"localhost", true},
        {"a_b", true},
        {"10.example", true},
        {"train-1.example.org", true},
        {TEN TEN TEN TEN TEN TEN "abc", true},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        if (cli_certs_host_is_valid(cases[i].host) != cases[i].valid) {
            fail_msg("'%s'", cases[i].host);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_that_would_leave_the_folder_or_mislead_are_refused),
        cmocka_unit_test(test_plain_names_are_taken),
        cmocka_unit_test(test_hosts_are_addresses_or_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
