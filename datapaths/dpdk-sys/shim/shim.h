/* What Bertha calls of DPDK. Structures of DPDK stay opaque to Rust, so one binding serves several releases; what DPDK
 * defines as inline functions becomes a symbol here, by the burst where it is on the message path. */
#ifndef BERTHA_DPDK_SHIM_H
#define BERTHA_DPDK_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;

/* What the port said of a received frame's checksums. */
#define BERTHA_CHECKSUMS_UNKNOWN 0
#define BERTHA_CHECKSUMS_GOOD 1
#define BERTHA_CHECKSUMS_BAD 2

/* A frame in one segment: `len` bytes from `start` on in the memory of `mbuf`. */
struct bertha_frame {
    struct rte_mbuf *mbuf;
    uint16_t start;
    uint16_t len;
    uint32_t checksums;
};

/* How a port is to be set up. */
struct bertha_port_setup {
    uint16_t queues;
    uint16_t descriptors;
    uint16_t mtu;
    bool promiscuous;
};

/* What a port turned out to be. */
struct bertha_port_facts {
    uint16_t mtu;
    uint8_t mac[6];
    const char *driver;
};

struct bertha_port_statistics {
    uint64_t received;
    uint64_t sent;
    uint64_t missed;
    uint64_t receive_errors;
    uint64_t send_errors;
    uint64_t no_mbuf;
};

/* What is told the private area, the memory and its length of each mbuf of a new pool. */
typedef void (*bertha_prepare)(void *area, uint8_t *memory, uint16_t len, void *context);

/* Functions that return an int return 0 or more, or a negative errno. */

int bertha_eal_init(int argc, char **argv);
const char *bertha_version(void);
const char *bertha_strerror(int error);

/* Gives the calling thread caches of the pools. Registering again is harmless. */
int bertha_thread_register(void);
void bertha_thread_unregister(void);

int bertha_pool_create(struct rte_mempool **pool, const char *name, unsigned count, uint16_t area, uint16_t room,
                       bertha_prepare prepare, void *context);
unsigned bertha_pool_size(const struct rte_mempool *pool);
unsigned bertha_pool_in_use(const struct rte_mempool *pool);

/* How far the private area lies behind the beginning of an mbuf. */
size_t bertha_mbuf_area(void);
struct rte_mbuf *bertha_mbuf_alloc(struct rte_mempool *pool);
void bertha_mbuf_free(struct rte_mbuf *mbuf);

int bertha_device_add(const char *devargs);
int bertha_port_by_name(const char *name, uint16_t *port);
int bertha_port_first(uint16_t *port);
int bertha_port_open(uint16_t port, struct rte_mempool *pool, const struct bertha_port_setup *setup,
                     struct bertha_port_facts *facts);
int bertha_port_close(uint16_t port);
int bertha_port_is_up(uint16_t port);
int bertha_port_statistics(uint16_t port, struct bertha_port_statistics *statistics);

/* Up to `count` frames. What came in several segments and does not fit into one is freed and added to `dropped`. */
uint16_t bertha_receive(uint16_t port, uint16_t queue, struct bertha_frame *frames, uint16_t count,
                        uint64_t *dropped);
/* How many of the frames, from the first on, now belong to the port. */
uint16_t bertha_transmit(uint16_t port, uint16_t queue, const struct bertha_frame *frames, uint16_t count);

#endif
