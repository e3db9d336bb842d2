//! The collecting of messages into batches, without I/O.

use super::{BatchStatistics, frame};
use crate::gathering::{Gather, GatheringCounts};
use bertha_core::{Buf, Error, Statistics};
use std::collections::VecDeque;
use std::time::Duration;

/// Maximum number of batches that wait to be sent.
const MAX_WAITING: usize = 16;

/// The batch that is being filled, and the full batches.
#[derive(Debug)]
pub(super) struct Filling {
    open: Option<Open>,
    full: VecDeque<Buf>,
    bytes: usize,
    wait: Duration,
}

#[derive(Debug)]
struct Open {
    batch: Buf,
    /// The time at which the batch is sent, full or not.
    due: Duration,
}

impl Filling {
    pub(super) fn new(bytes: usize, wait: Duration) -> Self {
        Self { open: None, full: VecDeque::with_capacity(MAX_WAITING), bytes, wait }
    }

    /// Adds a message. `make` allocates a buffer of a length.
    ///
    /// # Errors
    /// The errors of `make`; the message is then dropped.
    pub(super) fn push(
        &mut self,
        mut message: Buf,
        now: Duration,
        make: impl FnOnce(usize) -> Result<Buf, Error>,
    ) -> Result<(), Error> {
        let len = message.len();
        let header = frame::size(message.len());
        if self.open.as_ref().is_some_and(|open| open.batch.len() + header + len > self.bytes) {
            self.flush();
        }
        if header + len >= self.bytes {
            self.flush();
            if message.headroom() < header {
                let mut copy = make(header + len)?;
                copy[header..].copy_from_slice(&message);
                frame::write(&mut copy[..header], len);
                message = copy;
            } else {
                frame::write(message.prepend(header)?, len);
            }
            self.full.push_back(message);
            return Ok(());
        }
        let open = match &mut self.open {
            Some(open) => open,
            closed => {
                let mut batch = make(self.bytes)?;
                batch.truncate(0);
                closed.insert(Open { batch, due: now + self.wait })
            }
        };
        let (head, body) = open.batch.grow(header + len)?.split_at_mut(header);
        frame::write(head, len);
        body.copy_from_slice(&message);
        Ok(())
    }
}

impl Gather for Filling {
    type Item = Buf;

    fn pop(&mut self, now: Duration) -> Option<Buf> {
        if self.full.is_empty() && self.open.as_ref().is_some_and(|open| open.due <= now) {
            self.flush();
        }
        self.full.pop_front()
    }

    fn due(&self) -> Option<Duration> {
        if self.full.is_empty() { self.open.as_ref().map(|open| open.due) } else { Some(Duration::ZERO) }
    }

    fn flush(&mut self) {
        self.full.extend(self.open.take().map(|open| open.batch));
    }

    fn is_empty(&self) -> bool {
        self.open.is_none() && self.full.is_empty()
    }

    fn has_capacity(&self) -> bool {
        self.full.len() < MAX_WAITING
    }

    fn observe(&self, counts: &GatheringCounts, into: &mut Statistics) {
        let statistics = BatchStatistics {
            to_send_batches: (self.full.len() + usize::from(self.open.is_some())) as u64,
            messages: counts.messages,
            batches: counts.items,
            lost_batches: counts.refusals,
        };
        into.add("Batch", statistics);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    fn make(len: usize) -> Result<Buf, Error> {
        Buf::new(len, 4)
    }

    fn push(filling: &mut Filling, bytes: &[u8], now: Duration) {
        filling.push(Buf::copy_of(bytes, 0).unwrap(), now, make).unwrap();
    }

    #[test]
    fn a_batch_goes_when_it_is_full_or_due() {
        let mut filling = Filling::new(20, MS);
        push(&mut filling, b"12345", MS);
        push(&mut filling, b"12345", MS);
        assert!(filling.pop(MS).is_none());
        assert_eq!(filling.due(), Some(2 * MS));
        // 7 + 7 + 7 exceed 20.
        push(&mut filling, b"12345", MS);
        assert_eq!(filling.pop(MS).unwrap().len(), 14);
        assert!(filling.pop(MS).is_none());
        assert_eq!(filling.pop(2 * MS).unwrap().len(), 7);
        // A larger message goes at once, behind the messages before it.
        push(&mut filling, b"1", 2 * MS);
        push(&mut filling, &[0; 100], 2 * MS);
        let sizes = std::iter::from_fn(|| filling.pop(2 * MS)).map(|batch| batch.len());
        assert_eq!(sizes.collect::<Vec<_>>(), [3, 102]);
        assert!(filling.is_empty());
    }

    proptest! {
        #[test]
        fn messages_come_out_as_they_went_in(
            lens in prop::collection::vec(prop_oneof![0..40_usize, 0..300_usize, 32_760..32_780_usize], 0..60),
            bytes in 4..400_usize,
        ) {
            let mut filling = Filling::new(bytes, MS);
            let mut got = Vec::new();
            for (number, len) in lens.iter().enumerate() {
                push(&mut filling, &vec![number as u8; *len], Duration::ZERO);
                let now = if number % 3 == 0 { 2 * MS } else { Duration::ZERO };
                while let Some(mut batch) = filling.pop(now) {
                    while !batch.is_empty() {
                        got.push(frame::decode(&mut batch).unwrap().to_vec());
                    }
                }
            }
            filling.flush();
            while let Some(mut batch) = filling.pop(Duration::ZERO) {
                while !batch.is_empty() {
                    got.push(frame::decode(&mut batch).unwrap().to_vec());
                }
            }
            let sent = lens.iter().enumerate().map(|(number, len)| vec![number as u8; *len]);
            prop_assert!(got.into_iter().eq(sent));
        }

        #[test]
        fn no_bytes_panic_or_go_on_for_ever(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut batch = Buf::copy_of(&bytes, 0).unwrap();
            let count = std::iter::from_fn(|| frame::decode(&mut batch)).count();
            prop_assert!(count <= bytes.len() / 2);
        }
    }
}
