// Linux's TCP as a datapath of CCP: a congestion control that measures, tells user space, and obeys its decisions.
//
// Each acknowledgement adds to the measurement of its flow, which goes into a ring; what the ring does not take is part of
// the next measurement. User space answers in a map. A flow whose measurements stay unanswered, or that has just timed out,
// is controlled as by Reno until there is an answer.
#include "exchange.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct limits limits = {};

struct {
    NUMBER(type, MAP_RING);
    NUMBER(max_entries, 1 << 20);
} measurements SEC(".maps");

// By the number of the flow. A flow is in the map from its begin to its end, unless it is idle.
struct {
    NUMBER(type, MAP_HASH);
    NUMBER(map_flags, NO_PREALLOCATION);
    NUMBER(max_entries, 1 << 16);
    TYPE(key, u64);
    TYPE(value, struct decision);
} decisions SEC(".maps");

// The program's knowledge of one flow.
struct flow {
    u64 number;
    u64 began; // nanoseconds
    u64 last_measurement;
    u64 asked;    // the oldest measurement that is not answered; 0 if there is none
    u64 asked_at; // nanoseconds
    u64 timeout;  // the measurement that tells of the latest time-out
    u64 bytes_acked;
    u32 delivered_ce;
    u32 sacked_out;
    u32 rtt;
    u32 state;
    u32 is_timeout_untold;
    u32 is_obeying;
    struct measurement untold;
};

struct {
    NUMBER(type, MAP_SK_STORAGE);
    NUMBER(map_flags, NO_PREALLOCATION);
    TYPE(key, int);
    TYPE(value, struct flow);
} flows SEC(".maps");

u64 last_flow = 0;

// Largest window, in packets.
enum { MOST_PACKETS = 1 << 20 };

static u64 at_least(u64 value, u64 least) { return value < least ? least : value; }
static u64 at_most(u64 value, u64 most) { return value > most ? most : value; }

static u32 in_flight(struct tcp_sock *tp) {
    u32 out = tp->packets_out + tp->retrans_out, left = tp->sacked_out + tp->lost_out;
    return out > left ? out - left : 0;
}

static u64 rate_of(u64 packets, u32 mss, u32 interval_us) {
    return interval_us ? packets * mss * 1000000 / interval_us : 0;
}

// Tells user space what the flow is. Where the map is full, the flow stays without decisions.
static void enter(struct tcp_sock *tp, struct flow *flow) {
    struct sock *sk = (struct sock *)tp;
    struct decision begin = {
        .local_port = sk->__sk_common.skc_num,
        .peer_port = sk->__sk_common.skc_dport,
        .family = sk->__sk_common.skc_family,
        .has_marks = (tp->ecn_flags & (ECN | ACCURATE_ECN)) != 0,
        .mss = tp->mss_cache,
    };
    if (begin.family == IPV6) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            begin.local[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[i];
            begin.peer[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[i];
        }
    } else {
        begin.local[0] = sk->__sk_common.skc_rcv_saddr;
        begin.peer[0] = sk->__sk_common.skc_daddr;
    }
    map_update(&decisions, &flow->number, &begin, ONLY_NEW);
}

SEC("struct_ops/on_begin") void on_begin(u64 *context) {
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    struct flow *flow = storage_get(&flows, tp, 0, CREATE_STORAGE);
    if (!flow) return;
    flow->number = __sync_fetch_and_add(&last_flow, 1) + 1;
    flow->began = now_ns();
    flow->bytes_acked = tp->bytes_acked;
    flow->delivered_ce = tp->delivered_ce;
    flow->sacked_out = tp->sacked_out;
    enter(tp, flow);
}

SEC("struct_ops/on_end") void on_end(u64 *context) {
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    struct flow *flow = storage_get(&flows, tp, 0, 0);
    if (!flow) return;
    map_delete(&decisions, &flow->number);
    struct measurement *told = ring_reserve(&measurements, sizeof(*told), 0);
    // Where the ring is full, user space misses the flow in the map, later.
    if (told) {
        *told = (struct measurement){.flow = flow->number, .flags = HAS_ENDED};
        ring_submit(told, 0);
    }
    storage_delete(&flows, tp);
}

