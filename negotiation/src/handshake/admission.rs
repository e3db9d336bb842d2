//! The checks that an offer has to pass before the server does any work for it.

use super::amplification::AmplificationLimit;
use super::cookie::Cookies;
use super::rate_limiter::RateLimiter;
use crate::Settings;
use crate::auth::seed;
use crate::wire::{self, Kind, Retry, Tag, offer_in};
use bertha_core::Addr;
use bertha_core::token_bucket::{Rate, TokenBucket};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The gate for offers, which asks for proofs of address and limits rates. Its memory does not grow with the
/// offers.
#[derive(Debug)]
pub struct AdmissionControl {
    cookies: Cookies,
    /// The rates of clients that have proved their addresses. Clients at unvalidated addresses can't use up
    /// these rates.
    proven: RateLimiter,
    unvalidated: RateLimiter,
    max_unvalidated: usize,
    /// The signatures that are made and verified for unvalidated addresses; `None` without identities.
    signatures: Option<TokenBucket>,
    rate: Rate,
    start: Instant,
}

/// The tokens of a signature, so that fractions of it count.
const SIGNATURE: u64 = 1000;

/// Maximum time for which an unvalidated address waits for a signature once a flood is over.
const MOST_DEBT: Duration = Duration::from_secs(1);

/// The decision about an offer.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    /// The message exceeds a rate, or is no offer: drop it.
    Drop,
    /// Send this message, and forget the offer.
    Retry(Vec<u8>),
    /// Decide the offer. The limit applies to the reply.
    Admit(AmplificationLimit),
}

impl AdmissionControl {
    /// Makes the gate of a server that starts now. `random` gives unpredictable bits.
    pub fn new(settings: &Settings, mut random: impl FnMut() -> u64, now: Instant) -> Self {
        let secret = seed(&mut random);
        let limiter = |label| RateLimiter::new(secret.derive(label, &[]), now, settings.offers_per_second);
        Self {
            cookies: Cookies::new(*secret.derive("cookies", &[]).bytes(), now),
            proven: limiter("proven"),
            unvalidated: limiter("unvalidated"),
            max_unvalidated: settings.unvalidated_clients,
            signatures: settings
                .credentials
                .uses_identities()
                .then(|| TokenBucket::new(rate(settings).burst)),
            rate: rate(settings),
            start: now,
        }
    }

    /// Returns the treatment of `message` from `peer`. `is_certain` is true if the address can't be forged,
    /// and `unvalidated` is the number of clients at unvalidated addresses that the server serves.
    pub fn admit(
        &mut self,
        now: Instant,
        peer: &Addr,
        message: &[u8],
        is_certain: bool,
        unvalidated: usize,
    ) -> Admission {
        let Some((offer, cookie)) = offer_in(message) else { return Admission::Drop };
        let is_valid = |cookie| self.cookies.is_valid(now, &name(peer), offer, cookie);
        if is_certain || cookie.is_some_and(is_valid) {
            let admits = self.proven.admits(now, peer);
            return if admits { Admission::Admit(AmplificationLimit::UNLIMITED) } else { Admission::Drop };
        }
        let amplification_limit = AmplificationLimit::of(message.len());
        // First, since it counts them all.
        let signs = self.signs(now);
        if signs && unvalidated < self.max_unvalidated && self.unvalidated.admits(now, peer) {
            return Admission::Admit(amplification_limit);
        }
        // An offer of another version, say, whose sender wants to be told. That takes no work.
        if wire::offer_id(offer).is_none() {
            return Admission::Admit(amplification_limit);
        }
        self.retry(now, peer, message)
    }

    /// Returns true if an offer from an unvalidated address may cost signatures. Rejected offers are charged
    /// too, so a flood gets no signatures until it subsides.
    fn signs(&mut self, now: Instant) -> bool {
        let Some(signatures) = &mut self.signatures else { return true };
        let elapsed = now.saturating_duration_since(self.start);
        let ready = signatures.ready_at(elapsed, self.rate);
        if ready.is_none_or(|at| at.saturating_sub(elapsed) < MOST_DEBT) {
            signatures.spend(SIGNATURE);
        }
        ready.is_none()
    }

    /// Returns the message that asks the sender of an offer for a proof of its address.
    pub fn retry(&self, now: Instant, peer: &Addr, message: &[u8]) -> Admission {
        let reply = || {
            let (offer, _) = offer_in(message)?;
            let id = wire::offer_id(offer)?;
            let cookie = self.cookies.issue(now, &name(peer), offer);
            let reply = wire::encode(Kind::Retry, Tag::of(id), &Retry { id, cookie }).ok()?;
            AmplificationLimit::of(message.len()).spend(reply.len()).then_some(reply)
        };
        reply().map_or(Admission::Drop, Admission::Retry)
    }
}

/// Returns the rate of signatures: as many in a second as there may be unvalidated clients.
fn rate(settings: &Settings) -> Rate {
    let tokens = u64::try_from(settings.unvalidated_clients).unwrap_or(u64::MAX).saturating_mul(SIGNATURE);
    Rate { per_second: tokens, burst: tokens }
}

