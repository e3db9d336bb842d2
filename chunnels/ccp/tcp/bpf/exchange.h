// What the program and its user space exchange: src/decision.rs and src/measurement.rs read the same structures.
#pragma once

#include "kernel.h"

// The bounds that user space sets before the program is loaded.
struct limits {
    u64 window;   // bytes
    u64 rate;     // bytes per second
    u64 patience; // nanoseconds that a measurement may stay unanswered
};

// One flow in the map: what user space decided, and what the flow is.
struct decision {
    u64 window;   // bytes
    u64 rate;     // bytes per second; 0 for none
    u64 answered; // the number of the newest measurement that this decision has seen; 0 before the first
    u32 local[4];
    u32 peer[4];
    u16 local_port;
    u16 peer_port; // in the order of the network
    u16 family;
    u16 has_marks;
    u32 mss;
    u32 unused;
};

enum { WAS_TIMEOUT = 1, IS_APP_LIMITED = 2, HAS_ENDED = 4, IS_WINDOW_UNUSED = 8 };

// What a flow measured since its measurement before.
struct measurement {
    u64 flow;
    u64 number;
    u64 now; // microseconds since the flow began
    u64 bytes_acked;
    u64 bytes_misordered;
    u64 rate_outgoing; // bytes per second
    u64 rate_incoming;
    u32 packets_acked;
    u32 packets_misordered;
    u32 packets_marked;
    u32 packets_lost;
    u32 packets_in_flight;
    u32 rtt; // microseconds; 0 before the first sample
    u32 mss;
    u32 flags;
    u32 acks_obeyed; // acknowledgements at which a decision was obeyed
    u32 acks_alone;  // those at which the flow was controlled as by Reno
};
