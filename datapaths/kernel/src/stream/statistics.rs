//! The state of a stream socket, as the kernel tells it.

use bertha_core::statistics::{LayerStatistics, Value};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionread;
use socket2::SockRef;
use std::os::fd::AsFd;

/// The state of a TCP or Unix stream socket at one moment. Values that the kernel does not tell are `None`.
///
/// A slow transfer with `is_full` at the sender waits for the network or for the peer; with many
/// `to_receive_bytes` at the receiver, it waits for the receiver's application.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamStatistics {
    /// Bytes that have arrived and that this process has not read from the kernel.
    pub to_receive_bytes: Option<u64>,
    /// True if the kernel's send buffer has no room for more.
    pub is_full: bool,
    /// System calls that have written to the stream.
    pub writes: u64,
    /// The size of the kernel's send buffer, in bytes.
    pub send_buffer: Option<u64>,
    /// The size of the kernel's receive buffer, in bytes.
    pub receive_buffer: Option<u64>,
    /// Largest number of bytes in a segment of TCP.
    pub segment: Option<u64>,
    /// The congestion control of TCP.
    pub congestion: Option<String>,
}

impl StreamStatistics {
    pub(super) fn of(socket: &impl AsFd, writes: u64) -> Self {
        let asked = SockRef::from(socket);
        let bytes = |size: usize| size as u64;
        Self {
            to_receive_bytes: ioctl_fionread(socket).ok(),
            is_full: is_full(socket),
            writes,
            send_buffer: asked.send_buffer_size().ok().map(bytes),
            receive_buffer: asked.recv_buffer_size().ok().map(bytes),
            // The options fail for a Unix socket.
            segment: asked.tcp_mss().ok().map(u64::from),
            congestion: asked.tcp_congestion().ok().map(name),
        }
    }
}

/// Returns true if a call that writes would wait.
fn is_full(socket: &impl AsFd) -> bool {
    let mut asked = [PollFd::new(socket, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&at_once)).is_ok() && asked[0].revents().is_empty()
}

/// Returns the text before the first zero byte.
fn name(mut bytes: Vec<u8>) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    String::from_utf8_lossy(&bytes).into_owned()
}

impl LayerStatistics for StreamStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let known = |name, bytes: Option<u64>| bytes.map(|bytes| (name, Value::Bytes(bytes)));
        let values = [
            known("to_receive", self.to_receive_bytes),
            Some(("full", Value::Is(self.is_full))),
            Some(("writes", Value::Total(self.writes))),
            known("send_buffer", self.send_buffer),
            known("receive_buffer", self.receive_buffer),
            known("segment", self.segment),
            self.congestion.clone().map(|name| ("congestion", Value::Text(name))),
        ];
        values.into_iter().flatten().collect()
    }
}
