#ifndef CONFIG_CONFIG_EFFECTS_H
#define CONFIG_CONFIG_EFFECTS_H

#include "config/config.h"

// Which keys have an effect: algo.name reads the key (config_algos.h), and the other keys that it
// needs have the values that it needs. A new key that needs others has a row in the table of
// config_effects.c.
//
// Threads: any. Owns: static storage.

// Returns true if a key ("algo.atoms") has an effect beside the values of the other keys. Otherwise
// why_not completes the sentence "KEY has no effect …": "without algo.distributional: true".
bool config_has_effect(const config_experiment *config, const char *name, char *why_not,
                       size_t size);
// Writes a warning line for each key that written sets, that is not at its default and that has no
// effect, and one line if environments make more rollouts than a batch uses. message is "" without
// warnings. A switch that is on and that algo.name does not read is an error of config_check
// instead.
void config_warn_idle(const config_experiment *config, const config_experiment *written,
                      char *message, size_t message_size);
// Resets keys that algo.name does not read, if a program has replaced the algorithm of an
// experiment (algo.name was before and now is external): they are options of the replaced
// algorithm. Writes the keys that had other values than their defaults to names, or "".
void config_forget_unread(config_experiment *config, config_algo_name before, char *names,
                          size_t size);

#endif // CONFIG_CONFIG_EFFECTS_H
