//! The ids of a server's connections (RFC 9000, section 5.1), and the tokens of their resets (section 10.3).
//!
//! Both come from the server's private key and its address, so that a server that has restarted recognises the ids of its
//! earlier life, and a server at another address that has the same identity does not reset connections that are alive here.

use super::live::{ID, Id, Live};
use super::socket::TakesPaths;
use bertha_core::Addr;
use quinn::{ConnectionId, ConnectionIdGenerator};
use quinn_proto::InvalidCid;
use ring::error::Unspecified;
use ring::hkdf::Prk;
use ring::hmac::{self, HMAC_SHA256};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Length of the random part of an id. The remaining bytes tell the server's own ids from others.
const RANDOM: usize = 6;

/// Length of the token of a reset.
const TOKEN: usize = 16;

/// Minimum length of a reset.
const SMALLEST_RESET: usize = 21;

/// Length beyond which a reset gets no longer: as the shortest packets of a peer.
const USUAL_RESET: usize = 41;

/// The keys of a server at an address.
pub(super) struct IdKeys {
    ids: hmac::Key,
    /// The key of the tokens.
    pub(super) resets: hmac::Key,
}

impl IdKeys {
    /// Derives the keys from the secret of an identity.
    ///
    /// # Errors
    /// None: HKDF (RFC 5869) gives keys of this length.
    pub(super) fn new(secret: &Prk, local: &Addr) -> Result<Self, Unspecified> {
        let local = local.to_string();
        let key = |label: &[u8]| secret.expand(&[label, local.as_bytes()], HMAC_SHA256).map(hmac::Key::from);
        Ok(Self { ids: key(b"bertha quic ids ")?, resets: key(b"bertha quic resets ")? })
    }

    fn id(&self, random: u64) -> Id {
        let mut id = random.to_le_bytes();
        let (random, check) = id.split_at_mut(RANDOM);
        check.copy_from_slice(&hmac::sign(&self.ids, random).as_ref()[..ID - RANDOM]);
        id
    }

    fn made(&self, id: &Id) -> bool {
        let (random, check) = id.split_at(RANDOM);
        hmac::sign(&self.ids, random).as_ref()[..ID - RANDOM] == *check
    }

    /// Returns the reset in reply to a packet, unless its id is none of this server's, or the packet is too short.
    pub(super) fn reset(&self, packet: &[u8], id: &Id) -> Option<Vec<u8>> {
        let len = packet.len().checked_sub(1).filter(|len| *len >= SMALLEST_RESET)?.min(USUAL_RESET);
        if !self.made(id) {
            return None;
        }
        let token = hmac::sign(&self.resets, id);
        // What stands before the token has to look like random bytes, behind the bits of a short header.
        let cover = hmac::sign(&self.ids, packet);
        let mut reset: Vec<u8> = cover.as_ref().iter().copied().take(len - TOKEN).collect();
        reset[0] = 0x40 | reset[0] >> 2;
        reset.extend_from_slice(&token.as_ref()[..TOKEN]);
        Some(reset)
    }
}

/// Returns the id in a packet with a short header, as all packets behind the handshake have it.
pub(super) fn id_in(packet: &[u8]) -> Option<Id> {
    let (first, rest) = packet.split_first()?;
    let is_short = first & 0x80 == 0;
    rest.first_chunk().copied().filter(|_| is_short)
}

/// Makes the ids of a connection.
pub(super) struct Ids<Random> {
    keys: Arc<IdKeys>,
    random: Random,
    live: Arc<Live>,
    socket: Weak<dyn TakesPaths>,
    made: Vec<Id>,
}

impl<Random> Ids<Random> {
    pub(super) fn new(
        keys: Arc<IdKeys>,
        random: Random,
        live: Arc<Live>,
        socket: Weak<dyn TakesPaths>,
    ) -> Self {
        Self { keys, random, live, socket, made: Vec::new() }
    }
}

impl<Random: FnMut() -> u64 + Send + Sync> ConnectionIdGenerator for Ids<Random> {
    fn generate_cid(&mut self) -> ConnectionId {
        let id = self.keys.id((self.random)());
        self.live.insert(id, self.socket.clone());
        self.made.push(id);
        ConnectionId::new(&id)
    }

    /// Returns an error for each id that `quinn` does not know: an endpoint has a single connection, and a reset for an id of
    /// another connection would end that connection.
    fn validate(&self, _: &ConnectionId) -> Result<(), InvalidCid> {
        Err(InvalidCid)
    }

    fn cid_len(&self) -> usize {
        ID
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

impl<Random> Drop for Ids<Random> {
    fn drop(&mut self) {
        self.live.remove(&self.made);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::hkdf::{HKDF_SHA256, Salt};

    fn keys(secret: &[u8], local: &str) -> IdKeys {
        IdKeys::new(&Salt::new(HKDF_SHA256, b"").extract(secret), &local.parse().unwrap()).unwrap()
    }

    fn packet(id: &Id, len: usize) -> Vec<u8> {
        let mut packet = [&[0x41], &id[..]].concat();
        packet.resize(len, 7);
        packet
    }

    #[test]
    fn a_reset_is_shorter_than_its_packet_and_ends_with_the_token() {
        let keys = keys(b"secret", "10.0.0.1:7");
        let id = keys.id(0x0123_4567_89ab_cdef);
        let mut token = [0; 32];
        token.copy_from_slice(hmac::sign(&keys.resets, &id).as_ref());
        for len in 0..1_400 {
            let packet = packet(&id, len.max(9));
            match keys.reset(&packet, &id_in(&packet).unwrap()) {
                None => assert!(packet.len() <= SMALLEST_RESET),
                Some(reset) => {
                    assert!((SMALLEST_RESET..packet.len()).contains(&reset.len()));
                    assert!(reset.len() <= USUAL_RESET && reset[0] & 0xc0 == 0x40);
                    assert!(reset.ends_with(&token[..TOKEN]));
                }
            }
        }
    }

    #[test]
    fn a_server_knows_the_ids_of_its_own_key_and_address() {
        let made = keys(b"secret", "10.0.0.1:7").id(5);
        let knows = |secret: &[u8], local| keys(secret, local).reset(&packet(&made, 100), &made).is_some();
        assert!(knows(b"secret", "10.0.0.1:7"));
        assert!(!knows(b"another", "10.0.0.1:7") && !knows(b"secret", "10.0.0.2:7"));
    }

    #[test]
    fn packets_of_a_handshake_have_no_id_of_a_server() {
        assert_eq!(id_in(&packet(&[3; ID], 50)), Some([3; ID]));
        assert_eq!(id_in(&[0xc1; 50]), None);
        assert_eq!(id_in(&[0x41; ID]), None);
        assert_eq!(id_in(&[]), None);
    }
}
