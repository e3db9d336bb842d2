//! Tools that all programs share.

mod alternate;
mod callgrind;
#[cfg(feature = "tls")]
mod certificate;
mod checksums;
mod cores;
mod effort;
mod ends;
mod latency;
mod statistics;

pub(crate) use alternate::{Paired, alternate};
pub(crate) use callgrind::Counter;
#[cfg(feature = "tls")]
pub(crate) use certificate::Certificate;
pub(crate) use checksums::checksums;
pub(crate) use cores::{Placement, pin, process_time, run_on, thread_time, usable};
pub(crate) use effort::Effort;
pub(crate) use ends::{in_time, meet, meet_on_one_runtime, runtime};
pub(crate) use latency::{Latency, Recorder};
pub(crate) use statistics::{Ratio, median, percentile, ratio_of_medians};

/// Largest number of bytes of UDP over IPv6 in an Ethernet frame, as over most paths; Linux segments and
/// coalesces datagrams of this size.
pub(crate) const ETHERNET: usize = 1_452;
