//! The datapath that this build uses by default.

/// The type of [`datapath()`]: [`Caladan`](crate::caladan::Caladan) with the feature `datapath-caladan`.
#[cfg(feature = "datapath-caladan")]
pub type DefaultDatapath = bertha_datapath_caladan::Caladan;

/// The type of [`datapath()`]: [`Bridged`](crate::caladan::Bridged) with the feature `datapath-caladan-bridged`.
#[cfg(all(feature = "datapath-caladan-bridged", not(feature = "datapath-caladan")))]
pub type DefaultDatapath = bertha_datapath_caladan::Bridged;

/// The type of [`datapath()`]: [`Dpdk`](crate::dpdk::Dpdk) with the feature `datapath-dpdk`.
#[cfg(all(
    feature = "datapath-dpdk",
    not(any(feature = "datapath-caladan", feature = "datapath-caladan-bridged"))
))]
pub type DefaultDatapath = bertha_datapath_dpdk::Dpdk;

/// The type of [`datapath()`]: kernel UDP, unless a faster datapath is switched on.
#[cfg(all(
    feature = "datapath-kernel",
    not(any(feature = "datapath-dpdk", feature = "datapath-caladan", feature = "datapath-caladan-bridged"))
))]
pub type DefaultDatapath = bertha_datapath_kernel::Udp;

/// Returns the datapath of this build: Caladan if its feature is on (in place of tokio or else beside it),
/// else DPDK, else kernel UDP.
///
/// The features of `bertha`, one line of the application's `Cargo.toml`, decide which datapath it is; a
/// faster datapath takes precedence over `datapath-kernel` where both features are on. DPDK reads its
/// settings from the environment when it is first used, and so does Caladan beside tokio; Caladan in place of
/// tokio reads them when [`run`](crate::run()) starts it.
pub fn datapath() -> DefaultDatapath {
    DefaultDatapath::new()
}
