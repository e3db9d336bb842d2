//! Linux's TCP under any congestion control of Bertha: the kernel as a datapath of CCP (thesis, Table 4.3).
//!
//! [`TcpControl::register`] loads a program of eBPF into the kernel and registers it as a congestion control, by the name
//! `bertha_ccp` for instance. Any program then chooses it: by the option `TCP_CONGESTION` of a socket, by
//! `sysctl net.ipv4.tcp_congestion_control`, or by `ip route change .. congctl`.
//!
//! For each acknowledgement the program in the kernel tells this process what the flow measured, through a ring of
//! 1 MiB, and this process writes the window and the rate of each flow into a map, which the kernel obeys at the next
//! acknowledgement. The control of a flow is a [`CongestionControl`](bertha_chunnels::congestion::CongestionControl), as for
//! [`Reliable`](bertha_chunnels::Reliable): one of an agent ([`Ccp`](bertha_ccp::Ccp)), or one of this process.
//!
//! # Safety of the flows
//!
//! No flow stalls. The kernel controls a flow as Reno does until the first decision, after a time-out until
//! a decision that has seen it, and whenever a measurement stays unanswered for [`PATIENCE`]: if this process is stopped or
//! killed, for instance. The registration ends with this process, and flows that it leaves behind go on as Reno until they close.
//! A window is at least two packets and at most 2^20, and a rate is at least four packets per second, whatever the limits are; [`Limits`](bertha_ccp::Limits) bound both from above,
//! in the kernel. At most 65,536 flows are controlled at a time; the kernel controls the others as Reno does. A flow that has been idle for
//! half a minute is forgotten, and begins anew with its next acknowledgement.
//!
//! # Requirements
//!
//! The feature `bpf`, without which this crate is empty: building it needs clang 14 or newer, make, and the headers of libelf and zlib.
//! Linux 6.10 or newer with the description of its types (BTF), and a process with `CAP_BPF`, `CAP_PERFMON` and
//! `CAP_NET_ADMIN`, such as one of root.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

#[cfg(feature = "bpf")]
mod decision;
#[cfg(feature = "bpf")]
mod fields;
#[cfg(feature = "bpf")]
mod flows;
#[cfg(feature = "bpf")]
mod kernel;
#[cfg(feature = "bpf")]
mod measurement;
#[cfg(feature = "bpf")]
mod tcp_control;

#[cfg(feature = "bpf")]
pub use tcp_control::{PATIENCE, TcpControl, TcpStatistics};
