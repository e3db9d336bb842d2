//! The proof of messages that go with an offer, and the digest of the answer that their sender expects.

use super::schedule::{MacKey, hash};
use crate::wire::{
    CLAIM, Early, HEADER, Kind, LARGEST, MAC, PROVEN, PresentedTicket, USUAL, VERSION, behind_offer, checked,
    header, offer_in, unchecked,
};
use bertha_core::DifferingCapability;

/// Computes a digest of the answer that a client expects: over the picks of both ends, the idle time-out, and
/// the server's capabilities that differ, if any.
///
/// The digest is no secret and proves nothing. A server compares it with its decision.
pub fn claim(
    client_picks: &[u8],
    server_picks: &[u8],
    idle_ms: u32,
    capabilities: &[DifferingCapability],
) -> [u8; CLAIM] {
    let idle_ms = idle_ms.to_le_bytes();
    let mut parts = vec![client_picks, server_picks, &idle_ms];
    // The encoding fails for no list of bytes; and a claim that differs from the server's costs a round trip.
    let differing = postcard::to_allocvec(capabilities).unwrap_or_default();
    if !capabilities.is_empty() {
        parts.push(&differing);
    }
    let whole = hash("bertha 3 claim", &parts);
    let mut claim = [0; CLAIM];
    claim.copy_from_slice(&whole[..CLAIM]);
    claim
}

/// Writes the first flight: `offer`, or an offer with a cookie, a claim, a ticket, and messages in order.
/// `None` if `offer` is no offer, or a part is too long.
pub(crate) fn with_early<'m>(
    offer: &[u8],
    claim: &[u8; CLAIM],
    presented: PresentedTicket,
    messages: impl Iterator<Item = &'m [u8]>,
    key: Option<&MacKey>,
) -> Option<Vec<u8>> {
    let (Kind::Offer | Kind::Returned, tag) = header(offer)? else { return None };
    let mut bytes = Vec::with_capacity(USUAL.max(offer.len() + USUAL / 2));
    bytes.extend(tag.header(Kind::Early));
    bytes.push(if key.is_some() { VERSION | PROVEN } else { VERSION });
    bytes.extend(u16::try_from(offer.len()).ok()?.to_le_bytes());
    bytes.extend(offer);
    bytes.extend(claim);
    bytes.extend(presented.to_bytes());
    for message in messages {
        bytes.extend(u16::try_from(message.len()).ok()?.to_le_bytes());
        bytes.extend(message);
    }
    if let Some(key) = key {
        let mac = key.tag(&[&bytes]);
        bytes.extend(mac);
    }
    let whole = checked(bytes);
    (whole.len() <= LARGEST).then_some(whole)
}

/// Reads the first flight. With a key it has to have a MAC under that key, and without a key it must have
/// none.
///
/// `None` if a part was damaged, doesn't follow the format, or lacks its proof.
pub(crate) fn early_in<'m>(message: &'m [u8], key: Option<&MacKey>) -> Option<Early<'m>> {
    if header(message)?.0 != Kind::Early || offer_in(message).is_none() {
        return None;
    }
    let mut whole = unchecked(message).ok()?;
    if (whole.get(HEADER)? & PROVEN != 0) != key.is_some() {
        return None;
    }
    if let Some(key) = key {
        let (sealed, mac) = whole.split_last_chunk::<MAC>()?;
        if !key.is_tag(&[sealed], mac) {
            return None;
        }
        whole = sealed;
    }
    let (_, rest) = behind_offer(whole)?;
    let (claim, rest) = rest.split_first_chunk()?;
    let (presented, mut rest) = PresentedTicket::split_from(rest)?;
    let mut messages = Vec::new();
    while !rest.is_empty() {
        let (len, behind) = rest.split_first_chunk()?;
        let (message, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        messages.push(message);
        rest = behind;
    }
    Some(Early { claim, presented, messages })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{ENVELOPE, Offer, TICKET, Tag, early_capacity, early_cost, encode, envelop};
    use proptest::prelude::*;

    const PRESENTED: PresentedTicket = PresentedTicket { ticket: [5; TICKET], age_ms: 7 };

    fn offer() -> Vec<u8> {
        encode(Kind::Offer, Tag::of(7), &Offer::new(7, &[]).unwrap()).unwrap()
    }

    fn whole(offer: &[u8], messages: &[Vec<u8>], key: Option<&MacKey>) -> Vec<u8> {
        with_early(offer, &[3; CLAIM], PRESENTED, messages.iter().map(|it| &it[..]), key).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..20),
            is_sealed: bool,
            has_cookie: bool,
        ) {
            let key = is_sealed.then(|| MacKey::new([1; 32]));
            let inner = if has_cookie { envelop(&[9; 20], &offer()).unwrap() } else { offer() };
            let message = whole(&inner, &messages, key.as_ref());
            let cost: usize = messages.iter().map(|it| early_cost(it)).sum();
            let cookie = if has_cookie { 0 } else { ENVELOPE };
            prop_assert_eq!(early_capacity(offer().len(), message.len() + cookie, is_sealed), cost);
            prop_assert_eq!(offer_in(&message), offer_in(&inner));
            let read = early_in(&message, key.as_ref()).unwrap();
            prop_assert_eq!((read.claim, read.presented), (&[3; CLAIM], PRESENTED));
            prop_assert_eq!(read.messages, messages.iter().map(|it| &it[..]).collect::<Vec<_>>());
        }

        #[test]
        fn whatever_is_damaged_is_not_read(bit in 0..400usize, is_sealed: bool) {
            let key = is_sealed.then(|| MacKey::new([1; 32]));
            let mut message = whole(&offer(), &[b"early".to_vec()], key.as_ref());
            let bit = bit % (message.len() * 8);
            message[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(early_in(&message, key.as_ref()), None);
        }
    }

    #[test]
    fn a_part_that_somebody_else_has_sealed_is_not_read() {
        let (ours, theirs) = (MacKey::new([1; 32]), MacKey::new([2; 32]));
        let message = whole(&offer(), &[b"early".to_vec()], Some(&ours));
        assert!(early_in(&message, Some(&ours)).is_some());
        assert_eq!((early_in(&message, Some(&theirs)), early_in(&message, None)), (None, None));
        let open = whole(&offer(), &[b"early".to_vec()], None);
        assert_eq!(early_in(&open, Some(&ours)), None);
    }

    #[test]
    fn an_offer_within_a_first_flight_is_no_first_flight() {
        let message = whole(&offer(), &[], None);
        assert!(with_early(&message, &[0; CLAIM], PRESENTED, std::iter::empty(), None).is_none());
    }
}
