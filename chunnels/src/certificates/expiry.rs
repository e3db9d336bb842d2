//! The warning that a certificate of this end expires soon.

use super::certificate::Certificate;
use super::date::Date;
use super::validity::Validity;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use rustls::pki_types::{CertificateDer, UnixTime};
use std::time::Duration;

/// The target of the events for `tracing`.
pub(super) const TARGET: &str = "bertha::certificates";

/// Maximum time before the end of a certificate from which on the end is near.
const NEAR: Duration = Duration::from_secs(14 * 86_400);

/// The part of a certificate's whole time that is near its end, as a divisor: certificates that live for days are
/// renewed every day, and are no reason for a warning.
const PART: u32 = 5;

/// Maximum number of certificates that are remembered as told. Beyond it all are forgotten, and told again.
const MOST: usize = 64;

/// The certificates of this end that this process has told.
static TOLD: Told = Told::new();

/// The fingerprints of certificates that were told.
pub(super) struct Told(Mutex<Vec<[u8; 32]>>);

impl Told {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    pub(super) fn contains(&self, certificate: &CertificateDer<'_>) -> bool {
        self.0.lock().contains(&fingerprint(certificate))
    }

    /// Adds a certificate. Returns false if it was told before.
    pub(super) fn add(&self, certificate: &CertificateDer<'_>) -> bool {
        let fingerprint = fingerprint(certificate);
        let mut told = self.0.lock();
        if told.contains(&fingerprint) {
            return false;
        }
        if told.len() >= MOST {
            told.clear();
        }
        told.push(fingerprint);
        true
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> [u8; 32] {
    let mut fingerprint = [0; 32];
    fingerprint.copy_from_slice(digest(&SHA256, certificate).as_ref());
    fingerprint
}

/// The end of the time in which a chain is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expiry {
    /// Time from which on the end is near, since 1970.
    near: Duration,
    end: Duration,
}

impl Expiry {
    /// Returns the expiry of a chain; `None` for a raw key, or if the time of a certificate can't be read.
    pub(super) fn of(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let [from, end] = Validity::of_all(chain)?.since_epoch()?;
        let whole = end.saturating_sub(from);
        Some(Self { near: end.saturating_sub(NEAR.min(whole / PART)), end })
    }

    /// Returns true if the end is near or over.
    pub(super) fn is_near(&self, now: UnixTime) -> bool {
        now.as_secs() >= self.near.as_secs()
    }

    /// Returns the end, which shows as a date.
    pub(super) fn end(&self) -> Date {
        Date(UnixTime::since_unix_epoch(self.end))
    }

    /// Warns if the end is near or over, once per certificate and process.
    pub(super) fn warn(&self, chain: &[CertificateDer<'_>], now: UnixTime) {
        if self.is_near(now) {
            self.warn_once(chain);
        }
    }

    #[cold]
    fn warn_once(&self, chain: &[CertificateDer<'_>]) {
        let Some(first) = chain.first() else { return };
        if !TOLD.add(first) {
            return;
        }
        tracing::warn!(
            target: TARGET,
            certificate = Certificate::parse(first).map(tracing::field::display),
            end = %self.end(),
            "this end's certificate, or a certificate behind it, expires soon or has expired: renew it, and call TlsIdentity::reload"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    const DAY: u64 = 86_400;
    /// The first of January 2030.
    const END: u64 = 1_893_456_000;

    fn expiry(from: (i32, u8, u8)) -> Expiry {
        let mut params = CertificateParams::new(["a".to_owned()]).unwrap();
        params.not_before = date_time_ymd(from.0, from.1, from.2);
        params.not_after = date_time_ymd(2030, 1, 1);
        let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        Expiry::of(std::slice::from_ref(made.der())).unwrap()
    }

    #[test]
    fn the_end_is_near_for_two_weeks_or_for_the_last_fifth_of_a_short_life() {
        let near = |from| expiry(from).near.as_secs();
        assert_eq!(near((2029, 1, 1)), END - 14 * DAY);
        assert_eq!(near((2029, 12, 22)), END - 2 * DAY);
        assert_eq!(expiry((2029, 1, 1)).end.as_secs(), END);
        assert_eq!(Expiry::of(&[]), None);
    }
}
