// Runs the rules of `octet env check`, each in a child process with a deadline, and reports the
// verdicts.
#include "envs/env_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "envs/env_check_rules.h"
#include "envs/env_child.h"

typedef struct question {
    const env_check_rule *rule;
    const env_check_request *request;
} question;

typedef struct answer {
    env_check_verdict verdict;
    char detail[256];
} answer;

// Runs one rule; in the child.
static void
rule_try(void *arg, void *out)
{
    const question *asked = arg;
    answer *said = out;
    if (asked->rule >= env_check_rules + ENV_CHECK_RULES_NEEDED) {
        // The first rules have shown what Python environments raise. The rule "options" makes them
        // raise on purpose.
        (void)setenv("OCTET_GYM_TRACEBACKS", "0", 1);
    }
    env_check check = {.request = asked->request};
    said->verdict = asked->rule->run(&check);
    memcpy(said->detail, check.detail, sizeof(said->detail));
}

static void
said_take(void *arg, const char *bytes, size_t length)
{
    env_check_said_take(arg, bytes, length);
}

static void
rule_run(const env_check_rule *rule, const env_check_request *request, env_check_result *out)
{
    const env_child_said said_to = {.take = said_take, .arg = request->said};
    question asked = {.rule = rule, .request = request};
    answer said;
    *out = (env_check_result){.rule = rule->name, .means = rule->means, .verdict = ENV_CHECK_FAIL};
    oct_reason why;
    if (env_child_run(&(env_child_call){rule_try, &asked, &said, sizeof(said)},
                      request->rule_timeout_ms, request->said != NULL ? &said_to : NULL,
                      &why) == OCT_OK) {
        out->verdict = said.verdict;
        memcpy(out->detail, said.detail, sizeof(out->detail));
    } else {
        oct_reason_copy(&why, out->detail, sizeof(out->detail));
    }
    if (request->said != NULL) {
        env_check_said_end(request->said);
    }
}

uint32_t
env_check_run(const env_check_request *request, env_check_report *report, void *arg)
{
    uint32_t failures = 0;
    for (uint32_t k = 0; k < env_check_rules_count; k++) {
        env_check_result result;
        rule_run(&env_check_rules[k], request, &result);
        report(arg, &result);
        failures += result.verdict == ENV_CHECK_FAIL;
        if (k < ENV_CHECK_RULES_NEEDED && failures > 0) {
            break;
        }
    }
    return failures;
}
