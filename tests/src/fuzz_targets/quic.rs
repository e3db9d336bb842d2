//! The stream of a `Quic` peer, which any peer with a certificate can fill.

use bertha_chunnels::quic::frame::{CONTINUED, Frames, LARGEST};
use bertha_core::framing::{HEADER, TooLarge};

/// Passes bytes in pieces, whose length is the first byte. For pieces of any length, equal messages come out,
/// up to the first message that is too large.
pub fn stream(bytes: &[u8]) {
    let Some((&piece, stream)) = bytes.split_first() else { return };
    let expected = expected(stream);
    for piece in [usize::from(piece) + 1, 64 * 1024] {
        let mut frames = Frames::default();
        let mut messages = Vec::new();
        let end = stream.chunks(piece).try_for_each(|mut piece| {
            while let Some(message) = frames.take(&mut piece)? {
                messages.push(message.to_vec());
            }
            assert!(piece.is_empty(), "what is no message yet is kept");
            Ok(())
        });
        assert_eq!(messages, expected.messages);
        assert_eq!(end, expected.end);
        if end.is_ok() {
            assert_eq!(frames.is_between(), expected.is_between);
        }
    }
}

struct Expected {
    messages: Vec<Vec<u8>>,
    end: Result<(), TooLarge>,
    /// True if nothing is behind the last message.
    is_between: bool,
}

fn expected(mut stream: &[u8]) -> Expected {
    let mut messages = Vec::new();
    while let Some((length, rest)) = stream.split_first_chunk::<HEADER>() {
        let len = u32::from_be_bytes(*length) as usize;
        if len == CONTINUED as usize && rest.is_empty() {
            return Expected { messages, end: Ok(()), is_between: false };
        }
        if len > LARGEST {
            return Expected { messages, end: Err(TooLarge(len)), is_between: false };
        }
        let Some((message, rest)) = rest.split_at_checked(len) else { break };
        messages.push(message.to_vec());
        stream = rest;
    }
    Expected { messages, end: Ok(()), is_between: stream.is_empty() }
}
