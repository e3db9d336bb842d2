//! The few functions of [DPDK](https://www.dpdk.org) that Bertha's datapath calls, by a shim in C.
//!
//! DPDK's structures are opaque here, so that a single binding serves several releases. No function here is
//! safe to call as it stands; `bertha-datapath-dpdk` provides a safe interface.
//!
//! Where the build found no DPDK, [`AVAILABLE`] is false, and every function fails: there is no environment,
//! no port, no buffer.

use std::ffi::{c_char, c_int, c_uint, c_void};

#[cfg(not(dpdk))]
mod absent;
#[cfg(dpdk)]
mod present;

#[cfg(not(dpdk))]
pub use absent::*;
#[cfg(dpdk)]
pub use present::*;

/// True if the build found a DPDK to link.
pub const AVAILABLE: bool = cfg!(dpdk);

/// Largest number of frames in a call of [`bertha_dpdk_receive`] or [`bertha_dpdk_transmit`].
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

/// Flag of a received frame in the port's verdict: the IPv4 header's checksum is valid, or need not be
/// verified.
pub const CHECKSUMS_HEADER: u32 = 1;
/// Flag of a received frame: the checksum of UDP or TCP is valid, or need not be verified.
pub const CHECKSUMS_PAYLOAD: u32 = 2;
/// Flag of a received frame: one of its checksums is wrong.
pub const CHECKSUMS_BAD: u32 = 4;

/// Flag of a sent frame: the port computes the checksum of its IPv4 header.
pub const OFFLOAD_HEADER: u32 = 0x10;
/// Flag of a sent frame: the port computes the checksum of UDP, whose field has the sum of the pseudo-header.
pub const OFFLOAD_UDP: u32 = 0x20;
/// Flag of a sent frame over IPv4, together with `OFFLOAD_HEADER` or `OFFLOAD_UDP`.
pub const OFFLOAD_V4: u32 = 0x40;
/// Lowest bit of the length of the headers in front of IP, together with any of these flags.
pub const OFFLOAD_L2_SHIFT: u32 = 8;
/// Lowest bit of the length of the IP header.
pub const OFFLOAD_L3_SHIFT: u32 = 16;

/// Length of the longest key of a hash that a port may want.
pub const RSS_KEY: usize = 64;

/// A frame in a single segment.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[expect(clippy::len_without_is_empty, reason = "it is never asked")]
pub struct Frame {
    /// The frame's buffer, whose ownership moves with the frame.
    pub mbuf: *mut Mbuf,
    /// Start, length and checksums in a single number, from the lowest bit on, so that a frame is two words,
    /// which move in registers.
    place: u64,
}

impl Frame {
    /// Creates a frame of `len` bytes from `start` on in the memory of `mbuf`.
    #[inline]
    pub const fn new(mbuf: *mut Mbuf, start: u16, len: u16, checksums: u32) -> Self {
        Self { mbuf, place: start as u64 | (len as u64) << 16 | (checksums as u64) << 32 }
    }

    /// Returns the frame's offset in the buffer's memory.
    #[inline]
    pub const fn start(&self) -> u16 {
        self.place as u16
    }

    /// Returns the frame's length in bytes.
    #[inline]
    pub const fn len(&self) -> u16 {
        (self.place >> 16) as u16
    }

    /// Returns the `CHECKSUMS_` flags of a received frame, or the `OFFLOAD_` flags of a sent frame.
    #[inline]
    pub const fn checksums(&self) -> u32 {
        (self.place >> 32) as u32
    }

    /// Returns the frame with other checksum flags.
    #[inline]
    #[must_use]
    pub const fn with_checksums(self, checksums: u32) -> Self {
        Self::new(self.mbuf, self.start(), self.len(), checksums)
    }
}

/// The number of no VLAN.
pub const NO_VLAN: u16 = u16::MAX;

/// The settings of a port.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PortSetup {
    /// Largest number of pairs of queues to use.
    pub queues: u16,
    /// Number of descriptors in each queue; the driver may take another number.
    pub descriptors: u16,
    /// Size of the largest packet, without the Ethernet header.
    pub mtu: u16,
    /// The VLAN of all frames, or [`NO_VLAN`].
    pub vlan: u16,
    /// True if the port's own MTU suffices, and stays.
    pub keep_mtu: bool,
    /// True if the port accepts frames for other addresses as well.
    pub promiscuous: bool,
    /// True if the port computes and verifies the checksums that it can.
    pub offload: bool,
    /// The key of the hash of UDP flows, for several queues.
    pub rss_key: [u8; RSS_KEY],
}

