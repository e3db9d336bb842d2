//! The connection that names the key of each message to the service.

use bertha_core::{Buf, Connection, Error, OrdersByKey, debug_fields, forward};
use std::fmt::Debug;

/// The connection of [`ServiceOrdered`](super::ServiceOrdered).
///
/// Errors, loss, backpressure and cancellation are those of the connection below.
pub struct ServiceOrderedConnection<Inner> {
    inner: Inner,
    key: fn(&[u8]) -> &[u8],
}

impl<Inner: OrdersByKey> ServiceOrderedConnection<Inner> {
    pub(super) fn new(inner: Inner, key: fn(&[u8]) -> &[u8]) -> Self {
        Self { inner, key }
    }

    fn key_of(&self, message: &[u8]) -> u64 {
        hash((self.key)(message))
    }
}

/// Computes FNV-1a in 64 bits (Fowler, Noll and Vo), which is equal in all processes, releases and machines:
/// publishers of a topic agree on it.
fn hash(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl<Inner: OrdersByKey> Connection for ServiceOrderedConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, recv, recv_batch, drain, close);

    #[inline]
    fn send(&self, message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.send_by_key(self.key_of(&message), message)
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Buf> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.send_batch_by_key(messages.map(|message| (self.key_of(&message), message)))
    }
}

debug_fields!(ServiceOrderedConnection<Inner: Debug> { inner });

#[cfg(test)]
mod tests {
    use super::hash;

    /// Publishers of different releases have to agree.
    #[test]
    fn a_key_has_the_same_hash_for_ever() {
        assert_eq!(
            [&b""[..], b"a", b"foobar"].map(hash),
            [0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8]
        );
    }
}
