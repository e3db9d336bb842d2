//! The datapath that this build uses by default.

/// The datapath of this build: kernel UDP.
///
/// Which one it is, is decided in one line of the application's `Cargo.toml`, by the features of `bertha`; a later,
/// faster datapath takes precedence over `datapath-kernel` where both are on.
#[cfg(feature = "datapath-kernel")]
pub fn datapath() -> bertha_datapath_kernel::Udp {
    bertha_datapath_kernel::Udp::new()
}
