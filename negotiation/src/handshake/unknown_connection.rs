//! Messages of a connection that the server does not know, and messages of the kind *reset*, which have two
//! meanings.
//!
//! * The **reply to an unknown connection** is the server's reply to a client that takes itself for connected
//!   and is not, since the server restarted or gave the connection up. It is a reset, an are-you-there or a
//!   *close-seen*.
//! * An **are-you-there** is a *reset* without a proof between ends with credentials. It ends nothing: the
//!   client replies with a keep-alive, which names the nonce of the answer.
//! * A **reset** ends the connection. With credentials it has a token, which the server computes from that
//!   nonce. Without credentials it has no proof.
//!
//! No reply is longer than its message, since the address may belong to another host.

use crate::wire::{self, Kind};
use crate::{Credentials, Session};
use bertha_core::Role;

/// A message of the kind *reset*, by its meaning to the client that receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResetMeaning {
    /// The server asks if the client is there.
    AreYouThere,
    /// The server ends the connection.
    Reset,
}

impl ResetMeaning {
    /// Returns the meaning of a message of the kind *reset* on this connection; `None` if the message is not
    /// genuine, or this end is the server.
    pub(crate) fn read(session: &Session, message: &[u8]) -> Option<Self> {
        if session.is_are_you_there(message) {
            return Some(Self::AreYouThere);
        }
        session.is_reset(message).then_some(Self::Reset)
    }
}

/// Returns the reply to a message of an unknown connection; `None` if the message gets no reply. `path` is
/// the addresses of both ends, as bytes.
pub(crate) fn reply_to_unknown(message: &[u8], credentials: &Credentials, path: &[u8]) -> Option<Vec<u8>> {
    let (kind, tag) = wire::header(message).filter(|_| wire::sender(message) != Some(Role::Server))?;
    let bare = |kind| wire::encode_from(Role::Server, kind, tag, &()).ok();
    let reply = match kind {
        // Without credentials the server gives no reply, which the client could not believe, and would answer
        // for ever.
        Kind::KeepAlive if wire::is_proven(message) => credentials.reset(tag, message, path)?,
        // With credentials an are-you-there, without credentials a reset.
        Kind::Data | Kind::KeepAlive => bare(Kind::Reset)?,
        Kind::Confirm | Kind::Close if credentials.is_some() => bare(Kind::Reset)?,
        Kind::Close => bare(Kind::CloseSeen)?,
        _ => return None,
    };
    (reply.len() <= message.len()).then_some(reply)
}

/// Returns the are-you-there for a message of a client that may be a candidate for the connection, which the
/// server has forgotten. It never is a reset that the client has to believe, so without credentials, and for
/// a keep-alive, there is none.
pub(crate) fn are_you_there(message: &[u8], credentials: &Credentials) -> Option<Vec<u8>> {
    let (kind, _) = wire::header(message)?;
    let may_ask = credentials.is_some() && kind != Kind::KeepAlive;
    may_ask.then(|| reply_to_unknown(message, credentials, &[]))?
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::SharedKey;
    use crate::wire::Tag;

    const TAG: u64 = 0x0123_4567_89ab_cdef;

    fn credentials() -> Credentials {
        Credentials::shared(SharedKey::new([7; 32]))
    }

    fn bare(kind: Kind) -> Vec<u8> {
        wire::encode_from(Role::Client, kind, Tag::of(TAG), &()).unwrap()
    }

    fn kind_of(reply: Option<Vec<u8>>) -> Option<Kind> {
        wire::header(&reply?).map(|(kind, _)| kind)
    }

    #[test]
    fn a_close_of_an_unknown_connection_is_seen_or_asked_about() {
        let close = bare(Kind::Close);
        assert_eq!(kind_of(reply_to_unknown(&close, &Credentials::default(), b"")), Some(Kind::CloseSeen));
        assert_eq!(kind_of(reply_to_unknown(&close, &credentials(), b"")), Some(Kind::Reset));
    }

    #[test]
    fn no_reply_is_longer_than_its_message() {
        let header = Tag::of(TAG).header(Kind::Data);
        let replies = |data: usize| {
            let message = [&header[..], &vec![0; data]].concat();
            [Credentials::default(), credentials()]
                .map(|credentials| reply_to_unknown(&message, &credentials, b"").is_some())
        };
        assert_eq!([replies(4), replies(5)], [[false; 2], [true; 2]]);
    }

    #[test]
    fn a_client_that_may_be_a_candidate_gets_no_reset() {
        assert_eq!(are_you_there(&bare(Kind::Close), &Credentials::default()), None);
        assert_eq!(are_you_there(&bare(Kind::KeepAlive), &credentials()), None);
        assert_eq!(kind_of(are_you_there(&bare(Kind::Close), &credentials())), Some(Kind::Reset));
    }

    #[test]
    fn replies_get_no_reply_and_a_confirmation_gets_one_with_credentials_alone() {
        for kind in [Kind::Close, Kind::KeepAlive, Kind::Confirm] {
            let of_server = wire::encode_from(Role::Server, kind, Tag::of(TAG), &()).unwrap();
            assert_eq!(reply_to_unknown(&of_server, &credentials(), b""), None);
        }
        let confirm = bare(Kind::Confirm);
        assert_eq!(reply_to_unknown(&confirm, &Credentials::default(), b""), None);
        assert_eq!(kind_of(reply_to_unknown(&confirm, &credentials(), b"")), Some(Kind::Reset));
        assert_eq!(reply_to_unknown(&bare(Kind::CloseSeen), &credentials(), b""), None);
        for credentials in [Credentials::default(), credentials()] {
            let alive = bare(Kind::KeepAlive);
            assert_eq!(kind_of(reply_to_unknown(&alive, &credentials, b"")), Some(Kind::Reset));
        }
    }
}
