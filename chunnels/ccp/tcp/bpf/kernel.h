// The part of the kernel that the program knows. The loader finds the real offsets of these fields by their names in the
// kernel's own description of its types, so no header of one kernel is needed.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))

// Describe a map for the loader.
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, type) type *name

enum { MAP_HASH = 1, MAP_SK_STORAGE = 24, MAP_RING = 27 };
enum { NO_PREALLOCATION = 1 };
enum { ONLY_NEW = 1 };
enum { CREATE_STORAGE = 1 };

// Functions of the kernel, whose numbers are part of its interface.
static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static u64 (*const now_ns)(void) = (void *)5;
static void *(*const storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static long (*const storage_delete)(void *map, void *sk) = (void *)108;
static void *(*const ring_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const ring_submit)(void *data, u64 flags) = (void *)132;

enum { IPV4 = 2, IPV6 = 10 };

// States of a connection's recovery.
enum { CA_CWR = 2, CA_RECOVERY = 3, CA_LOSS = 4 };

// Flags of a connection whose ends have agreed on marks of congestion.
enum { ECN = 1, ACCURATE_ECN = 16 };

// States of pacing.
enum { PACING_NONE = 0, PACING_NEEDED = 1 };

// The flag of a congestion control that every user may choose.
enum { FOR_ALL_USERS = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
    union {
        u32 u6_addr32[4];
    } in6_u;
};

struct sock_common {
    u32 skc_daddr;
    u32 skc_rcv_saddr;
    u16 skc_dport;
    u16 skc_num;
    u16 skc_family;
    struct in6_addr skc_v6_daddr;
    struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
    struct sock_common __sk_common;
    u32 sk_pacing_status;
    unsigned long sk_pacing_rate;
    unsigned long sk_max_pacing_rate;
};

struct tcp_sock {
    u32 mss_cache;
    u32 snd_cwnd;
    u32 snd_cwnd_clamp;
    u32 snd_ssthresh;
    u32 packets_out;
    u32 max_packets_out;
    u32 sacked_out;
    u32 lost_out;
    u32 retrans_out;
    u32 srtt_us;
    u32 delivered_ce;
    u64 bytes_acked;
    u8 ecn_flags;
};

struct rate_sample {
    s32 delivered;
    u32 snd_interval_us;
    u32 rcv_interval_us;
    long rtt_us;
    int losses;
    u32 acked_sacked;
    _Bool is_app_limited;
};

#pragma clang attribute pop

// The loader fills the kernel's structure of this name by the names of the members. The functions find their arguments
// one after another in the context.
struct tcp_congestion_ops {
    char name[16];
    u32 flags;
    void (*init)(u64 *context);
    void (*release)(u64 *context);
    void (*set_state)(u64 *context);
    void (*cong_control)(u64 *context);
    u32 (*ssthresh)(u64 *context);
    u32 (*undo_cwnd)(u64 *context);
};

extern u32 tcp_reno_ssthresh(struct sock *sk) SEC(".ksyms");
extern u32 tcp_reno_undo_cwnd(struct sock *sk) SEC(".ksyms");
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) SEC(".ksyms");
