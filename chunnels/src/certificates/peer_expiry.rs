//! The warning that a peer's certificate expires soon.

use super::description::described;
use super::expiry::{Expiry, TARGET, Told};
use bertha_core::Addr;
use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, UnixTime};
use std::time::Duration;

/// Minimum time between two warnings of the connections that share a configuration: a server may have thousands of
/// clients whose certificates end on one day.
const PAUSE: Duration = Duration::from_secs(60);

/// The peers' certificates that this process has told.
static TOLD: Told = Told::new();

/// The warnings of the connections that share a configuration.
#[derive(Debug, Default)]
pub(super) struct PeerWarnings(Mutex<Warned>);

#[derive(Debug, Default)]
struct Warned {
    /// Time of the last warning, since 1970.
    last: Option<Duration>,
    /// Handshakes since the last warning that were not told because of the pause.
    untold: u64,
}

impl PeerWarnings {
    /// Warns if the end of a chain that a peer has proven is near, once per certificate and process. A certificate that
    /// is met within the pause is told at a later handshake.
    pub(super) fn consider(&self, chain: &[CertificateDer<'_>], peer: &Addr, now: UnixTime) {
        if let Some(expiry) = Expiry::of(chain).filter(|expiry| expiry.is_near(now)) {
            self.warn(&expiry, chain, peer, now);
        }
    }

    #[cold]
    fn warn(&self, expiry: &Expiry, chain: &[CertificateDer<'_>], peer: &Addr, now: UnixTime) {
        let Some(first) = chain.first().filter(|first| !TOLD.contains(first)) else { return };
        let now = Duration::from_secs(now.as_secs());
        let untold = {
            let mut warned = self.0.lock();
            // A clock that was set back ends the pause.
            if warned.last.is_some_and(|last| now.checked_sub(last).is_some_and(|since| since < PAUSE)) {
                warned.untold += 1;
                return;
            }
            warned.last = Some(now);
            std::mem::take(&mut warned.untold)
        };
        TOLD.add(first);
        tracing::warn!(
            target: TARGET,
            %peer,
            certificate = described(first),
            end = %expiry.end(),
            untold,
            "the peer's certificate, or a certificate behind it, expires soon: connections will be refused from then on"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    /// Returns a certificate that lives for the year 2029.
    fn certificate() -> CertificateDer<'static> {
        let mut params = CertificateParams::new(["a".to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2029, 1, 1), date_time_ymd(2030, 1, 1));
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn a_warning_is_given_near_the_end_once_a_certificate_and_once_a_minute() {
        const DAY: u64 = 86_400;
        /// The first of January 2030.
        const END: u64 = 1_893_456_000;
        let (one, other) = (certificate(), certificate());
        let warnings = PeerWarnings::default();
        let peer = Addr::from(([127, 0, 0, 1], 7));
        let told = |certificate: &CertificateDer<'static>, seconds: u64| {
            let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
            warnings.consider(std::slice::from_ref(certificate), &peer, now);
            TOLD.contains(certificate)
        };
        assert!(!told(&one, END - 14 * DAY - 1) && !told(&other, END - 14 * DAY - 1));
        assert!(told(&one, END - 14 * DAY));
        assert!(told(&one, END - 14 * DAY + 1) && !told(&other, END - 14 * DAY + 59));
        assert_eq!(warnings.0.lock().untold, 1, "a certificate that was told is no news");
        assert!(told(&other, END - 14 * DAY + 60));
        assert_eq!(warnings.0.lock().untold, 0);
    }
}
