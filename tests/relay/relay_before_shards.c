// Makes a relay or an actor one of a release that knows of no shards behind relays: it does not say
// that it does. Between the daemon and proto/wire_client.c (--wrap).
#include "proto/wire_rpc.h"

oct_err __real_wire_call_register_actor(wire_client *client, const wire_register *message,
                                        uint32_t timeout_ms, wire_register_actor_done done,
                                        void *arg);
oct_err __wrap_wire_call_register_actor(wire_client *client, const wire_register *message,
                                        uint32_t timeout_ms, wire_register_actor_done done,
                                        void *arg);

oct_err
__wrap_wire_call_register_actor(wire_client *client, const wire_register *message,
                                uint32_t timeout_ms, wire_register_actor_done done, void *arg)
{
    wire_register before = *message;
    before.knows_shards = false;
    return __real_wire_call_register_actor(client, &before, timeout_ms, done, arg);
}
