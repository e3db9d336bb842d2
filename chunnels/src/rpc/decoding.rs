//! Receiving from the connection below, whichever that is.

use super::Message;
use crate::burst::Decoded;
use bertha_core::{Buf, Connection, DropCounter, Error};

/// Takes headers off. Messages without one are dropped and counted.
pub(super) struct Decoding {
    malformed: DropCounter,
}

impl Decoding {
    pub(super) fn new(malformed: DropCounter) -> Self {
        Self { malformed }
    }

    /// Returns the number of messages that were dropped.
    pub(super) fn malformed(&self) -> u64 {
        self.malformed.get()
    }

    #[inline]
    fn decode(&self, bytes: Buf) -> Option<Message> {
        let message = Message::decode(bytes);
        if message.is_none() {
            self.malformed.add(1);
        }
        message
    }

    pub(super) async fn recv(&self, from: &impl Connection<Data = Buf>) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.decode(from.recv().await?) {
                return Ok(message);
            }
        }
    }

    pub(super) async fn recv_batch(
        &self,
        from: &impl Connection<Data = Buf>,
        into: &mut (impl Extend<Message> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let mut decoded = Decoded { into, decode: |bytes| self.decode(bytes), count: 0 };
        // A burst of malformed messages alone would return zero.
        while decoded.count == 0 && limit > 0 {
            from.recv_batch(&mut decoded, limit).await?;
        }
        Ok(decoded.count)
    }
}
