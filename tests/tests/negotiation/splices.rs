//! New messages made of fields of messages that were seen, of the same connection or of other connections.

use bertha_core::Role;
use bertha_negotiation::testing::wire::{self, HEADER, Kind};

/// The bytes at the end of a proven message about a connection: counter, MAC and check.
const PROOF: usize = 8 + 16 + 4;

/// The bytes of a reset token, of a nonce, and of a MAC.
const SECRET: usize = 16;

/// A message of parts of two others. `roll` gives random numbers below its argument.
pub(crate) fn splice(one: &[u8], other: &[u8], mut roll: impl FnMut(u64) -> u64) -> Vec<u8> {
    let (Some(head), Some(_)) = (one.get(..HEADER), other.get(..HEADER)) else { return one.to_vec() };
    let (mut at, len) = (|bytes: &[u8]| roll(bytes.len() as u64 + 1) as usize, 7);
    let way = at(&[0; 6]);
    let mut spliced = match way {
        // Kind and connection of one, all else of the other.
        0 => [head, &other[HEADER..]].concat(),
        // The beginning of one and the end of the other: ids, numbers, cookies and counters in other surroundings.
        1 => [&one[..at(one)], &other[at(other)..]].concat(),
        // The fields of one under the proof of the other.
        2 if one.len() > HEADER + PROOF && other.len() > HEADER + PROOF => {
            [&one[..one.len() - PROOF], &other[other.len() - PROOF..]].concat()
        }
        // Sixteen bytes of anything as the token of a reset.
        3 if other.len() >= SECRET => {
            let from = at(&other[SECRET..]);
            reset(one, &other[from..from + SECRET])
        }
        // The same from the other end, or of another kind.
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
        // Two at once, as an answer and the data behind it are.
        _ => [one, &other[..other.len().min(len * HEADER)]].concat(),
    };
    repair(&mut spliced);
    spliced
}

/// A reset of the connection of `message` that reveals this token.
fn reset(message: &[u8], token: &[u8]) -> Vec<u8> {
    let Some((_, tag)) = wire::header(message) else { return message.to_vec() };
    let mut reset = tag.header_from(Role::Server, Kind::Reset).to_vec();
    reset.push(wire::VERSION | 0x80);
    reset.extend(token);
    reset.extend([0; 4]);
    reset
}

/// The header of a message as its receiver would write it.
fn as_from_the_other(message: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header.copy_from_slice(&message[..HEADER]);
    if let (Some((kind, tag)), Some(sender)) = (wire::header(message), wire::sender(message)) {
        let other = if sender == Role::Client { Role::Server } else { Role::Client };
        header = tag.header_from(other, kind);
    }
    header
}

/// Puts the check right.
pub(crate) fn repair(payload: &mut [u8]) {
    if payload.len() >= HEADER + 5 {
        let end = payload.len() - 4;
        let check = crc32fast::hash(&payload[..end]);
        payload[end..].copy_from_slice(&check.to_le_bytes());
    }
}
