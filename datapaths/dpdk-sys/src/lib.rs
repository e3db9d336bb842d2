//! The few functions of [DPDK](https://www.dpdk.org) that Bertha's datapath calls, by a shim in C.
//!
//! DPDK's structures are opaque here, so that one binding serves several releases. Nothing here is safe to call as it
//! stands; `bertha-datapath-dpdk` is.
//!
//! Where the build found no DPDK, [`AVAILABLE`] is false, and every function answers that there is nothing: no
//! environment, no port, no buffer.

use std::ffi::{c_char, c_int, c_uint, c_void};

#[cfg(not(dpdk))]
mod absent;
#[cfg(dpdk)]
mod present;

#[cfg(not(dpdk))]
pub use absent::*;
#[cfg(dpdk)]
pub use present::*;

/// Whether the build found a DPDK to link.
pub const AVAILABLE: bool = cfg!(dpdk);

/// The most frames in one call of [`bertha_receive`] or [`bertha_transmit`].
pub const BURST: usize = 64;

/// A packet buffer: `struct rte_mbuf`.
#[repr(C)]
#[derive(Debug)]
pub struct Mbuf {
    _opaque: [u8; 0],
}

/// A pool of packet buffers: `struct rte_mempool`.
#[repr(C)]
#[derive(Debug)]
pub struct Mempool {
    _opaque: [u8; 0],
}

/// The port's verdict on a received frame's checksums: that of the IPv4 header is valid, or need not be verified.
pub const CHECKSUMS_HEADER: u32 = 1;
/// That of UDP or TCP is.
pub const CHECKSUMS_PAYLOAD: u32 = 2;
/// One of them is wrong.
pub const CHECKSUMS_BAD: u32 = 4;

/// The work of the port on a frame that is sent: compute the checksum of its IPv4 header.
pub const OFFLOAD_HEADER: u32 = 0x10;
/// Compute that of UDP, whose field has the sum of the pseudo-header.
pub const OFFLOAD_UDP: u32 = 0x20;
/// It is IPv4, with either of these.
pub const OFFLOAD_V4: u32 = 0x40;
/// The lowest bit of the length of the headers in front of IP, with any of these.
pub const OFFLOAD_L2_SHIFT: u32 = 8;
/// The lowest bit of the length of the IP header.
pub const OFFLOAD_L3_SHIFT: u32 = 16;

/// The longest key of a hash that a port may want.
pub const RSS_KEY: usize = 64;

/// A frame in one segment.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[expect(clippy::len_without_is_empty, reason = "it is never asked")]
pub struct Frame {
    /// Its buffer, whose ownership moves with the frame.
    pub mbuf: *mut Mbuf,
    /// The other three in one number, from the lowest bit on, so that a frame is two words, which move in registers.
    place: u64,
}

impl Frame {
    /// `len` bytes from `start` on in the memory of `mbuf`.
    #[inline]
    pub const fn new(mbuf: *mut Mbuf, start: u16, len: u16, checksums: u32) -> Self {
        Self { mbuf, place: start as u64 | (len as u64) << 16 | (checksums as u64) << 32 }
    }

    /// Its offset in the buffer's memory.
    #[inline]
    pub const fn start(&self) -> u16 {
        self.place as u16
    }

    /// Its length in bytes.
    #[inline]
    pub const fn len(&self) -> u16 {
        (self.place >> 16) as u16
    }

    /// Some of the `CHECKSUMS_` constants in a frame that was received, and of the `OFFLOAD_` constants in one that is sent.
    #[inline]
    pub const fn checksums(&self) -> u32 {
        (self.place >> 32) as u32
    }

    /// The same, with other checksums.
    #[inline]
    #[must_use]
    pub const fn with_checksums(self, checksums: u32) -> Self {
        Self::new(self.mbuf, self.start(), self.len(), checksums)
    }
}

/// The settings of a port.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PortSetup {
    /// The most pairs of queues to use.
    pub queues: u16,
    /// Descriptors in each queue; the driver may take another number.
    pub descriptors: u16,
    /// The largest packet, without the Ethernet header.
    pub mtu: u16,
    /// Whether to take frames for other addresses as well.
    pub promiscuous: bool,
    /// Whether the port is to compute and verify the checksums that it can.
    pub offload: bool,
    /// The key of the hash of UDP flows, if there are several queues.
    pub rss_key: [u8; RSS_KEY],
}

