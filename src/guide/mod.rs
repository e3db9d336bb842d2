//! Guides: a cookbook of whole programs, composing stacks, handling errors, looking at connections, controlling congestion, connecting to names, choosing a datapath, running unmodified programs, running over DPDK and Caladan, calling through the daemon of a machine, connections from C, keeping attackers out, and writing Chunnels, datapaths and passes.
//!
//! The code of the guides is compiled and run with the tests. The guide [`pass`] shows two crates of the
//! repository's `tests/outside`, which know Bertha only by its published names; a test compares the guide
//! with them word for word.

#[cfg(all(
    feature = "datapath-kernel",
    feature = "queue",
    feature = "quic",
    feature = "tls",
    feature = "tower"
))]
#[doc = include_str!("cookbook.md")]
pub mod cookbook {}

#[cfg(feature = "datapath-kernel")]
#[doc = include_str!("composing.md")]
pub mod composing {}

#[cfg(feature = "datapath-kernel")]
#[doc = include_str!("errors.md")]
pub mod errors {}

#[cfg(all(feature = "datapath-kernel", feature = "reliable", feature = "rpc"))]
#[doc = include_str!("observing.md")]
pub mod observing {}

#[cfg(feature = "ccp")]
#[doc = include_str!("congestion.md")]
pub mod congestion {}

#[cfg(feature = "datapath-kernel")]
#[doc = include_str!("names.md")]
pub mod names {}

#[doc = include_str!("sockets.md")]
pub mod sockets {}

#[cfg(feature = "datapath-kernel")]
#[doc = include_str!("datapaths.md")]
pub mod datapaths {}

#[cfg(feature = "datapath-kernel")]
#[doc = include_str!("caladan.md")]
pub mod caladan {}

#[doc = include_str!("dpdk.md")]
pub mod dpdk {}

#[doc = include_str!("daemon.md")]
pub mod daemon {}

#[cfg(feature = "datapath-kernel")]
#[doc = include_str!("c.md")]
pub mod c {}

#[cfg(feature = "datapath-kernel")]
#[doc = include_str!("python.md")]
pub mod python {}

#[cfg(all(feature = "datapath-kernel", feature = "tls", feature = "noise"))]
#[doc = include_str!("security.md")]
pub mod security {}

#[cfg(feature = "datapath-kernel")]
#[doc = include_str!("chunnel.md")]
pub mod chunnel {}

#[cfg(feature = "datapath-kernel")]
#[doc = include_str!("datapath.md")]
pub mod datapath {}

#[doc = include_str!("pass.md")]
pub mod pass {}
