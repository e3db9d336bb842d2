/* The functions of DPDK that Bertha calls. Structures of DPDK stay opaque to Rust, so one binding serves several releases; what DPDK
 * defines as inline functions becomes a symbol here, by the burst where it is on the message path. */
#ifndef BERTHA_DPDK_SHIM_H
#define BERTHA_DPDK_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;

/* The port's verdict on a received frame's checksums: that of the IPv4 header and that of its payload are valid; or one of them
 * is wrong. */
#define BERTHA_CHECKSUMS_HEADER 1
#define BERTHA_CHECKSUMS_PAYLOAD 2
#define BERTHA_CHECKSUMS_BAD 4

/* The work of the port on a frame that is sent: compute the checksum of its IPv4 header, and that of UDP, whose field
 * has the sum of the pseudo-header. The lengths of the headers in front of IP, and of IP's, are in the upper bytes. */
#define BERTHA_OFFLOAD_HEADER 0x10
#define BERTHA_OFFLOAD_UDP 0x20
#define BERTHA_OFFLOAD_V4 0x40
#define BERTHA_OFFLOAD_L2_SHIFT 8
#define BERTHA_OFFLOAD_L3_SHIFT 16

/* A frame in one segment of `mbuf`. In `place`, from the lowest bit on: 16 bits say where in the memory it begins, 16 how long it
 * is, and 32 what the port said of the checksums of a frame that was received, or is to do with one that is sent. Two words,
 * since those are quickly moved. */
struct bertha_frame {
    struct rte_mbuf *mbuf;
    uint64_t place;
};

/* The longest key of a hash that a port may want. */
#define BERTHA_RSS_KEY 64

/* The number of no VLAN. */
#define BERTHA_NO_VLAN UINT16_MAX

/* The settings of a port. `queues` is the most pairs of queues to use, `rss_key` the key of the hash if there are several, `vlan` the
 * VLAN of all frames or BERTHA_NO_VLAN, `keep_mtu` says that the port's own MTU suffices and stays, and `offload` that the port is to
 * compute and verify checksums as far as it can. */
struct bertha_port_setup {
    uint16_t queues;
    uint16_t descriptors;
    uint16_t mtu;
    uint16_t vlan;
    bool keep_mtu;
    bool promiscuous;
    bool offload;
    uint8_t rss_key[BERTHA_RSS_KEY];
};

/* The properties of a port that was opened. It has `queues` pairs of queues, as many as it was asked for or as it has; `rss` says whether
 * it spreads UDP over them with our key, by a table of `rss_entries` whose entries name the queues in turn; `offload` is
 * which of BERTHA_OFFLOAD_HEADER and BERTHA_OFFLOAD_UDP it does. The limits of its MTU are there even if it was not opened. */
struct bertha_port_facts {
    uint16_t mtu;
    uint16_t min_mtu;
    uint16_t max_mtu;
    uint8_t mac[6];
    const char *driver;
    uint16_t queues;
    uint16_t rss_entries;
    bool rss;
    uint32_t offload;
};

struct bertha_dpdk_port_statistics {
    uint64_t received;
    uint64_t sent;
    uint64_t missed;
    uint64_t receive_errors;
    uint64_t send_errors;
    uint64_t no_mbuf;
};

/* Called with the private area, the memory and its length of each mbuf of a new pool. */
typedef void (*bertha_prepare)(void *area, uint8_t *memory, uint16_t len, void *context);

/* Functions that return an int return 0 or more, or a negative errno. */

int bertha_dpdk_eal_init(int argc, char **argv);
const char *bertha_dpdk_version(void);
const char *bertha_dpdk_strerror(int error);

/* Gives the calling thread caches of the pools. Registering again is harmless. */
int bertha_dpdk_thread_register(void);
void bertha_dpdk_thread_unregister(void);

/* With `one_piece` the buffers lie without gaps in memory, whatever the size of its pages: a buffer may lie on two pages, which only a
 * card that reads by physical addresses minds. */
int bertha_dpdk_pool_create(struct rte_mempool **pool, const char *name, unsigned count, uint16_t area, uint16_t room,
                       bool one_piece, bertha_prepare prepare, void *context);
/* The number of bytes from the first byte of the pool's memory to the last. */
size_t bertha_dpdk_pool_extent(struct rte_mempool *pool);
unsigned bertha_dpdk_pool_size(const struct rte_mempool *pool);
unsigned bertha_dpdk_pool_in_use(const struct rte_mempool *pool);

/* How far the private area lies behind the beginning of an mbuf. */
size_t bertha_dpdk_mbuf_area(void);
struct rte_mbuf *bertha_dpdk_mbuf_alloc(struct rte_mempool *pool);
void bertha_dpdk_mbuf_free(struct rte_mbuf *mbuf);

/* The MTU of an interface of the kernel. */
int bertha_dpdk_interface_mtu(const char *name);

int bertha_dpdk_device_add(const char *devargs);
int bertha_dpdk_port_by_name(const char *name, uint16_t *port);
int bertha_dpdk_port_first(uint16_t *port);
int bertha_dpdk_port_is_virtual(uint16_t port);
/* Fails with -ERANGE for an MTU that the port does not take. Waits up to a second for a queue of AF_XDP that the kernel does not give. */
int bertha_dpdk_port_open(uint16_t port, struct rte_mempool *pool, const struct bertha_port_setup *setup,
                     struct bertha_port_facts *facts);
/* With `remove`, the port's device is gone, and can be added again. */
int bertha_dpdk_port_close(uint16_t port, bool remove);
int bertha_dpdk_port_is_up(uint16_t port);
int bertha_dpdk_port_statistics(uint16_t port, struct bertha_dpdk_port_statistics *statistics);

/* Up to `count` frames. A frame in several segments that does not fit into one is freed and counted in `dropped`. */
uint16_t bertha_dpdk_receive(uint16_t port, uint16_t queue, struct bertha_frame *frames, uint16_t count,
                        uint64_t *dropped);
/* The number of frames, from the first on, that now belong to the port. */
uint16_t bertha_dpdk_transmit(uint16_t port, uint16_t queue, const struct bertha_frame *frames, uint16_t count);

#endif