SEC("struct_ops/on_state") void on_state(u64 *context) {
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    struct flow *flow = storage_get(&flows, tp, 0, 0);
    if (!flow) return;
    flow->state = (u8)context[1];
    if (flow->state == CA_LOSS) flow->is_timeout_untold = 1;
}

// Adds an acknowledgement to what the flow has still to tell.
static void add(struct tcp_sock *tp, struct flow *flow, const struct rate_sample *sample) {
    struct measurement *sum = &flow->untold;
    u32 mss = tp->mss_cache, sacked = tp->sacked_out, marked = tp->delivered_ce;
    u64 bytes_acked = tp->bytes_acked;
    u32 misordered = sacked > flow->sacked_out ? sacked - flow->sacked_out : 0;
    misordered = at_most(misordered, sample->acked_sacked);
    u32 in_order = sample->acked_sacked - misordered;
    // Bytes that a selective acknowledgement has told before must not count twice.
    u64 exact = bytes_acked - flow->bytes_acked;
    sum->bytes_acked += sacked || flow->sacked_out ? (u64)in_order * mss : exact;
    sum->bytes_misordered += (u64)misordered * mss;
    sum->packets_acked += in_order;
    sum->packets_misordered += misordered;
    sum->packets_marked += marked - flow->delivered_ce;
    if (sample->losses > 0) sum->packets_lost += sample->losses;
    flow->bytes_acked = bytes_acked;
    flow->delivered_ce = marked;
    flow->sacked_out = sacked;

    if (sample->rtt_us > 0) flow->rtt = sample->rtt_us;
    if (sample->delivered > 0) {
        sum->rate_outgoing = rate_of(sample->delivered, mss, sample->snd_interval_us);
        sum->rate_incoming = rate_of(sample->delivered, mss, sample->rcv_interval_us);
    }
    sum->packets_in_flight = in_flight(tp);
    sum->rtt = flow->rtt;
    sum->mss = mss;
    sum->flags = sample->is_app_limited ? IS_APP_LIMITED : 0;
    // The kernel keeps the most packets of a round trip: a first flight after a pause may fill the window.
    if (sample->is_app_limited && tp->max_packets_out < tp->snd_cwnd) sum->flags |= IS_WINDOW_UNUSED;
}

// Tells user space what the flow measured, if there is anything to tell.
static void tell(struct flow *flow, u64 now) {
    struct measurement *sum = &flow->untold;
    if (!sum->packets_acked && !sum->packets_misordered && !sum->packets_lost && !flow->is_timeout_untold) return;
    struct measurement *told = ring_reserve(&measurements, sizeof(*told), 0);
    if (told) {
        sum->flow = flow->number;
        sum->number = ++flow->last_measurement;
        sum->now = (now - flow->began) / 1000;
        if (flow->is_timeout_untold) {
            sum->flags |= WAS_TIMEOUT;
            flow->timeout = sum->number;
            flow->is_timeout_untold = 0;
        }
        *told = *sum;
        ring_submit(told, 0);
        *sum = (struct measurement){};
    }
    if (!flow->asked) {
        // A measurement that the ring did not take is unanswered too.
        flow->asked = flow->last_measurement + !told;
        flow->asked_at = now;
    }
}

// Returns true if user space follows the flow.
static int is_followed(struct flow *flow, struct decision *decision, u64 now) {
    if (!decision->answered || flow->is_timeout_untold || decision->answered < flow->timeout) return 0;
    if (flow->asked && decision->answered >= flow->asked) flow->asked = 0;
    return !flow->asked || now - flow->asked_at <= limits.patience;
}

