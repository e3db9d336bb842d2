//! The state of a datagram socket.

use crate::Counters;
use bertha_core::statistics::{LayerStatistics, Value};

/// The state of a UDP or Unix datagram socket at one moment.
///
/// The connections of a listener share a socket, and each shows the counters of the whole socket. Datagrams for
/// which the kernel had no room are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatagramStatistics {
    /// The messages that the socket dropped, and its errors.
    pub counters: Counters,
    /// The size of the kernel's send buffer, in bytes.
    pub send_buffer: Option<u64>,
    /// The size of the kernel's receive buffer, in bytes.
    pub receive_buffer: Option<u64>,
}

impl LayerStatistics for DatagramStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let Counters { unknown, overflow, oversize, errors } = self.counters;
        let mut values = vec![
            ("unknown", Value::Total(unknown)),
            ("overflow", Value::Total(overflow)),
            ("oversize", Value::Total(oversize)),
            ("errors", Value::Total(errors)),
        ];
        let buffers = [("send_buffer", self.send_buffer), ("receive_buffer", self.receive_buffer)];
        values.extend(buffers.into_iter().filter_map(|(name, size)| Some((name, Value::Bytes(size?)))));
        values
    }
}
