// Which addresses are accepted, refused and offered to peers, by tables of cases.
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/net_url.h"

typedef struct check_case {
    const char *url;
    oct_err secure;   // without insecure
    oct_err insecure; // with it
} check_case;

static void
test_url_check_table(void **state)
{
    (void)state;
    static const check_case cases[] = {
        {"", OCT_EINVAL, OCT_EINVAL},
        {"tcp", OCT_EINVAL, OCT_EINVAL},
        {"http://127.0.0.1:80", OCT_EINVAL, OCT_EINVAL},
        {"tls+tcp://127.0.0.1:80", OCT_OK, OCT_OK},
        {"tls+tcp://0.0.0.0:5555", OCT_OK, OCT_OK},
        {"tls+tcp://host.example.org:5555", OCT_OK, OCT_OK},
        {"tls+tcp://[2001:db8::1]:5555", OCT_OK, OCT_OK},
        {"tls+tcp://host", OCT_EINVAL, OCT_EINVAL},
        {"tls+tcp://host:0", OCT_EINVAL, OCT_EINVAL},
        {"tls+ipc://x", OCT_EINVAL, OCT_EINVAL},
        {"TCP://127.0.0.1:80", OCT_EINVAL, OCT_EINVAL},
        {"abstract://x", OCT_EINVAL, OCT_EINVAL},
        {"tcp://", OCT_EINVAL, OCT_EINVAL},
        {"tcp://127.0.0.1", OCT_EINVAL, OCT_EINVAL},
        {"tcp://127.0.0.1:", OCT_EINVAL, OCT_EINVAL},
        {"tcp://127.0.0.1:0", OCT_EINVAL, OCT_EINVAL},
        {"tcp://127.0.0.1:65536", OCT_EINVAL, OCT_EINVAL},
        {"tcp://127.0.0.1:99999999999999999999", OCT_EINVAL, OCT_EINVAL},
        {"tcp://127.0.0.1:-1", OCT_EINVAL, OCT_EINVAL},
        {"tcp://127.0.0.1:80x", OCT_EINVAL, OCT_EINVAL},
        {"tcp://127.0.0.1:80/path", OCT_EINVAL, OCT_EINVAL},
        {"tcp://user@127.0.0.1:80", OCT_EINVAL, OCT_EINVAL},
        {"tcp://eth0;127.0.0.1:80", OCT_EINVAL, OCT_EINVAL},
        {"tcp://a b:80", OCT_EINVAL, OCT_EINVAL},
        {"tcp://local\nhost:80", OCT_EINVAL, OCT_EINVAL},
        {"tcp://::1:80", OCT_EINVAL, OCT_EINVAL},
        {"tcp://[::1:80", OCT_EINVAL, OCT_EINVAL},
        {"tcp://[::1]80", OCT_EINVAL, OCT_EINVAL},
        {"tcp://[localhost]:80", OCT_EINVAL, OCT_EINVAL},
        {"ipc://", OCT_EINVAL, OCT_EINVAL},
        {"inproc://", OCT_EINVAL, OCT_EINVAL},
        // Beyond this machine, or it may be.
        {"tcp://10.0.0.1:5555", OCT_EINVAL, OCT_OK},
        {"tcp://128.0.0.1:5555", OCT_EINVAL, OCT_OK},
        {"tcp://126.255.255.255:5555", OCT_EINVAL, OCT_OK},
        {"tcp://0.0.0.0:5555", OCT_EINVAL, OCT_OK},
        {"tcp://*:5555", OCT_EINVAL, OCT_OK},
        {"tcp://:5555", OCT_EINVAL, OCT_OK},
        {"tcp://[::]:5555", OCT_EINVAL, OCT_OK},
        {"tcp://[fe80::1]:5555", OCT_EINVAL, OCT_OK},
        {"tcp://[::ffff:10.0.0.1]:5555", OCT_EINVAL, OCT_OK},
        {"tcp://learner:5555", OCT_EINVAL, OCT_OK},
        {"tcp://localhost.example.org:5555", OCT_EINVAL, OCT_OK},
        {"tcp://127.0.0.1.example.org:5555", OCT_EINVAL, OCT_OK},
        {"tcp://127.1:5555", OCT_EINVAL, OCT_OK}, // not a dotted quad: a name to us
        // This machine: of any user of it.
        {"tcp://127.0.0.1:1", OCT_EINVAL, OCT_OK},
        {"tcp://127.0.0.1:65535", OCT_EINVAL, OCT_OK},
        {"tcp://127.255.255.254:5555", OCT_EINVAL, OCT_OK},
        {"tcp://[::1]:5555", OCT_EINVAL, OCT_OK},
        {"tcp://[0:0:0:0:0:0:0:1]:5555", OCT_EINVAL, OCT_OK},
        {"tcp://localhost:5555", OCT_EINVAL, OCT_OK},
        {"tcp://LocalHost:5555", OCT_EINVAL, OCT_OK},
        {"ipc://run/learner.sock", OCT_OK, OCT_OK},
        {"ipc:///tmp/a b", OCT_OK, OCT_OK},
        {"inproc://x", OCT_OK, OCT_OK},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        oct_reason why = {""};
        print_message("%s\n", cases[i].url);
        T_ERR(net_url_check(cases[i].url, false, &why), cases[i].secure);
        assert_int_equal(why.text[0] != '\0', cases[i].secure != OCT_OK);
        T_ERR(net_url_check(cases[i].url, true, &why), cases[i].insecure);
    }
}