// Without a rate, a window is spread over half a round trip where something paces the socket, and may leave at once elsewhere,
// unless the limit of the rate has to hold. The socket's own limit (SO_MAX_PACING_RATE) holds in any case.
static void set_pacing(struct tcp_sock *tp, u64 rate) {
    struct sock *sk = (struct sock *)tp;
    int is_unpaced = !rate && limits.rate == ~0ULL;
    if (!rate) rate = (u64)tp->snd_cwnd * tp->mss_cache * 2000000 / at_least(tp->srtt_us >> 3, 1);
    rate = at_least(at_most(rate, limits.rate), 4 * (u64)tp->mss_cache);
    sk->sk_pacing_rate = at_most(rate, sk->sk_max_pacing_rate);
    if (!is_unpaced && sk->sk_pacing_status == PACING_NONE) sk->sk_pacing_status = PACING_NEEDED;
}

// Returns the packets of a window within the limits, two at least. The kernel takes a window of 2^31 packets for a fault of its own.
static u64 packets_in(struct tcp_sock *tp, u64 window) {
    u64 packets = at_most(window, limits.window) / at_least(tp->mss_cache, 1);
    return at_most(at_least(packets, 2), MOST_PACKETS);
}

static void obey(struct tcp_sock *tp, struct decision *decision) {
    tp->snd_cwnd = at_most(packets_in(tp, decision->window), at_least(tp->snd_cwnd_clamp, 2));
    set_pacing(tp, decision->rate);
}

static void be_reno(struct tcp_sock *tp, u32 state, u32 ack, u32 acked) {
    if (state == CA_CWR || state == CA_RECOVERY) {
        tp->snd_cwnd = at_least(at_most(tp->snd_cwnd, tp->snd_ssthresh), 2);
    } else if (acked) {
        tcp_reno_cong_avoid((struct sock *)tp, ack, acked);
    }
    tp->snd_cwnd = at_most(tp->snd_cwnd, packets_in(tp, ~0ULL));
    set_pacing(tp, 0);
}

SEC("struct_ops/on_ack") void on_ack(u64 *context) {
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    u32 ack = context[1];
    const struct rate_sample *sample = (const struct rate_sample *)context[3];
    struct flow *flow = storage_get(&flows, tp, 0, 0);
    if (!flow) {
        be_reno(tp, 0, ack, sample->acked_sacked);
        return;
    }
    u64 now = now_ns();
    struct decision *decision = map_lookup(&decisions, &flow->number);
    // User space forgets flows that are idle, and learns of this one before its measurement.
    if (!decision) enter(tp, flow);
    add(tp, flow, sample);
    tell(flow, now);
    flow->is_obeying = decision && is_followed(flow, decision, now);
    if (decision && flow->is_obeying) {
        obey(tp, decision);
        flow->untold.acks_obeyed++;
    } else {
        flow->untold.acks_alone++;
        be_reno(tp, flow->state, ack, sample->acked_sacked);
    }
}

SEC("struct_ops/on_loss") u32 on_loss(u64 *context) {
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    u32 half = tcp_reno_ssthresh((struct sock *)tp);
    // A flow that got no storage does not know its state, so its window falls here.
    if (!storage_get(&flows, tp, 0, 0)) tp->snd_cwnd = half;
    return half;
}

// The window after a loss that was none.
SEC("struct_ops/on_undo") u32 on_undo(u64 *context) {
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    struct flow *flow = storage_get(&flows, tp, 0, 0);
    if (flow && flow->is_obeying) return tp->snd_cwnd;
    return tcp_reno_undo_cwnd((struct sock *)tp);
}

// User space may set another name.
SEC(".struct_ops.link") struct tcp_congestion_ops control = {
    .name = "bertha_ccp",
    .flags = FOR_ALL_USERS,
    .init = on_begin,
    .release = on_end,
    .set_state = on_state,
    .cong_control = on_ack,
    .ssthresh = on_loss,
    .undo_cwnd = on_undo,
};
