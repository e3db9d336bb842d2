//! An offer with the first messages behind it.

use super::{ENVELOPE, HEADER, Kind, LARGEST, MAC, PROVEN, VERSION, header};

/// The length of a claim, in bytes.
pub const CLAIM: usize = 16;

/// The length of a ticket, in bytes.
pub const TICKET: usize = 20;

/// A ticket, and its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresentedTicket {
    /// The ticket. Only the server that has issued the ticket can read it.
    pub ticket: [u8; TICKET],
    /// The time since the client received it, by the client's clock, in milliseconds.
    pub age_ms: u32,
}

/// The length of a [`PresentedTicket`], in bytes.
const PRESENTED: usize = TICKET + 4;

impl PresentedTicket {
    /// Returns the bytes as they stand behind the claim.
    pub fn to_bytes(self) -> [u8; PRESENTED] {
        let mut bytes = [0; PRESENTED];
        let (ticket, age) = bytes.split_at_mut(TICKET);
        ticket.copy_from_slice(&self.ticket);
        age.copy_from_slice(&self.age_ms.to_le_bytes());
        bytes
    }

    /// Reads a presented ticket, and returns it with the remaining bytes.
    pub(crate) fn split_from(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (ticket, rest) = bytes.split_first_chunk()?;
        let (age, rest) = rest.split_first_chunk()?;
        Some((Self { ticket: *ticket, age_ms: u32::from_le_bytes(*age) }, rest))
    }
}

/// Minimum number of bytes that the first flight adds to an offer: header, version, the offer's length,
/// claim, ticket, check.
const REST: usize = HEADER + 1 + 2 + CLAIM + PRESENTED + 4;

/// Size of the length in front of each early message, in bytes.
const LENGTH: usize = 2;

/// Returns the number of bytes of messages, each counted by [`early_cost`], that fit behind an offer of
/// `offer` bytes into one message of a base connection that carries `mtu` bytes. Room for a cookie is left.
pub(crate) fn early_capacity(offer: usize, mtu: usize, is_sealed: bool) -> usize {
    let proof = if is_sealed { MAC } else { 0 };
    mtu.min(LARGEST).saturating_sub(offer + ENVELOPE + REST + proof)
}

/// Returns the number of bytes that a message takes in a first flight.
pub fn early_cost(message: &[u8]) -> usize {
    LENGTH + message.len()
}

/// Returns the offer in a first flight, with its cookie if it has one, as [`offer_in`](super::offer_in) finds
/// them. The rest is not checked.
pub(super) fn offer_before(message: &[u8]) -> Option<&[u8]> {
    let (_, tag) = header(message)?;
    let (offer, _) = behind_offer(message)?;
    let (Kind::Offer | Kind::Returned, of) = header(offer)? else { return None };
    (tag == of).then_some(offer)
}

/// Returns the offer and the bytes behind it, in a whole first flight or a first flight without its check.
pub(crate) fn behind_offer(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&version, rest) = message.get(HEADER..)?.split_first()?;
    let (len, rest) = rest.split_first_chunk()?;
    if version & !PROVEN != VERSION {
        return None;
    }
    rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))
}

/// The parts behind the offer in a first flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Early<'m> {
    /// The claim of the client.
    pub claim: &'m [u8; CLAIM],
    /// The ticket that the server has given to the client.
    pub presented: PresentedTicket,
    /// The messages, in order.
    pub messages: Vec<&'m [u8]>,
}
