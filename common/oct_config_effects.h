#ifndef COMMON_OCT_CONFIG_EFFECTS_H
#define COMMON_OCT_CONFIG_EFFECTS_H

#include "common/oct_config.h"

// Which keys have an effect: those that algo.name reads (oct_config_algos.h), and of these, those
// that have what they need of other keys. A new key that needs others has a row in the table of
// needs.
//
// Threads: any. Owns: static storage.

// Whether a key ("algo.atoms") has an effect with the values of others. False: why_not has the
// reason, as text behind "has no effect ": "without algo.distributional: true".
bool oct_config_has_effect(const oct_config *config, const char *name, char *why_not, size_t size);
// Keys with a value other than their default that have no effect: message has a warning line for
// each, "": there are none; and one where environments make more rollouts than a batch takes.
// written: a layer that sets the keys to be told of; config: all do.
// Switches that algo.name does not read and that are on are errors of oct_config_check.
void oct_config_warn_idle(const oct_config *config, const oct_config *written, char *message,
                          size_t message_size);
// Where a program has taken the place of an experiment's algorithm, before (algo.name has become
// external), options of other algorithms go back to their defaults: they belong to the one that is
// gone. names lists those that had other values, "": none, or algo.name is as before or not
// external.
void oct_config_forget_unread(oct_config *config, oct_algo_name before, char *names, size_t size);

#endif // COMMON_OCT_CONFIG_EFFECTS_H
