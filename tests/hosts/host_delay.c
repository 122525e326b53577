// A long line, in user space: holds every packet of one netfilter queue for a constant time, in
// order. The kernel's netem does the same; many kernels lack it. Unlike a proxy it leaves each TCP
// connection whole, so that round trips, windows and retransmissions are those of a real line.
//
// usage: host_delay QUEUE DELAY_MS     in the namespace of the router, after which
//        iptables -A FORWARD … -j NFQUEUE --queue-num QUEUE. Prints "ready" and runs until a
//        signal.

#include <arpa/inet.h>
#include <errno.h>
#include <libnetfilter_queue/libnetfilter_queue.h>
#include <linux/netfilter.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"

#define PACKETS_MAX   16384u // a power of two; what comes on top is dropped, as a router would
#define SOCKET_BYTES  (8 << 20)
#define HEADER_BYTES  64
#define MESSAGE_BYTES 65536
#define MS_NS         1000000u

typedef struct line {
    struct nfq_q_handle *queue;
    uint64_t delay_ns;
    uint64_t due_ns[PACKETS_MAX];
    uint32_t id[PACKETS_MAX];
    uint32_t head;
    uint32_t tail;
} line;

static int
packet_came(struct nfq_q_handle *queue, struct nfgenmsg *message, struct nfq_data *data, void *arg)
{
    line *held = arg;
    const struct nfqnl_msg_packet_hdr *header = nfq_get_msg_packet_hdr(data);
    (void)message;
    if (header == NULL) {
        return 0;
    }
    uint32_t id = ntohl(header->packet_id);
    if (held->head - held->tail == PACKETS_MAX) {
        return nfq_set_verdict(queue, id, NF_DROP, 0, NULL);
    }
    held->due_ns[held->head % PACKETS_MAX] = oct_clock_ns() + held->delay_ns;
    held->id[held->head % PACKETS_MAX] = id;
    held->head++;
    return 0;
}

// Lets go what is due; milliseconds until the next is, or -1.
static int
let_go(line *held)
{
    while (held->tail != held->head) {
        uint64_t due_ns = held->due_ns[held->tail % PACKETS_MAX];
        uint64_t now_ns = oct_clock_ns();
        if (due_ns > now_ns) {
            return (int)((due_ns - now_ns) / MS_NS) + 1;
        }
        (void)nfq_set_verdict(held->queue, held->id[held->tail % PACKETS_MAX], NF_ACCEPT, 0, NULL);
        held->tail++;
    }
    return -1;
}

static void
run(struct nfq_handle *handle, line *held)
{
    static char buffer[MESSAGE_BYTES];
    struct pollfd wait = {.fd = nfq_fd(handle), .events = POLLIN};
    for (;;) {
        (void)poll(&wait, 1, let_go(held));
        ssize_t length;
        while ((length = recv(wait.fd, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0) {
            (void)nfq_handle_packet(handle, buffer, (int)length);
        }
        // ENOBUFS: packets were dropped, which a line may do.
        if (length == 0 || (errno != EAGAIN && errno != EINTR && errno != ENOBUFS)) {
            return;
        }
    }
}

int
main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: host_delay QUEUE DELAY_MS\n");
        return 2;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); // no line outlives the laboratory
    static line held;
    held.delay_ns = strtoull(argv[2], NULL, 10) * MS_NS;
    struct nfq_handle *handle = nfq_open();
    if (handle == NULL) {
        perror("host_delay: netfilter queues need root and CONFIG_NETFILTER_NETLINK_QUEUE");
        return EXIT_FAILURE;
    }
    held.queue = nfq_create_queue(handle, (uint16_t)strtoul(argv[1], NULL, 10), packet_came, &held);
    if (held.queue == NULL || nfq_set_mode(held.queue, NFQNL_COPY_META, HEADER_BYTES) < 0 ||
        nfq_set_queue_maxlen(held.queue, PACKETS_MAX) < 0) {
        perror("host_delay: queue");
        return EXIT_FAILURE;
    }
    int size = SOCKET_BYTES;
    (void)setsockopt(nfq_fd(handle), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
    (void)puts("ready");
    (void)fflush(stdout);
    run(handle, &held);
    perror("host_delay");
    return EXIT_FAILURE;
}
