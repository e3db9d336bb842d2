//! Asking a client to show that its address is its own, before anything is done for it.

use super::{HEADER, Kind, Tag, VERSION, header};
use serde::{Deserialize, Serialize};

/// The length of a cookie, in bytes.
pub const COOKIE: usize = 20;

/// The number of bytes that the envelope of a returned cookie adds to an offer.
pub const ENVELOPE: usize = HEADER + 1 + COOKIE;

/// The server asks for the offer once more, with this cookie; it has remembered nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The connection id of the offer.
    pub id: u64,
    /// The cookie to send along with it. Only the server can read it.
    pub cookie: [u8; COOKIE],
}

/// An offer with the cookie that the server asked for: header, version, cookie, and the offer as it was.
///
/// The envelope has no check of its own. The offer has one, and a cookie that was damaged is none.
pub fn envelop(cookie: &[u8; COOKIE], offer: &[u8]) -> Option<Vec<u8>> {
    let (Kind::Offer, tag) = header(offer)? else { return None };
    let mut bytes = tag.header(Kind::Returned).to_vec();
    bytes.push(VERSION);
    bytes.extend(cookie);
    bytes.extend(offer);
    Some(bytes)
}

/// The offer in the envelope of a message with this tag, and its cookie.
pub(super) fn opened(message: &[u8], tag: Tag) -> Option<(&[u8], &[u8; COOKIE])> {
    let (&version, rest) = message.get(HEADER..)?.split_first()?;
    let (cookie, offer) = rest.split_first_chunk()?;
    let is_offer = header(offer) == Some((Kind::Offer, tag));
    (version == VERSION && is_offer).then_some((offer, cookie))
}
