//! Cookies, which prove that a client receives messages at its address, and take no memory on the server.

use crate::auth::{MAC, MacKey, hash};
use crate::wire::COOKIE;
use std::time::{Duration, Instant};

/// Time for which a secret makes new cookies.
const EPOCH: Duration = Duration::from_secs(60);

/// Time for which a cookie is valid: a network round trip and a few repetitions.
const LIFETIME: Duration = Duration::from_secs(10);

/// A server's cookies: the time in four bytes, and a MAC over the time, the address, and the offer with its
/// id (RFC 9147 section 5.1).
///
/// The secret rotates: the secret of each minute is derived from a secret that never leaves the process.
#[derive(Debug)]
pub(crate) struct Cookies {
    secret: MacKey,
    start: Instant,
}

impl Cookies {
    /// Cookies under a secret of 32 random bytes, for a server that starts at `start`.
    pub(crate) fn new(secret: [u8; 32], start: Instant) -> Self {
        Self { secret: MacKey::new(secret), start }
    }

    /// The cookie for an offer from `peer`.
    pub(crate) fn issue(&self, now: Instant, peer: &[u8], offer: &[u8]) -> [u8; COOKIE] {
        let mut cookie = [0; COOKIE];
        let (made, mac) = cookie.split_at_mut(COOKIE - MAC);
        made.copy_from_slice(&self.seconds(now).to_le_bytes());
        mac.copy_from_slice(&self.key(self.seconds(now)).tag(&[made, &bound(peer, offer)]));
        cookie
    }

    /// Returns true if the offer of the peer was answered with this cookie a short while ago.
    pub(crate) fn is_valid(&self, now: Instant, peer: &[u8], offer: &[u8], cookie: &[u8; COOKIE]) -> bool {
        let Some((made, mac)) = cookie.split_first_chunk::<{ COOKIE - MAC }>() else { return false };
        let Ok(mac) = mac.try_into() else { return false };
        let seconds = u32::from_le_bytes(*made);
        let is_young = self
            .seconds(now)
            .checked_sub(seconds)
            .is_some_and(|age| Duration::from_secs(age.into()) <= LIFETIME);
        is_young && self.key(seconds).is_tag(&[made, &bound(peer, offer)], mac)
    }

    fn seconds(&self, now: Instant) -> u32 {
        u32::try_from(now.saturating_duration_since(self.start).as_secs()).unwrap_or(u32::MAX)
    }

    fn key(&self, seconds: u32) -> MacKey {
        let epoch = u64::from(seconds) / EPOCH.as_secs();
        self.secret.derive("cookie", &epoch.to_le_bytes())
    }
}

fn bound(peer: &[u8], offer: &[u8]) -> [u8; 32] {
    hash("bertha 3 cookie", &[peer, offer])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_good_for_one_address_one_offer_and_a_short_while() {
        let start = Instant::now();
        let (cookies, later) = (Cookies::new([7; 32], start), start + Duration::from_secs(55));
        let cookie = cookies.issue(later, b"peer", b"offer");
        let is_valid = |after, peer: &[u8], offer: &[u8]| {
            cookies.is_valid(later + Duration::from_secs(after), peer, offer, &cookie)
        };
        // Ten seconds later the secret is another one for new cookies, not for this one.
        assert!(is_valid(0, b"peer", b"offer") && is_valid(10, b"peer", b"offer"));
        assert!(!is_valid(11, b"peer", b"offer"));
        assert!(!is_valid(0, b"peep", b"offer") && !is_valid(0, b"peer", b"order"));
        assert!(!is_valid(0, b"peero", b"ffer"), "lengths count");
        assert!(!cookies.is_valid(start, b"peer", b"offer", &cookie), "from the future");
        assert!(!Cookies::new([8; 32], start).is_valid(later, b"peer", b"offer", &cookie));
        for bit in 0..COOKIE * 8 {
            let mut other = cookie;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!cookies.is_valid(later, b"peer", b"offer", &other), "bit {bit}");
        }
    }

    #[test]
    fn secrets_rotate() {
        let cookies = Cookies::new([7; 32], Instant::now());
        assert_eq!(cookies.key(0).tag(&[]), cookies.key(59).tag(&[]));
        assert_ne!(cookies.key(59).tag(&[]), cookies.key(60).tag(&[]));
    }
}
