//! Asking a client to prove that it owns its address, before any work is done for it.

use super::{HEADER, Kind, Tag, VERSION, header};
use serde::{Deserialize, Serialize};

/// The length of a cookie, in bytes.
pub const COOKIE: usize = 20;

/// Number of bytes that the envelope of a returned cookie adds to an offer.
pub(crate) const ENVELOPE: usize = HEADER + 1 + COOKIE;

/// The server's request to repeat the offer with this cookie; the server has remembered nothing of the offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The connection id of the offer.
    pub id: u64,
    /// The cookie to send along with the offer. Only the server can read it.
    pub cookie: [u8; COOKIE],
}

/// Encodes an offer with the cookie that the server asked for: header, version, cookie, and the offer as it
/// was.
///
/// The envelope has no check of its own: the offer has a check, and a damaged cookie is not valid.
pub fn envelop(cookie: &[u8; COOKIE], offer: &[u8]) -> Option<Vec<u8>> {
    let (Kind::Offer, tag) = header(offer)? else { return None };
    let mut bytes = tag.header(Kind::Returned).to_vec();
    bytes.push(VERSION);
    bytes.extend(cookie);
    bytes.extend(offer);
    Some(bytes)
}

/// Returns the offer in the envelope of a message with this tag, and its cookie.
pub(super) fn opened(message: &[u8], tag: Tag) -> Option<(&[u8], &[u8; COOKIE])> {
    let (&version, rest) = message.get(HEADER..)?.split_first()?;
    let (cookie, offer) = rest.split_first_chunk()?;
    let is_offer = header(offer) == Some((Kind::Offer, tag));
    (version == VERSION && is_offer).then_some((offer, cookie))
}
