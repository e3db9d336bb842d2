//! Algorithms, each written once, for every datapath that speaks CCP: the datapath of this crate, and
//! datapaths built on libccp.
//!
//! | algorithm | follows | reacts to | written as |
//! |---|---|---|---|
//! | [`NewReno`] | RFC 5681, RFC 6582 | loss | a window per round trip |
//! | [`Cubic`] | RFC 9438 | loss | a window per round trip |
//! | [`Dctcp`] | RFC 8257 | marks of routers, loss | a window per round trip; refused where there are no marks |
//! | [`Vegas`] | Brakmo and Peterson, 1995 | delay, loss | a window per round trip |
//! | [`Copa`] | Arun and Balakrishnan, NSDI 2018 | delay; loss while another flow fills the queue | a window per half of a round trip |
//! | [`Bbr`] | thesis 4.4.3 | delivery rate and round-trip time | a pattern of rates in the datapath |
//! | [`Nimbus`] | thesis 4.7.1; Goyal and others, 2018 | elastic cross traffic, found by a Fourier transform; delay or loss | a rate each hundredth of a second |
//!
//! Each algorithm is a [`portus::CongAlg`], for [`portus::RunBuilder`]. Some take numbers, by [`Configure`]. An [`AggregateAlg`], such as
//! [`SharedWindow`], controls several flows together; [`Aggregated`] runs it.

mod aggregate;
mod bbr;
mod copa;
mod cubic;
mod dctcp;
mod handle;
mod newreno;
mod nimbus;
mod setting;
mod vegas;
mod window;

pub use aggregate::{
    Aggregate, AggregateAlg, Aggregated, AggregatedFlow, Grouping, GroupingKey, SharedWindow,
    SharedWindowAggregate, Subflow,
};
pub use bbr::{Bbr, BbrFlow};
pub use copa::Copa;
pub use cubic::Cubic;
pub use dctcp::{Dctcp, DctcpFlow};
pub use newreno::NewReno;
pub use nimbus::{Nimbus, NimbusFlow};
pub use setting::{Configure, Setting};
pub use vegas::Vegas;
pub use window::WindowFlow;