/// The properties of an opened port.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PortFacts {
    /// Size of the largest packet, without the Ethernet header.
    pub mtu: u16,
    /// The smallest MTU of the port, which is known even if the port was not opened.
    pub min_mtu: u16,
    /// The largest MTU of the port, which is known even if the port was not opened.
    pub max_mtu: u16,
    /// Link-layer address of the port.
    pub mac: [u8; 6],
    /// Name of the port's driver.
    pub driver: *const c_char,
    /// Number of pairs of queues in use.
    pub queues: u16,
    /// Number of entries in the table by which the port spreads flows; 0 if the driver does not report it.
    pub rss_entries: u16,
    /// True if the port spreads UDP flows with the given key, by a table whose entries name the queues in
    /// turn.
    pub rss: bool,
    /// The offloads of the port, among `OFFLOAD_HEADER` and `OFFLOAD_UDP`.
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

/// Callback for each buffer of a new pool: its private area, its memory and that memory's length, and the
/// context.
pub type Prepare = unsafe extern "C" fn(*mut c_void, *mut u8, u16, *mut c_void);

/// Declares the functions once, for both the real functions and their stand-ins.
macro_rules! with_functions {
    ($then:ident) => {
        $then! {
            /// Calls `rte_eal_init`, which a process may do once.
            fn bertha_dpdk_eal_init(argc: c_int, argv: *mut *mut c_char) -> c_int;
            /// Calls `rte_version`.
            fn bertha_dpdk_version() -> *const c_char;
            /// Calls `rte_strerror` for a positive number.
            fn bertha_dpdk_strerror(error: c_int) -> *const c_char;
            /// Calls `rte_thread_register`.
            fn bertha_dpdk_thread_register() -> c_int;
            /// Calls `rte_thread_unregister`, in the thread that registered.
            fn bertha_dpdk_thread_unregister() -> ();
            /// Makes a pool as `rte_pktmbuf_pool_create` does, and calls `prepare` for each buffer. With
            /// `one_piece`, the buffers lie without gaps in memory.
            fn bertha_dpdk_pool_create(
                pool: *mut *mut Mempool, name: *const c_char, count: c_uint, area: u16, room: u16,
                one_piece: bool, prepare: Prepare, context: *mut c_void
            ) -> c_int;
            /// Returns the number of bytes from the first byte of the pool's memory to the last.
            fn bertha_dpdk_pool_extent(pool: *mut Mempool) -> usize;
            /// Returns the MTU of an interface of the kernel.
            fn bertha_dpdk_interface_mtu(name: *const c_char) -> c_int;
            /// Returns the number of buffers of the pool.
            fn bertha_dpdk_pool_size(pool: *const Mempool) -> c_uint;
            /// Calls `rte_mempool_in_use_count`, whose result is exact while no thread uses the pool.
            fn bertha_dpdk_pool_in_use(pool: *const Mempool) -> c_uint;
            /// Returns the offset of a buffer's private area.
            fn bertha_dpdk_mbuf_area() -> usize;
            /// Calls `rte_pktmbuf_alloc`, which returns null if the pool is empty.
            fn bertha_dpdk_mbuf_alloc(pool: *mut Mempool) -> *mut Mbuf;
            /// Calls `rte_pktmbuf_free_seg`, from any thread.
            fn bertha_dpdk_mbuf_free(mbuf: *mut Mbuf) -> ();
            /// Calls `rte_dev_probe`.
            fn bertha_dpdk_device_add(devargs: *const c_char) -> c_int;
            /// Calls `rte_eth_dev_get_port_by_name`.
            fn bertha_dpdk_port_by_name(name: *const c_char, port: *mut u16) -> c_int;
            /// Finds the first port.
            fn bertha_dpdk_port_first(port: *mut u16) -> c_int;
            /// Returns 1 if the port is of a virtual device, 0 if of a card, or an error.
            fn bertha_dpdk_port_is_virtual(port: u16) -> c_int;
            /// Configures and starts a port. Fails with `-ERANGE` for an MTU that the port does not take.
            fn bertha_dpdk_port_open(
                port: u16, pool: *mut Mempool, setup: *const PortSetup, facts: *mut PortFacts
            ) -> c_int;
            /// Stops and closes a port. With `remove`, its device is gone, and can be added again; otherwise its
            /// port is there again, to be opened.
            fn bertha_dpdk_port_close(port: u16, remove: bool) -> c_int;
            /// Returns 1 if the link is up, 0 if not, or an error.
            fn bertha_dpdk_port_is_up(port: u16) -> c_int;
            /// Calls `rte_eth_stats_get`.
            fn bertha_dpdk_port_statistics(port: u16, statistics: *mut PortStatistics) -> c_int;
            /// Calls `rte_eth_rx_burst`, for a queue in one thread at a time.
            fn bertha_dpdk_receive(
                port: u16, queue: u16, frames: *mut Frame, count: u16, dropped: *mut u64
            ) -> u16;
            /// Calls `rte_eth_tx_burst`, for a queue in one thread at a time.
            fn bertha_dpdk_transmit(port: u16, queue: u16, frames: *const Frame, count: u16) -> u16;
        }
    };
}
use with_functions;
