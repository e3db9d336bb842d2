#include "shim.h"

#include <errno.h>
#include <net/if.h>
#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_version.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The largest burst that is handed over in one call. */
#define BURST 64

/* The longest pause between two attempts to set up a queue that may still be another's, in milliseconds. The pauses double from the first,
 * of one millisecond: all of them together last a second. */
#define LONGEST_PAUSE 512

_Static_assert(sizeof(struct rte_mbuf) % sizeof(uint64_t) == 0, "the private area is aligned");

/* The error of the function that has just failed. Some leave no number, for instance a start beside a process that has locked the
 * configuration; a failure must not count as a success. */
static int failure(void) { return rte_errno > 0 ? -rte_errno : -EBUSY; }

int bertha_dpdk_eal_init(int argc, char **argv) {
    rte_errno = 0;
    return rte_eal_init(argc, argv) < 0 ? failure() : 0;
}

const char *bertha_dpdk_version(void) { return rte_version(); }

const char *bertha_dpdk_strerror(int error) { return rte_strerror(error); }

int bertha_dpdk_thread_register(void) {
    rte_errno = 0;
    return rte_thread_register() < 0 ? failure() : 0;
}

void bertha_dpdk_thread_unregister(void) { rte_thread_unregister(); }

struct preparation {
    bertha_prepare prepare;
    void *context;
};

static void prepare_one(struct rte_mempool *pool, void *opaque, void *object, unsigned index) {
    (void)pool;
    (void)index;
    const struct preparation *preparation = opaque;
    struct rte_mbuf *mbuf = object;
    preparation->prepare(rte_mbuf_to_priv(mbuf), mbuf->buf_addr, mbuf->buf_len, preparation->context);
}

/* Gives an empty pool its buffers, as rte_pktmbuf_pool_create does. */
static int fill(struct rte_mempool *pool, uint16_t area, uint16_t room) {
    struct rte_pktmbuf_pool_private facts = {.mbuf_data_room_size = room, .mbuf_priv_size = area};
    int failed = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
    if (failed)
        return failed;
    rte_pktmbuf_pool_init(pool, &facts);
    failed = rte_mempool_populate_default(pool);
    if (failed < 0)
        return failed;
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
    return 0;
}

int bertha_dpdk_pool_create(struct rte_mempool **pool, const char *name, unsigned count, uint16_t area, uint16_t room,
                       bool one_piece, bertha_prepare prepare, void *context) {
    unsigned cache = count / 8 < RTE_MEMPOOL_CACHE_MAX_SIZE ? count / 8 : RTE_MEMPOOL_CACHE_MAX_SIZE;
    unsigned size = sizeof(struct rte_mbuf) + area + room, flags = one_piece ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
    if (area % RTE_MBUF_PRIV_ALIGN != 0)
        return -EINVAL;
    rte_errno = 0;
    *pool = rte_mempool_create_empty(name, count, size, cache, sizeof(struct rte_pktmbuf_pool_private),
                                     SOCKET_ID_ANY, flags);
    if (*pool == NULL)
        return failure();
    int failed = fill(*pool, area, room);
    if (failed) {
        rte_mempool_free(*pool);
        *pool = NULL;
        return failed;
    }
    struct preparation preparation = {prepare, context};
    rte_mempool_obj_iter(*pool, prepare_one, &preparation);
    return 0;
}

struct extent {
    uintptr_t first, last;
};

static void extend(struct rte_mempool *pool, void *opaque, struct rte_mempool_memhdr *memory, unsigned index) {
    (void)pool;
    (void)index;
    struct extent *extent = opaque;
    extent->first = RTE_MIN(extent->first, (uintptr_t)memory->addr);
    extent->last = RTE_MAX(extent->last, (uintptr_t)memory->addr + memory->len);
}

size_t bertha_dpdk_pool_extent(struct rte_mempool *pool) {
    struct extent extent = {UINTPTR_MAX, 0};
    rte_mempool_mem_iter(pool, extend, &extent);
    return extent.last > extent.first ? extent.last - extent.first : 0;
}

unsigned bertha_dpdk_pool_size(const struct rte_mempool *pool) { return pool->size; }

unsigned bertha_dpdk_pool_in_use(const struct rte_mempool *pool) { return rte_mempool_in_use_count(pool); }

size_t bertha_dpdk_mbuf_area(void) { return sizeof(struct rte_mbuf); }

struct rte_mbuf *bertha_dpdk_mbuf_alloc(struct rte_mempool *pool) { return rte_pktmbuf_alloc(pool); }

