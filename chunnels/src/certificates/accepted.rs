//! Certificates that a full check has accepted.

use super::validity::Validity;
use parking_lot::Mutex;
use ring::digest::{Context, SHA256};
use rustls::pki_types::{CertificateDer, UnixTime};
use std::collections::HashMap;

/// Maximum number of chains that are remembered: the clients of a server. Beyond it all chains are forgotten,
/// and checked in full again.
const MOST: usize = 1024;

/// Chains that one verifier has accepted for one name.
///
/// A verifier never changes: other trust, another revocation list or another name makes another verifier,
/// which has accepted no chain yet. So its answer about a chain can change with time alone, and stays the
/// same as long as all certificates of the chain are valid.
#[derive(Debug, Default)]
pub(super) struct AcceptedChains {
    /// The time of validity of each chain, by the chain's fingerprint.
    chains: Mutex<HashMap<[u8; 32], Validity>>,
}

impl AcceptedChains {
    /// Returns true if a full check would accept this chain again.
    pub(super) fn are_still_accepted(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> bool {
        self.chains.lock().get(&fingerprint(chain)).is_some_and(|validity| validity.contains(now))
    }

    /// Records that a full check has accepted this chain. Raw keys, which are no certificates, are not
    /// remembered: a check compares them.
    pub(super) fn remember(&self, chain: &[CertificateDer<'_>]) {
        let Some(validity) = Validity::of_all(chain) else { return };
        let mut chains = self.chains.lock();
        if chains.len() >= MOST {
            chains.clear();
        }
        chains.insert(fingerprint(chain), validity);
    }
}

fn fingerprint(chain: &[CertificateDer<'_>]) -> [u8; 32] {
    let mut hash = Context::new(&SHA256);
    for certificate in chain {
        hash.update(&(certificate.len() as u64).to_le_bytes());
        hash.update(certificate);
    }
    let mut fingerprint = [0; 32];
    fingerprint.copy_from_slice(hash.finish().as_ref());
    fingerprint
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(names: &[&str]) -> Vec<CertificateDer<'static>> {
        let made = |name: &&str| rcgen::generate_simple_self_signed([(*name).to_owned()]).unwrap();
        names.iter().map(|name| made(name).cert.der().clone()).collect()
    }

    #[test]
    fn the_same_chain_alone_is_accepted_again() {
        let (chains, now) = (AcceptedChains::default(), UnixTime::now());
        let one = chain(&["a", "b"]);
        assert!(!chains.are_still_accepted(&one, now));
        chains.remember(&one);
        assert!(chains.are_still_accepted(&one, now));
        let turned = [one[1].clone(), one[0].clone()];
        for other in [&one[..1], &turned, &chain(&["a", "b"]), &[]] {
            assert!(!chains.are_still_accepted(other, now));
        }
        assert!(!chains.are_still_accepted(&one, UnixTime::since_unix_epoch(std::time::Duration::ZERO)));
    }

    #[test]
    fn the_memory_is_bounded() {
        let (chains, two) = (AcceptedChains::default(), chain(&["a", "b"]));
        for number in 0..2 * MOST {
            let one: Vec<_> = (0..11).map(|bit| two[number >> bit & 1].clone()).collect();
            chains.remember(&one);
            assert!(chains.are_still_accepted(&one, UnixTime::now()) && chains.chains.lock().len() <= MOST);
        }
    }
}