/// The properties of a port that was opened.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PortFacts {
    /// The largest packet, without the Ethernet header.
    pub mtu: u16,
    /// Its address.
    pub mac: [u8; 6],
    /// The name of its driver.
    pub driver: *const c_char,
    /// The pairs of queues in use.
    pub queues: u16,
    /// How many entries the table has by which it spreads flows; 0 if it does not say.
    pub rss_entries: u16,
    /// Whether it spreads UDP flows with our key, by a table whose entries name the queues in turn.
    pub rss: bool,
    /// Which of `OFFLOAD_HEADER` and `OFFLOAD_UDP` it does.
    pub offload: u32,
}

/// The counters of a port.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct PortStatistics {
    /// Frames received.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames lost because the receive queue was full.
    pub missed: u64,
    /// Frames received with errors.
    pub receive_errors: u64,
    /// Frames that could not be sent.
    pub send_errors: u64,
    /// Frames lost because the pool was empty.
    pub no_mbuf: u64,
}

/// Called for each buffer of a new pool: its private area, its memory and that memory's length, and the context.
pub type Prepare = unsafe extern "C" fn(*mut c_void, *mut u8, u16, *mut c_void);

/// Declares the functions once, for both the real ones and those that stand in for them.
macro_rules! with_functions {
    ($then:ident) => {
        $then! {
            /// `rte_eal_init`. Once per process.
            fn bertha_eal_init(argc: c_int, argv: *mut *mut c_char) -> c_int;
            /// `rte_version`.
            fn bertha_version() -> *const c_char;
            /// `rte_strerror`, of a positive number.
            fn bertha_strerror(error: c_int) -> *const c_char;
            /// `rte_thread_register`.
            fn bertha_thread_register() -> c_int;
            /// `rte_thread_unregister`, in the thread that registered.
            fn bertha_thread_unregister() -> ();
            /// `rte_pktmbuf_pool_create`; calls `prepare` for each buffer.
            fn bertha_pool_create(
                pool: *mut *mut Mempool, name: *const c_char, count: c_uint, area: u16, room: u16,
                prepare: Prepare, context: *mut c_void
            ) -> c_int;
            /// How many buffers the pool has.
            fn bertha_pool_size(pool: *const Mempool) -> c_uint;
            /// `rte_mempool_in_use_count`: exact while no thread uses the pool.
            fn bertha_pool_in_use(pool: *const Mempool) -> c_uint;
            /// How far a buffer's private area lies behind its beginning.
            fn bertha_mbuf_area() -> usize;
            /// `rte_pktmbuf_alloc`; null if the pool is empty.
            fn bertha_mbuf_alloc(pool: *mut Mempool) -> *mut Mbuf;
            /// `rte_pktmbuf_free_seg`; from any thread.
            fn bertha_mbuf_free(mbuf: *mut Mbuf) -> ();
            /// `rte_dev_probe`.
            fn bertha_device_add(devargs: *const c_char) -> c_int;
            /// `rte_eth_dev_get_port_by_name`.
            fn bertha_port_by_name(name: *const c_char, port: *mut u16) -> c_int;
            /// The first port there is.
            fn bertha_port_first(port: *mut u16) -> c_int;
            /// Configures and starts a port.
            fn bertha_port_open(
                port: u16, pool: *mut Mempool, setup: *const PortSetup, facts: *mut PortFacts
            ) -> c_int;
            /// Stops and closes a port.
            fn bertha_port_close(port: u16) -> c_int;
            /// Whether the link is up: 1, 0, or an error.
            fn bertha_port_is_up(port: u16) -> c_int;
            /// `rte_eth_stats_get`.
            fn bertha_port_statistics(port: u16, statistics: *mut PortStatistics) -> c_int;
            /// `rte_eth_rx_burst`; of one queue, one call at a time.
            fn bertha_receive(
                port: u16, queue: u16, frames: *mut Frame, count: u16, dropped: *mut u64
            ) -> u16;
            /// `rte_eth_tx_burst`; of one queue, one call at a time.
            fn bertha_transmit(port: u16, queue: u16, frames: *const Frame, count: u16) -> u16;
        }
    };
}
use with_functions;
