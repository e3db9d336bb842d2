//! Tools that all programs share.

mod alternate;
mod callgrind;
mod cores;
mod effort;
mod ends;
mod latency;
mod statistics;

pub(crate) use alternate::{Paired, alternate};
pub(crate) use callgrind::Counter;
pub(crate) use cores::{Placement, pin, run_on, thread_time, usable};
pub(crate) use effort::Effort;
pub(crate) use ends::{in_time, meet, meet_on_one_runtime, runtime};
pub(crate) use latency::{Latency, Recorder};
pub(crate) use statistics::{Ratio, median, percentile, ratio_of_medians};
