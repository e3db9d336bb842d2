//! What `Quic` reads off its peer's stream, which a peer with a certificate can fill as it likes.

use bertha_chunnels::quic::frame::{Frames, LARGEST, LENGTH, TooLarge};

/// A stream of the bytes behind the first one, which says in pieces of what length it comes: the messages are those that stand in
/// it, whatever the pieces, up to the first that is larger than any may be.
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
    /// Whether nothing stands behind the last message.
    is_between: bool,
}

fn expected(mut stream: &[u8]) -> Expected {
    let mut messages = Vec::new();
    while let Some((length, rest)) = stream.split_first_chunk::<LENGTH>() {
        let len = u32::from_be_bytes(*length) as usize;
        if len > LARGEST {
            return Expected { messages, end: Err(TooLarge(len)), is_between: false };
        }
        let Some((message, rest)) = rest.split_at_checked(len) else { break };
        messages.push(message.to_vec());
        stream = rest;
    }
    Expected { messages, end: Ok(()), is_between: stream.is_empty() }
}