// An address is told in lines of the log and on terminals, and one port has one spelling.
static void
test_url_is_plain(void **state)
{
    (void)state;
    static const char *const urls[] = {"ipc:///tmp/a\nb", "ipc:///tmp/\x1b[2J", "inproc://a\x7f",
                                       "tcp://127.0.0.1:000080"};
    for (size_t i = 0; i < OCT_COUNTOF(urls); i++) {
        T_ERR(net_url_check(urls[i], true, NULL), OCT_EINVAL);
    }
}

static void
test_url_check_names_the_way_out(void **state)
{
    (void)state;
    oct_reason why;
    T_ERR(net_url_check("tcp://10.1.2.3:5555", false, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "10.1.2.3"));
    assert_non_null(strstr(why.text, "--insecure"));
    T_ERR(net_url_check("tcp://0.0.0.0:5555", false, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "--insecure"));
    T_ERR(net_url_check("tcp://127.0.0.1:5555", false, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "open to every user of this machine"));
    assert_non_null(strstr(why.text, "use ipc:// (or tls+tcp://), or give --insecure"));
}

static void
test_url_of_a_relative_path_becomes_absolute(void **state)
{
    (void)state;
    char out[NET_URL_MAX], want[NET_URL_MAX], before[NET_URL_MAX];
    static const char *const same[] = {"ipc:///tmp/x", "tcp://127.0.0.1:1", "inproc://x"};
    for (size_t i = 0; i < OCT_COUNTOF(same); i++) {
        T_OK(net_url_absolute(same[i], out));
        assert_string_equal(out, same[i]);
    }
    char folder[] = "/tmp/octet-url-XXXXXX";
    assert_non_null(getcwd(before, sizeof(before)));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    T_OK(net_url_absolute("ipc://run/learner.ipc", out));
    snprintf(want, sizeof(want), "ipc://%s/run/learner.ipc", folder);
    assert_string_equal(out, want);
    // As long as a socket's path may be, and a byte more: then it stays what it was.
    char longest[NET_URL_MAX];
    size_t room = sizeof(((struct sockaddr_un *)0)->sun_path) - 1 - NET_URL_OFFSET_BYTES;
    int name_bytes = (int)(room - strlen(folder) - 1);
    snprintf(longest, sizeof(longest), "ipc://%0*d", name_bytes, 0);
    T_OK(net_url_absolute(longest, out));
    snprintf(want, sizeof(want), "ipc://%s/%0*d", folder, name_bytes, 0);
    assert_string_equal(out, want);
    T_OK(net_url_offset(out, 2, want));
    snprintf(longest, sizeof(longest), "ipc://%0*d", name_bytes + 1, 0);
    T_OK(net_url_absolute(longest, out));
    assert_string_equal(out, longest);
    assert_int_equal(chdir("/"), 0);
    T_OK(net_url_absolute("ipc://learner.ipc", out));
    assert_string_equal(out, "ipc:///learner.ipc");
    assert_int_equal(chdir(before), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void
test_url_check_works_without_room_for_a_reason(void **state)
{
    (void)state;
    oct_reason why = {""};
    T_ERR(net_url_check("nonsense", false, NULL), OCT_EINVAL);
    T_ERR(net_url_check("nonsense", false, &why), OCT_EINVAL);
    assert_true(why.text[0] != 0);
}

// sun_path has 108 bytes, the last one is the terminator.
static void
test_url_check_bounds_the_ipc_path(void **state)
{
    (void)state;
    char url[NET_URL_MAX + 100];
    snprintf(url, sizeof(url), "ipc://%0107d", 0);
    T_OK(net_url_check(url, false, NULL));
    snprintf(url, sizeof(url), "ipc://%0108d", 0);
    T_ERR(net_url_check(url, false, NULL), OCT_EINVAL);
    snprintf(url, sizeof(url), "tcp://%0600d:80", 0);
    T_ERR(net_url_check(url, true, NULL), OCT_EINVAL);
}

static void
test_url_offset_table(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        unsigned offset;
        const char *want; // NULL: refused
    } cases[] = {
        {"tcp://127.0.0.1:65535", 1, NULL},
        {"tcp://127.0.0.1:65535", 0xffffffffu, NULL},
        {"tcp://127.0.0.1", 1, NULL},
        {"nonsense", 0, NULL},
        {"tcp://127.0.0.1:5555", 0, "tcp://127.0.0.1:5555"},
        {"tcp://127.0.0.1:5555", 2, "tcp://127.0.0.1:5557"},
        {"tcp://127.0.0.1:65534", 1, "tcp://127.0.0.1:65535"},
        {"tcp://[::1]:5555", 1, "tcp://[::1]:5556"},
        {"tcp://*:5555", 1, "tcp://*:5556"},
        {"tcp://host.example.org:9", 1, "tcp://host.example.org:10"},
        {"tls+tcp://[::1]:5555", 1, "tls+tcp://[::1]:5556"},
        {"tls+tcp://learner:65535", 1, NULL},
        {"ipc://run/a", 0, "ipc://run/a"},
        {"ipc://run/a", 3, "ipc://run/a.3"},
        {"inproc://a", 1, "inproc://a.1"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        char out[NET_URL_MAX] = "untouched";
        if (cases[i].want == NULL) {
            T_ERR(net_url_offset(cases[i].url, cases[i].offset, out), OCT_EINVAL);
            assert_string_equal(out, "untouched");
        } else {
            T_OK(net_url_offset(cases[i].url, cases[i].offset, out));
            assert_string_equal(out, cases[i].want);
        }
    }
}

static void
test_url_line_is_where_a_relay_stands_for_each_replay(void **state)
{
    (void)state;
    static const struct {
        const char *relay;
        unsigned line;
        const char *want; // NULL: refused
    } cases[] = {
        {"tcp://rack:5570", 0, "tcp://rack:5570"},
        {"tcp://rack:5570", 1, "tcp://rack:5572"},
        {"tls+tcp://rack:5570", 15, "tls+tcp://rack:5600"},
        {"tcp://rack:65534", 1, NULL},
        {"ipc://run/relay", 0, "ipc://run/relay"},
        {"ipc://run/relay", 2, "ipc://run/relay.4"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        char out[NET_URL_MAX] = "untouched";
        if (cases[i].want == NULL) {
            T_ERR(net_url_line(cases[i].relay, cases[i].line, out), OCT_EINVAL);
            assert_string_equal(out, "untouched");
        } else {
            T_OK(net_url_line(cases[i].relay, cases[i].line, out));
            assert_string_equal(out, cases[i].want);
        }
    }
}

// What a relay says of itself, to a learner at that address with so many replays.
static void
test_url_of_a_relay_table(void **state)
{
    (void)state;
    static const struct {
        const char *relay, *learner;
        unsigned lines;
        oct_err want;
    } cases[] = {
        {"tls+tcp://host:5570", "tls+tcp://0.0.0.0:5555", 1, OCT_OK},
        {"ipc:///run/relay", "tls+tcp://0.0.0.0:5555", 1, OCT_OK},
        {"ipc:///run/relay", "ipc:///run/learner", 1, OCT_OK},
        {"tcp://host:5570", "tcp://0.0.0.0:5555", 1, OCT_OK},
        {"inproc://relay", "inproc://learner", 1, OCT_OK},
        {"tcp://host:5570", "tls+tcp://0.0.0.0:5555", 1, OCT_EINVAL},
        {"tls+tcp://host:5570", "tcp://0.0.0.0:5555", 1, OCT_EINVAL},
        {"tls+tcp://host:5570", "ipc:///run/learner", 1, OCT_EINVAL},
        {"tcp://host:5570", "ipc:///run/learner", 1, OCT_EINVAL},
        {"inproc://relay", "ipc:///run/learner", 1, OCT_EINVAL},
        {"file:///etc/passwd", "tls+tcp://0.0.0.0:5555", 1, OCT_EINVAL},
        {"tls+tcp://host", "tls+tcp://0.0.0.0:5555", 1, OCT_EINVAL},
        {"xyz", "xyz", 1, OCT_EINVAL},
        {"", "tls+tcp://0.0.0.0:5555", 1, OCT_EINVAL},
        {"tls+tcp://host:65533", "tls+tcp://0.0.0.0:5555", 1, OCT_OK},
        {"tls+tcp://host:65534", "tls+tcp://0.0.0.0:5555", 1, OCT_EINVAL},
        {"tls+tcp://host:65519", "tls+tcp://0.0.0.0:5555", 8, OCT_OK},
        {"tls+tcp://host:65520", "tls+tcp://0.0.0.0:5555", 8, OCT_EINVAL},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        oct_reason why = {""};
        print_message("%s of %s\n", cases[i].relay, cases[i].learner);
        T_ERR(net_url_check_relay(cases[i].relay, cases[i].learner, cases[i].lines, &why),
              cases[i].want);
        assert_int_equal(why.text[0] != '\0', cases[i].want != OCT_OK);
    }
}

static void
test_url_offset_refuses_a_path_that_gets_too_long(void **state)
{
    (void)state;
    char url[NET_URL_MAX];
    char out[NET_URL_MAX];
    snprintf(url, sizeof(url), "ipc://%0106d", 0);
    T_OK(net_url_offset(url, 0, out));
    T_ERR(net_url_offset(url, 1, out), OCT_EINVAL);
}

static void
test_url_as_seen_from_table(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *reached;
        const char *want; // NULL: refused
    } cases[] = {
        {"tcp://0.0.0.0", "tcp://learner:1", NULL},
        {"tcp://0.0.0.0:7", "tcp://learner", NULL},
        {"tcp://0.0.0.0:7", "tcp://learner:1", "tcp://learner:7"},
        {"tcp://*:7", "tcp://10.0.0.9:1", "tcp://10.0.0.9:7"},
        {"tcp://:7", "tcp://10.0.0.9:1", "tcp://10.0.0.9:7"},
        {"tcp://[::]:7", "tcp://10.0.0.9:1", "tcp://10.0.0.9:7"},
        {"tcp://127.0.0.1:7", "tcp://10.0.0.9:1", "tcp://10.0.0.9:7"},
        {"tcp://localhost:7", "tcp://[fe80::1]:1", "tcp://[fe80::1]:7"},
        {"tcp://[::1]:7", "tcp://learner:1", "tcp://learner:7"},
        {"tcp://replay:7", "tcp://learner:1", "tcp://replay:7"},
        {"tcp://10.0.0.5:7", "tcp://learner:1", "tcp://10.0.0.5:7"},
        {"tls+tcp://0.0.0.0:7", "tls+tcp://learner:1", "tls+tcp://learner:7"},
        {"tls+tcp://replay:7", "tls+tcp://learner:1", "tls+tcp://replay:7"},
        {"tls+tcp://0.0.0.0:7", "ipc://learner", "tls+tcp://0.0.0.0:7"},
        {"tcp://0.0.0.0:7", "ipc://run/l", "tcp://0.0.0.0:7"},
        {"ipc://run/r", "tcp://learner:1", "ipc://run/r"},
        {"inproc://r", "inproc://l", "inproc://r"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        char out[NET_URL_MAX] = "untouched";
        if (cases[i].want == NULL) {
            T_ERR(net_url_as_seen_from(cases[i].url, cases[i].reached, out), OCT_EINVAL);
            assert_string_equal(out, "untouched");
        } else {
            T_OK(net_url_as_seen_from(cases[i].url, cases[i].reached, out));
            assert_string_equal(out, cases[i].want);
        }
    }
}

static void
test_url_tells_what_leads_beyond_this_machine(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool is_tls, is_tcp;
        const char *host; // NULL: none
        unsigned port;
        bool is_loopback;
    } cases[] = {
        {"tls+tcp://127.0.0.1:5555", true, true, "127.0.0.1", 5555, true},
        {"tls+tcp://[::1]:1", true, true, "::1", 1, true},
        {"tcp://0.0.0.0:5555", false, true, "0.0.0.0", 5555, false},
        {"tcp://:80", false, true, "", 80, false},
        {"tcp://learner:80", false, true, "learner", 80, false},
        {"tcp://localhost:80", false, true, "localhost", 80, true},
        {"tcp://127.3.2.1:80", false, true, "127.3.2.1", 80, true},
        {"tcp://128.0.0.1:80", false, true, "128.0.0.1", 80, false},
        {"ipc://tls+tcp://x", false, false, NULL, 0, false},
        {"inproc://x", false, false, NULL, 0, false},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        char host[NET_URL_MAX];
        unsigned port = 0;
        assert_int_equal(net_url_is_tls(cases[i].url), cases[i].is_tls);
        assert_int_equal(net_url_is_tcp(cases[i].url), cases[i].is_tcp);
        assert_int_equal(net_url_is_loopback(cases[i].url), cases[i].is_loopback);
        if (cases[i].host == NULL) {
            T_ERR(net_url_host(cases[i].url, host, &port), OCT_EINVAL);
        } else {
            T_OK(net_url_host(cases[i].url, host, &port));
            assert_string_equal(host, cases[i].host);
            assert_int_equal(port, cases[i].port);
        }
    }
}

static void
test_url_may_be_written_over_itself(void **state)
{
    (void)state;
    char url[NET_URL_MAX] = "tcp://127.0.0.1:5555";
    T_OK(net_url_offset(url, 1, url));
    assert_string_equal(url, "tcp://127.0.0.1:5556");
    T_OK(net_url_as_seen_from(url, "tcp://learner:1", url));
    assert_string_equal(url, "tcp://learner:5556");
}

static void
test_url_gives_the_path_of_a_local_socket(void **state)
{
    (void)state;
    assert_string_equal(net_url_ipc_path("ipc://learner.ipc"), "learner.ipc");
    assert_string_equal(net_url_ipc_path("ipc:///run/x/learner.ipc"), "/run/x/learner.ipc");
    assert_null(net_url_ipc_path("tcp://127.0.0.1:80"));
    assert_null(net_url_ipc_path("inproc://learner.ipc"));
    assert_null(net_url_ipc_path("ipc:/"));
    assert_null(net_url_ipc_path(""));
}

static void
test_url_tells_which_hosts_mean_every_interface(void **state)
{
    (void)state;
    static const char *const wildcards[] = {
        "tls+tcp://0.0.0.0:1", "tls+tcp://*:1",      "tcp://*:1",        "tcp://:1",
        "tls+tcp://[::]:1",    "tls+tcp://[0::0]:1", "tcp://[0:0:0::]:1"};
    static const char *const others[] = {"tls+tcp://127.0.0.1:1",
                                         "tcp://[::1]:1",
                                         "tcp://host:1",
                                         "tcp://0.0.0.0.org:1",
                                         "ipc://*:1",
                                         "ipc://0.0.0.0:1",
                                         "tcp://*",
                                         "tcp://[::"};
    for (size_t i = 0; i < OCT_COUNTOF(wildcards); i++) {
        print_message("%s\n", wildcards[i]);
        assert_true(net_url_is_wildcard(wildcards[i]));
    }
    for (size_t i = 0; i < OCT_COUNTOF(others); i++) {
        print_message("%s\n", others[i]);
        assert_false(net_url_is_wildcard(others[i]));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url_check_table),
        cmocka_unit_test(test_url_is_plain),
        cmocka_unit_test(test_url_check_names_the_way_out),
        cmocka_unit_test(test_url_of_a_relative_path_becomes_absolute),
        cmocka_unit_test(test_url_check_works_without_room_for_a_reason),
        cmocka_unit_test(test_url_check_bounds_the_ipc_path),
        cmocka_unit_test(test_url_offset_table),
        cmocka_unit_test(test_url_line_is_where_a_relay_stands_for_each_replay),
        cmocka_unit_test(test_url_of_a_relay_table),
        cmocka_unit_test(test_url_offset_refuses_a_path_that_gets_too_long),
        cmocka_unit_test(test_url_as_seen_from_table),
        cmocka_unit_test(test_url_tells_what_leads_beyond_this_machine),
        cmocka_unit_test(test_url_may_be_written_over_itself),
        cmocka_unit_test(test_url_gives_the_path_of_a_local_socket),
        cmocka_unit_test(test_url_tells_which_hosts_mean_every_interface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