void bertha_dpdk_mbuf_free(struct rte_mbuf *mbuf) { rte_pktmbuf_free_seg(mbuf); }

int bertha_dpdk_interface_mtu(const char *name) {
    struct ifreq request = {0};
    if (strlen(name) >= sizeof request.ifr_name)
        return -ENODEV;
    strcpy(request.ifr_name, name);
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0)
        return -errno;
    int failed = ioctl(any, SIOCGIFMTU, &request) < 0 ? -errno : 0;
    close(any);
    return failed ? failed : request.ifr_mtu;
}

int bertha_dpdk_device_add(const char *devargs) { return rte_dev_probe(devargs); }

int bertha_dpdk_port_by_name(const char *name, uint16_t *port) { return rte_eth_dev_get_port_by_name(name, port); }

int bertha_dpdk_port_first(uint16_t *port) {
    uint16_t first = rte_eth_find_next(0);
    if (first >= RTE_MAX_ETHPORTS)
        return -ENODEV;
    *port = first;
    return 0;
}

int bertha_dpdk_port_is_virtual(uint16_t port) {
    struct rte_eth_dev_info info;
    int failed = rte_eth_dev_info_get(port, &info);
    if (failed)
        return failed;
    const struct rte_bus *bus = info.device != NULL ? rte_dev_bus(info.device) : NULL;
    return bus != NULL && strcmp(rte_bus_name(bus), "vdev") == 0;
}

/* The hashes over UDP's ports. */
#define UDP_HASH (RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

/* The most entries of a table that are set one by one. */
#define MOST_ENTRIES 512

