// Which instruction set is chosen: by the caller, by OCTET_ISA, or the best that the CPU has.
#include "policy/kernels/policy_kernels.h"

#include <stdlib.h>

#include "tests/support/oct_test.h"

static const policy_isa fastest_first[] = {POLICY_ISA_VNNI, POLICY_ISA_AVXVNNI, POLICY_ISA_AVX2,
                                           POLICY_ISA_NEON, POLICY_ISA_REF};

static oct_err
choose(const policy_kernels **out, const char *name, policy_isa isa)
{
    assert_int_equal(setenv("OCTET_ISA", name, 1), 0);
    oct_err err = policy_kernels_choose(out, isa);
    unsetenv("OCTET_ISA");
    return err;
}

static void
test_the_environment_names_every_instruction_set(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(fastest_first); i++) {
        const policy_kernels *kernels = NULL;
        const char *name = policy_isa_name(fastest_first[i]);
        oct_err err = choose(&kernels, name, POLICY_ISA_BEST);
        if (err == OCT_OK) {
            assert_int_equal(kernels->isa, fastest_first[i]);
        } else {
            T_ERR(err, OCT_ENOTFOUND);
            assert_null(kernels);
        }
    }
}

static void
test_what_names_none_is_an_error_not_the_best(void **state)
{
    (void)state;
    const char *const wrong[] = {"avx", "AVX2", "best", "vnni ", "ref,avx2", "unknown"};
    for (size_t i = 0; i < OCT_COUNTOF(wrong); i++) {
        const policy_kernels *kernels = NULL;
        T_ERR(choose(&kernels, wrong[i], POLICY_ISA_BEST), OCT_EINVAL);
        assert_null(kernels);
    }
}

static void
test_a_refusal_names_what_was_asked_and_what_this_cpu_has(void **state)
{
    (void)state;
    for (size_t i = 0; i <= OCT_COUNTOF(fastest_first); i++) {
        const char *name =
            i < OCT_COUNTOF(fastest_first) ? policy_isa_name(fastest_first[i]) : "mmx";
        char asked[64];
        const policy_kernels *kernels;
        (void)snprintf(asked, sizeof(asked), "OCTET_ISA is '%s'; allowed here are ", name);
        assert_int_equal(setenv("OCTET_ISA", name, 1), 0);
        policy_isa_reason reason = policy_isa_refused();
        unsetenv("OCTET_ISA");
        assert_memory_equal(reason.text, asked, strlen(asked));
        for (size_t k = 0; k < OCT_COUNTOF(fastest_first); k++) {
            (void)snprintf(asked, sizeof(asked), " %s, ", policy_isa_name(fastest_first[k]));
            bool is_allowed = strstr(reason.text, asked) != NULL;
            assert_int_equal(is_allowed,
                             policy_kernels_choose(&kernels, fastest_first[k]) == OCT_OK);
        }
        assert_non_null(strstr(reason.text, "ref, or unset"));
    }
}

static void
test_the_best_is_the_first_that_this_cpu_has(void **state)
{
    (void)state;
    const policy_kernels *best, *unset, *kernels;
    unsetenv("OCTET_ISA");
    T_OK(policy_kernels_choose(&unset, POLICY_ISA_BEST));
    T_OK(choose(&best, "", POLICY_ISA_BEST));
    assert_ptr_equal(best, unset);
    for (size_t i = 0; i < OCT_COUNTOF(fastest_first); i++) {
        if (policy_kernels_choose(&kernels, fastest_first[i]) == OCT_OK) {
            assert_ptr_equal(best, kernels);
            return;
        }
    }
    fail();
}

static void
test_a_caller_that_asks_goes_before_the_environment(void **state)
{
    (void)state;
    const policy_kernels *kernels;
    T_OK(choose(&kernels, "none of them", POLICY_ISA_REF));
    assert_int_equal(kernels->isa, POLICY_ISA_REF);
    T_ERR(policy_kernels_choose(&kernels, (policy_isa)9), OCT_ENOTFOUND);
    assert_string_equal(policy_isa_name((policy_isa)9), "unknown");
}

static void
test_every_table_has_a_function_for_every_precision(void **state)
{
    (void)state;
    for (int isa = POLICY_ISA_REF; isa <= POLICY_ISA_NEON; isa++) {
        const policy_kernels *kernels;
        if (policy_kernels_choose(&kernels, (policy_isa)isa) == OCT_OK) {
            assert_true(kernels->quantize != NULL && kernels->layer_q8 != NULL);
            assert_true(kernels->layer_f32 != NULL && kernels->layer_half != NULL);
            assert_true((kernels->q4_bytes == NULL) == (kernels->pack_q4 == NULL));
            assert_in_range(kernels->code_bytes, 1, 2); // policy_scratch has room for two
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_names_none_is_an_error_not_the_best),
        cmocka_unit_test(test_the_environment_names_every_instruction_set),
        cmocka_unit_test(test_a_refusal_names_what_was_asked_and_what_this_cpu_has),
        cmocka_unit_test(test_the_best_is_the_first_that_this_cpu_has),
        cmocka_unit_test(test_a_caller_that_asks_goes_before_the_environment),
        cmocka_unit_test(test_every_table_has_a_function_for_every_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
