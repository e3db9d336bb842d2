//! An answer with the server's first data behind it.

use super::{HEADER, Kind, header};
use bertha_core::{Buf, Error};

/// Maximum length of such a message, in bytes: every path carries this length in one piece, so that an answer
/// never costs data that would have fit alone.
pub const LARGEST_JOINED: usize = 1200;

/// Size of the length of the answer, in bytes.
const LENGTH: usize = 2;

/// Joins answer and data into one message; returns `None` if it is longer than [`LARGEST_JOINED`] or `most`,
/// or a part is of another kind.
pub fn join(answer: &[u8], data: &[u8], most: usize) -> Option<Vec<u8>> {
    joined(answer, data, most).ok().flatten().map(|both| both.to_vec())
}

/// Works as [`join`], in a buffer to be sent.
///
/// # Errors
/// Fails if there is no memory for a buffer.
pub(crate) fn joined(answer: &[u8], data: &[u8], most: usize) -> Result<Option<Buf>, Error> {
    let (Some((Kind::Answer, tag)), Ok(len)) = (header(answer), u16::try_from(answer.len())) else {
        return Ok(None);
    };
    let whole = HEADER + LENGTH + answer.len() + data.len();
    if !data.starts_with(&tag.header(Kind::Data)) || whole > most.min(LARGEST_JOINED) {
        return Ok(None);
    }
    let mut both = Buf::new(whole, 0)?;
    let (front, back) = both.split_at_mut(HEADER + LENGTH + answer.len());
    front[..HEADER].copy_from_slice(&tag.header(Kind::AnswerAndData));
    front[HEADER..HEADER + LENGTH].copy_from_slice(&len.to_le_bytes());
    front[HEADER + LENGTH..].copy_from_slice(answer);
    back.copy_from_slice(data);
    Ok(Some(both))
}

/// Splits a message into answer and data, each a message of its own; returns `None` for any other message.
/// Neither part is trusted: they count as if they had arrived one after the other.
pub fn parts(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let (Kind::AnswerAndData, tag) = header(message)? else { return None };
    let (len, rest) = message.get(HEADER..)?.split_first_chunk::<LENGTH>()?;
    let (answer, data) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
    let is_both = answer.starts_with(&tag.header(Kind::Answer)) && data.starts_with(&tag.header(Kind::Data));
    is_both.then_some((answer, data))
}

/// Returns a message as it is, or the answer in it and the data behind the answer.
pub(crate) fn split_joined(mut message: Buf) -> (Buf, Option<Buf>) {
    let Some(len) = parts(&message).map(|(answer, _)| answer.len()) else { return (message, None) };
    let split = |message: &mut Buf| {
        message.advance(HEADER + LENGTH)?;
        message.split_to(len)
    };
    match split(&mut message) {
        Ok(answer) => (answer, Some(message)),
        Err(_) => (message, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Answer, Tag, encode};
    use proptest::prelude::*;

    fn answer(id: u64, text: usize) -> Vec<u8> {
        let (client_picks, server_picks) = (vec![1], vec![0]);
        let (stack, reasons) = ("x".repeat(text), String::new());
        let answer = Answer {
            id,
            client_picks,
            server_picks,
            idle_ms: 1,
            confirm: None,
            early: 1,
            ticket: None,
            stack,
            reasons,
            capabilities: Vec::new(),
        };
        encode(Kind::Answer, Tag::of(id), &answer).unwrap()
    }

    fn data(id: u64, payload: &[u8]) -> Vec<u8> {
        [&Tag::of(id).header(Kind::Data), payload].concat()
    }

    proptest! {
        #[test]
        fn what_is_joined_is_parted(text in 0..900usize, payload in proptest::collection::vec(any::<u8>(), 0..600)) {
            let (answer, data) = (answer(7, text), data(7, &payload));
            let whole = HEADER + LENGTH + answer.len() + data.len();
            let joined = join(&answer, &data, usize::MAX);
            prop_assert_eq!(joined.is_some(), whole <= LARGEST_JOINED);
            if let Some(joined) = joined {
                prop_assert_eq!(joined.len(), whole);
                prop_assert_eq!(join(&answer, &data, whole - 1), None);
                prop_assert_eq!(parts(&joined), Some((&answer[..], &data[..])));
                let (first, second) = split_joined(Buf::copy_of(&joined, 0).unwrap());
                prop_assert_eq!((&first[..], &second.unwrap()[..]), (&answer[..], &data[..]));
                for end in 0..joined.len() - payload.len() {
                    prop_assert_eq!(parts(&joined[..end]), None);
                }
            }
        }

        #[test]
        fn whatever_is_parted_is_an_answer_and_data(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let joined = [&Tag::of(7).header(Kind::AnswerAndData)[..], &bytes].concat();
            if let Some((answer, data)) = parts(&joined) {
                prop_assert_eq!(header(answer), Some((Kind::Answer, Tag::of(7))));
                prop_assert_eq!(header(data), Some((Kind::Data, Tag::of(7))));
            }
        }
    }

    #[test]
    fn only_the_first_round_of_the_same_connection_is_joined() {
        let (answer, later) = (answer(7, 0), Tag::of(7).data_header(1));
        assert!(join(&answer, &data(7, b"data"), usize::MAX).is_some());
        for other in [&data(8, b"data")[..], &later, &answer, b""] {
            assert_eq!(join(&answer, other, usize::MAX), None);
            let mut joined = join(&answer, &data(7, b""), usize::MAX).unwrap();
            joined.truncate(joined.len() - HEADER);
            joined.extend(other);
            assert_eq!(parts(&joined), None);
        }
        assert_eq!(join(&data(7, b""), &data(7, b""), usize::MAX), None);
    }
}