/* Has the table's entries name the queues in turn; the port may do so by itself. */
static int fill_table(uint16_t port, uint16_t entries, uint16_t queues) {
    struct rte_eth_rss_reta_entry64 table[MOST_ENTRIES / RTE_ETH_RETA_GROUP_SIZE] = {0};
    if (entries > MOST_ENTRIES || entries % RTE_ETH_RETA_GROUP_SIZE != 0)
        return -ENOTSUP;
    for (uint16_t i = 0; i < entries; i++) {
        table[i / RTE_ETH_RETA_GROUP_SIZE].mask = UINT64_MAX;
        table[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = i % queues;
    }
    return rte_eth_dev_rss_reta_update(port, table, entries);
}

static int configure(uint16_t port, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf,
                     const struct bertha_port_setup *setup, struct bertha_port_facts *facts) {
    uint64_t hash = info->flow_type_rss_offloads & UDP_HASH;
    uint8_t len = info->hash_key_size ? info->hash_key_size : 40;
    if (facts->queues > 1 && hash && len <= BERTHA_RSS_KEY) {
        conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf->rx_adv_conf.rss_conf.rss_key = (uint8_t *)(uintptr_t)setup->rss_key;
        conf->rx_adv_conf.rss_conf.rss_key_len = len;
        conf->rx_adv_conf.rss_conf.rss_hf = hash;
        facts->rss = rte_eth_dev_configure(port, facts->queues, facts->queues, conf) == 0;
        if (facts->rss)
            return 0;
        /* It has refused; then the threads that poll spread frames. */
        conf->rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
        memset(&conf->rx_adv_conf.rss_conf, 0, sizeof conf->rx_adv_conf.rss_conf);
    }
    return rte_eth_dev_configure(port, facts->queues, facts->queues, conf);
}

/* The kernel gives a queue of AF_XDP back in a task of its own, some time after the last socket of the queue is closed, and refuses it
 * until then. The driver has the same number for every refusal. */
static int set_up_receive(uint16_t port, uint16_t queue, uint16_t descriptors, struct rte_mempool *pool, bool is_xdp) {
    int node = rte_eth_dev_socket_id(port);
    int failed = rte_eth_rx_queue_setup(port, queue, descriptors, node, NULL, pool);
    for (unsigned pause = 1; failed == -EINVAL && is_xdp && pause <= LONGEST_PAUSE; pause *= 2) {
        rte_delay_us_sleep(1000 * pause);
        failed = rte_eth_rx_queue_setup(port, queue, descriptors, node, NULL, pool);
    }
    return failed;
}

int bertha_dpdk_port_open(uint16_t port, struct rte_mempool *pool, const struct bertha_port_setup *setup,
                     struct bertha_port_facts *facts) {
    struct rte_eth_dev_info info;
    int failed = rte_eth_dev_info_get(port, &info);
    if (failed)
        return failed;
    *facts = (struct bertha_port_facts){
        .mtu = setup->mtu, .driver = info.driver_name, .min_mtu = info.min_mtu, .max_mtu = info.max_mtu};
    if (setup->mtu < info.min_mtu || setup->mtu > info.max_mtu)
        return -ERANGE;
    facts->queues = RTE_MAX(1, RTE_MIN(setup->queues, RTE_MIN(info.max_rx_queues, info.max_tx_queues)));
    struct rte_eth_conf conf = {0};
    if (setup->offload) {
        conf.rxmode.offloads =
            info.rx_offload_capa & (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
        conf.txmode.offloads =
            info.tx_offload_capa & (RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
    }
    /* A card that can filter tags drops the frames of every VLAN that it was not told. */
    bool filters_vlan = setup->vlan != BERTHA_NO_VLAN && info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
    if (filters_vlan)
        conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
    failed = configure(port, &info, &conf, setup, facts);
    if (failed)
        return failed;
    if (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM)
        facts->offload |= BERTHA_OFFLOAD_HEADER;
    if (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM)
        facts->offload |= BERTHA_OFFLOAD_UDP;
    /* Virtual ports without an MTU of their own say so; they carry frames as long as a buffer, whatever MTU they report. */
    int sets_mtu = setup->keep_mtu ? -ENOTSUP : rte_eth_dev_set_mtu(port, setup->mtu);
    if (sets_mtu && sets_mtu != -ENOTSUP)
        return sets_mtu == -EINVAL ? -ERANGE : sets_mtu;
    uint16_t receive = setup->descriptors, transmit = setup->descriptors;
    failed = rte_eth_dev_adjust_nb_rx_tx_desc(port, &receive, &transmit);
    if (failed)
        return failed;
    bool is_xdp = info.driver_name != NULL && strcmp(info.driver_name, "net_af_xdp") == 0;
    for (uint16_t queue = 0; queue < facts->queues; queue++) {
        failed = set_up_receive(port, queue, receive, pool, is_xdp);
        if (failed)
            return failed;
        failed = rte_eth_tx_queue_setup(port, queue, transmit, rte_eth_dev_socket_id(port), NULL);
        if (failed)
            return failed;
    }
    failed = rte_eth_dev_start(port);
    if (failed)
        return failed;
    if (facts->rss && info.reta_size > 0) {
        facts->rss_entries = info.reta_size;
        facts->rss = fill_table(port, info.reta_size, facts->queues) == 0;
    }
    /* Neighbours of IPv6 ask groups. A port that can't be told to take all groups takes all frames, or filters no addresses. */
    if (rte_eth_allmulticast_enable(port) != 0 || setup->promiscuous)
        (void)rte_eth_promiscuous_enable(port);
    /* A port that filters tags, and does not take this tag, hears nothing. */
    failed = filters_vlan ? rte_eth_dev_vlan_filter(port, setup->vlan, 1) : 0;
    if (failed)
        return failed;
    if (sets_mtu == 0)
        (void)rte_eth_dev_get_mtu(port, &facts->mtu);
    struct rte_ether_addr mac;
    failed = rte_eth_macaddr_get(port, &mac);
    if (failed)
        return failed;
    memcpy(facts->mac, mac.addr_bytes, sizeof facts->mac);
    return 0;
}

/* Writes the device with its arguments, as it is added. Fails for a text that is too long. */
static bool describe(const struct rte_device *device, char *text, size_t size) {
    const struct rte_devargs *found = rte_dev_devargs(device);
    const char *arguments = found != NULL && found->args != NULL ? found->args : "";
    int len = snprintf(text, size, "%s%s%s", rte_dev_name(device), *arguments ? "," : "", arguments);
    return len > 0 && (size_t)len < size;
}

static bool has_ports(const struct rte_device *device) {
    struct rte_eth_dev_info info;
    uint16_t port;
    RTE_ETH_FOREACH_DEV(port) {
        if (rte_eth_dev_info_get(port, &info) == 0 && info.device == device)
            return true;
    }
    return false;
}

int bertha_dpdk_port_close(uint16_t port, bool remove) {
    struct rte_eth_dev_info info;
    char again[1024];
    struct rte_device *device = rte_eth_dev_info_get(port, &info) == 0 ? info.device : NULL;
    /* A device that was there before has to be there afterwards: its port is gone when it is closed. */
    bool returns = device != NULL && !remove && describe(device, again, sizeof again);
    int failed = rte_eth_dev_stop(port);
    int closed = rte_eth_dev_close(port);
    /* A device that stays can't be added again. */
    int removed = (remove && device != NULL) || (returns && !has_ports(device)) ? rte_dev_remove(device) : 0;
    int added = returns && removed == 0 ? rte_dev_probe(again) : 0;
    return failed ? failed : closed ? closed : removed ? removed : added == -EEXIST ? 0 : added;
}

int bertha_dpdk_port_is_up(uint16_t port) {
    struct rte_eth_link link;
    int failed = rte_eth_link_get_nowait(port, &link);
    return failed ? failed : link.link_status == RTE_ETH_LINK_UP;
}

int bertha_dpdk_port_statistics(uint16_t port, struct bertha_dpdk_port_statistics *statistics) {
    struct rte_eth_stats stats;
    int failed = rte_eth_stats_get(port, &stats);
    if (failed)
        return failed;
    statistics->received = stats.ipackets;
    statistics->sent = stats.opackets;
    statistics->missed = stats.imissed;
    statistics->receive_errors = stats.ierrors;
    statistics->send_errors = stats.oerrors;
    statistics->no_mbuf = stats.rx_nombuf;
    return 0;
}

/* NONE says that the field is wrong and the contents are not: they came without a wire, where the checksum was left out. */
static uint32_t checksums(uint64_t flags) {
    uint64_t ip = flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, l4 = flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    if (ip == RTE_MBUF_F_RX_IP_CKSUM_BAD || l4 == RTE_MBUF_F_RX_L4_CKSUM_BAD)
        return BERTHA_CHECKSUMS_BAD;
    uint32_t good = 0;
    if (ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD || ip == RTE_MBUF_F_RX_IP_CKSUM_NONE)
        good |= BERTHA_CHECKSUMS_HEADER;
    if (l4 == RTE_MBUF_F_RX_L4_CKSUM_GOOD || l4 == RTE_MBUF_F_RX_L4_CKSUM_NONE)
        good |= BERTHA_CHECKSUMS_PAYLOAD;
    return good;
}

uint16_t bertha_dpdk_receive(uint16_t port, uint16_t queue, struct bertha_frame *frames, uint16_t count,
                        uint64_t *dropped) {
    struct rte_mbuf *mbufs[BURST];
    uint16_t received = rte_eth_rx_burst(port, queue, mbufs, count < BURST ? count : BURST), kept = 0;
    for (uint16_t i = 0; i < received; i++) {
        struct rte_mbuf *mbuf = mbufs[i];
        if (unlikely(mbuf->nb_segs > 1) && rte_pktmbuf_linearize(mbuf) != 0) {
            rte_pktmbuf_free(mbuf);
            *dropped += 1;
            continue;
        }
        frames[kept++] = (struct bertha_frame){
            mbuf, mbuf->data_off | (uint64_t)mbuf->data_len << 16 | (uint64_t)checksums(mbuf->ol_flags) << 32};
    }
    return kept;
}

static void offload(struct rte_mbuf *mbuf, uint32_t what) {
    mbuf->l2_len = (what >> BERTHA_OFFLOAD_L2_SHIFT) & UINT8_MAX;
    mbuf->l3_len = (what >> BERTHA_OFFLOAD_L3_SHIFT) & UINT8_MAX;
    mbuf->ol_flags = what & BERTHA_OFFLOAD_V4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
    if (what & BERTHA_OFFLOAD_HEADER)
        mbuf->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
    if (what & BERTHA_OFFLOAD_UDP)
        mbuf->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
}

uint16_t bertha_dpdk_transmit(uint16_t port, uint16_t queue, const struct bertha_frame *frames, uint16_t count) {
    struct rte_mbuf *mbufs[BURST];
    if (count > BURST)
        count = BURST;
    for (uint16_t i = 0; i < count; i++) {
        struct rte_mbuf *mbuf = frames[i].mbuf;
        uint64_t place = frames[i].place;
        uint32_t checksums = place >> 32;
        mbuf->data_off = place & UINT16_MAX;
        mbuf->data_len = place >> 16 & UINT16_MAX;
        mbuf->pkt_len = mbuf->data_len;
        /* Flags of an mbuf that was received are about that. */
        mbuf->ol_flags = 0;
        if (checksums & (BERTHA_OFFLOAD_HEADER | BERTHA_OFFLOAD_UDP))
            offload(mbuf, checksums);
        mbufs[i] = mbuf;
    }
    return rte_eth_tx_burst(port, queue, mbufs, count);
}
