//! The messages in one received buffer.

use bertha_core::Buf;

/// Parts of a buffer in which the kernel coalesced messages of equal length, the last of which may be shorter. No copy.
pub(super) struct Messages {
    rest: Option<Buf>,
    stride: usize,
}

impl Messages {
    /// `stride` is the length of a message.
    pub(super) fn new(buf: Buf, stride: usize) -> Self {
        Self { rest: Some(buf), stride }
    }
}

impl Iterator for Messages {
    type Item = Buf;

    #[inline]
    fn next(&mut self) -> Option<Buf> {
        let mut rest = self.rest.take()?;
        if rest.len() <= self.stride || self.stride == 0 {
            return Some(rest);
        }
        // Cannot fail: the rest is longer than that.
        let message = rest.split_to(self.stride).ok()?;
        self.rest = Some(rest);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(bytes: &[u8], stride: usize) -> Vec<Vec<u8>> {
        Messages::new(Buf::copy_of(bytes, 0).unwrap(), stride).map(|buf| buf.to_vec()).collect()
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
}
