//! The messages in one received buffer.

use bertha_core::Buf;

/// Parts of a buffer in which the kernel coalesced messages of equal length, the last of which may be shorter. No copy:
/// each is split off when it is asked for, so that a message in a queue costs no more than its share of the buffer.
#[derive(Debug)]
pub(crate) struct Messages {
    rest: Option<Buf>,
    stride: usize,
}

impl Messages {
    /// `stride` is the length of a message.
    #[inline]
    pub(super) fn new(buf: Buf, stride: usize) -> Self {
        Self { rest: Some(buf), stride }
    }

    /// Splits off the first `count`, of more.
    pub(super) fn split_first(&mut self, count: usize) -> Self {
        let first = self.rest.as_mut().and_then(|rest| rest.split_to(count * self.stride).ok());
        Self { rest: first, stride: self.stride }
    }
}

impl Iterator for Messages {
    type Item = Buf;

    #[inline]
    fn next(&mut self) -> Option<Buf> {
        match &mut self.rest {
            // Cannot fail: the rest is longer than that.
            Some(rest) if rest.len() > self.stride && self.stride > 0 => rest.split_to(self.stride).ok(),
            rest => rest.take(),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.rest {
            Some(rest) if rest.len() > self.stride && self.stride > 0 => rest.len().div_ceil(self.stride),
            rest => usize::from(rest.is_some()),
        };
        (left, Some(left))
    }
}

impl ExactSizeIterator for Messages {}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(bytes: &[u8], stride: usize) -> Vec<Vec<u8>> {
        let messages = Messages::new(Buf::copy_of(bytes, 0).unwrap(), stride);
        let count = messages.len();
        let split: Vec<_> = messages.map(|buf| buf.to_vec()).collect();
        assert_eq!(split.len(), count);
        split
    }

    #[test]
    fn the_last_message_may_be_shorter() {
        assert_eq!(split(b"aabbc", 2), [&b"aa"[..], b"bb", b"c"]);
        assert_eq!(split(b"aabb", 2), [b"aa", b"bb"]);
        assert_eq!(split(b"aa", 2), [b"aa"]);
    }

    #[test]
    fn an_empty_datagram_is_a_message() {
        assert_eq!(split(b"", 0), [b""]);
        assert_eq!(split(b"ab", 0), [b"ab"]);
    }

    #[test]
    fn the_first_are_split_off() {
        let mut messages = Messages::new(Buf::copy_of(b"aabbc", 0).unwrap(), 2);
        assert_eq!(messages.split_first(2).map(|buf| buf.to_vec()).collect::<Vec<_>>(), [b"aa", b"bb"]);
        assert_eq!(
            (messages.len(), messages.next().unwrap().to_vec(), messages.len()),
            (1, b"c".to_vec(), 0)
        );
    }
}