/// Returns the addresses of both ends as bytes.
pub(crate) fn path(local: &Addr, peer: &Addr) -> Vec<u8> {
    let mut path = name(local);
    path.extend(name(peer));
    path
}

/// Returns an address as bytes, different for each address.
pub(crate) fn name(peer: &Addr) -> Vec<u8> {
    match peer {
        Addr::Ip(SocketAddr::V4(addr)) => [&addr.ip().octets()[..], &addr.port().to_be_bytes()].concat(),
        Addr::Ip(SocketAddr::V6(addr)) => {
            [&addr.ip().octets()[..], &addr.port().to_be_bytes(), &addr.scope_id().to_be_bytes()].concat()
        }
        other => other.to_string().into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{COOKIE, Offer, envelop};
    use crate::{Credentials, IdentityKey};

    fn offer(id: u64) -> Vec<u8> {
        wire::encode(Kind::Offer, Tag::of(id), &Offer::new(id, &[]).unwrap()).unwrap()
    }

    fn cookie(admission: Admission) -> [u8; COOKIE] {
        let Admission::Retry(reply) = admission else { panic!("{admission:?}") };
        wire::decode::<Retry>(&reply).unwrap().cookie
    }

    #[test]
    fn under_load_an_address_is_proven_first() {
        let (start, peer) = (Instant::now(), Addr::from(([10, 0, 0, 1], 7)));
        let settings = Settings { unvalidated_clients: 3, ..Settings::default() };
        let mut gate = AdmissionControl::new(&settings, || 9, start);
        let offer = offer(1);
        assert_eq!(
            gate.admit(start, &peer, &offer, false, 2),
            Admission::Admit(AmplificationLimit::of(offer.len()))
        );
        let cookie = cookie(gate.admit(start, &peer, &offer, false, 3));
        let returned = envelop(&cookie, &offer).unwrap();
        assert_eq!(
            gate.admit(start, &peer, &returned, false, 3),
            Admission::Admit(AmplificationLimit::UNLIMITED)
        );
        let other = Addr::from(([10, 0, 0, 2], 7));
        assert!(matches!(gate.admit(start, &other, &returned, false, 3), Admission::Retry(_)));
        assert_eq!(
            gate.admit(start, &other, &offer, true, 3),
            Admission::Admit(AmplificationLimit::UNLIMITED)
        );
        assert_eq!(gate.admit(start, &peer, b"garbage", false, 3), Admission::Drop);
    }

    /// From the moment that more come than the rate, until they have been fewer for a second or two.
    #[test]
    fn a_flood_of_unproven_addresses_gets_no_signatures() {
        let start = Instant::now();
        let mut settings = Settings { unvalidated_clients: 10, ..Settings::default() };
        settings.credentials = Credentials::default().identity(IdentityKey::from_seed([1; 32]));
        let mut gate = AdmissionControl::new(&settings, || 9, start);
        let mut admitted = |milliseconds: u64| {
            let [_, a, b, c] = (milliseconds as u32).to_be_bytes();
            let now = start + Duration::from_millis(milliseconds);
            let verdict = gate.admit(now, &([100, a, b, c], 7).into(), &offer(milliseconds), false, 0);
            matches!(verdict, Admission::Admit(_))
        };
        // Half of the rate, each of them; then 20 times the rate.
        assert!((0..5_000).step_by(200).all(&mut admitted));
        let early = (5_000..6_000).step_by(5).filter(|at| admitted(*at)).count();
        assert!((10..=12).contains(&early), "{early}");
        assert_eq!((6_000..60_000).step_by(5).filter(|at| admitted(*at)).count(), 0);
        assert!((61_500..70_000).step_by(200).all(admitted), "it is over");
    }

    #[test]
    fn who_pretends_to_have_an_address_does_not_use_up_its_owners_rate() {
        let (start, peer) = (Instant::now(), Addr::from(([10, 0, 0, 1], 7)));
        let settings = Settings { offers_per_second: 5, ..Settings::default() };
        let mut gate = AdmissionControl::new(&settings, || 9, start);
        let mut last = None;
        for id in 0..100 {
            last = Some(gate.admit(start, &peer, &offer(id), false, 0));
        }
        let returned = envelop(&cookie(last.unwrap()), &offer(99)).unwrap();
        let admitted = (0..100).filter(|_| gate.admit(start, &peer, &returned, false, 0) != Admission::Drop);
        assert_eq!(admitted.count(), 5);
    }

    #[test]
    fn a_retry_is_no_more_than_three_times_the_offer() {
        let gate = AdmissionControl::new(&Settings::default(), || 9, Instant::now());
        for id in [0, 1, u64::MAX] {
            let offer = offer(id);
            let Admission::Retry(reply) = gate.retry(Instant::now(), &Addr::Unnamed, &offer) else {
                panic!()
            };
            assert!(reply.len() <= 3 * offer.len(), "{} for {}", reply.len(), offer.len());
        }
    }
}
