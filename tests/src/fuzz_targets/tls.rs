//! The stream of a `Tls` peer behind its handshake, which any peer can fill if clients need no certificate.

use bertha_chunnels::tls::LARGEST;
use bertha_core::framing::{Deframer, HEADER, TooLarge};

/// Passes bytes in pieces, whose length is the first byte. For pieces of any length, equal messages come out,
/// up to the first message that is too large.
pub fn stream(bytes: &[u8]) {
    let Some((&piece, stream)) = bytes.split_first() else { return };
    let expected = Expected::of(stream);
    for piece in [usize::from(piece) + 1, 16 * 1024] {
        let (mut deframer, mut messages) = (Deframer::new(LARGEST), Vec::new());
        let end = stream.chunks(piece).try_for_each(|mut piece| {
            while let Some(message) = deframer.take(&mut piece)? {
                messages.push(message.to_vec());
            }
            assert!(piece.is_empty(), "bytes that are no message yet are kept");
            Ok(())
        });
        assert_eq!(messages, expected.messages);
        assert_eq!(end, expected.end);
        if end.is_ok() {
            assert_eq!(deframer.is_between(), expected.is_between);
        }
    }
}

struct Expected {
    messages: Vec<Vec<u8>>,
    end: Result<(), TooLarge>,
    /// True if nothing is behind the last message.
    is_between: bool,
}

impl Expected {
    fn of(mut stream: &[u8]) -> Self {
        let mut messages = Vec::new();
        while let Some((length, rest)) = stream.split_first_chunk::<HEADER>() {
            let len = u32::from_be_bytes(*length) as usize;
            if len > LARGEST {
                return Self { messages, end: Err(TooLarge(len)), is_between: false };
            }
            let Some((message, rest)) = rest.split_at_checked(len) else { break };
            messages.push(message.to_vec());
            stream = rest;
        }
        Self { messages, end: Ok(()), is_between: stream.is_empty() }
    }
}
