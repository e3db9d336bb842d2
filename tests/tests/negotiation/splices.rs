//! New messages made of fields of observed messages, of this connection or of other connections.

use bertha_core::Role;
use bertha_negotiation::testing::wire::{self, HEADER, Kind};

/// Number of bytes at the end of a proven message about a connection: counter, MAC and check.
const PROOF: usize = 8 + 16 + 4;

/// Number of bytes of a reset token, of a nonce, and of a MAC.
const SECRET: usize = 16;

/// Makes a message of parts of the messages `one` and `other`. `roll` returns random numbers below its
/// argument.
pub(crate) fn splice(one: &[u8], other: &[u8], mut roll: impl FnMut(u64) -> u64) -> Vec<u8> {
    let (Some(head), Some(_)) = (one.get(..HEADER), other.get(..HEADER)) else { return one.to_vec() };
    let (mut at, len) = (|bytes: &[u8]| roll(bytes.len() as u64 + 1) as usize, 7);
    let way = at(&[0; 6]);
    let mut spliced = match way {
        // The message has the kind and the connection of `one`, and the rest of `other`.
        0 => [head, &other[HEADER..]].concat(),
        // The message has the beginning of `one` and the end of `other`: ids, numbers, cookies and counters
        // in other places.
        1 => [&one[..at(one)], &other[at(other)..]].concat(),
        // The message has the fields of `one` and the proof of `other`.
        2 if one.len() > HEADER + PROOF && other.len() > HEADER + PROOF => {
            [&one[..one.len() - PROOF], &other[other.len() - PROOF..]].concat()
        }
        // The message is a reset whose token is sixteen bytes of `other`.
        3 if other.len() >= SECRET => {
            let from = at(&other[SECRET..]);
            reset(one, &other[from..from + SECRET])
        }
        // The message is `one` as if from its receiver; in the next case, `one` with another kind.
        4 => [&as_from_the_other(one), &one[HEADER..]].concat(),
        5 => {
            let kinds =
                [Kind::Close, Kind::CloseSeen, Kind::KeepAlive, Kind::Upgrade, Kind::Reset, Kind::Confirm];
            let kind = kinds[at(&[0; 5]) % kinds.len()];
            let sender = if at(&[0]) == 0 { Role::Client } else { Role::Server };
            let tag = wire::header(one).map(|(_, tag)| tag);
            match tag {
                Some(tag) => [&tag.header_from(sender, kind)[..], &one[HEADER..]].concat(),
                None => one.to_vec(),
            }
        }
        // Both messages come at once, as an answer comes with data behind it.
        _ => [one, &other[..other.len().min(len * HEADER)]].concat(),
    };
    repair(&mut spliced);
    spliced
}

/// Makes a reset of the connection of `message` that reveals this token.
fn reset(message: &[u8], token: &[u8]) -> Vec<u8> {
    let Some((_, tag)) = wire::header(message) else { return message.to_vec() };
    let mut reset = tag.header_from(Role::Server, Kind::Reset).to_vec();
    reset.push(wire::VERSION | 0x80);
    reset.extend(token);
    reset.extend([0; 4]);
    reset
}

/// Returns the header of a message as its receiver would write it.
fn as_from_the_other(message: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header.copy_from_slice(&message[..HEADER]);
    if let (Some((kind, tag)), Some(sender)) = (wire::header(message), wire::sender(message)) {
        let other = if sender == Role::Client { Role::Server } else { Role::Client };
        header = tag.header_from(other, kind);
    }
    header
}

/// Corrects the check of a message.
pub(crate) fn repair(payload: &mut [u8]) {
    if payload.len() >= HEADER + 5 {
        let end = payload.len() - 4;
        let check = crc32fast::hash(&payload[..end]);
        payload[end..].copy_from_slice(&check.to_le_bytes());
    }
}
