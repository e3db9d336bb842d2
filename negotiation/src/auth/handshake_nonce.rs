//! The random values that a server chooses anew for each handshake.

use super::schedule::MacKey;
use parking_lot::Mutex;
use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// Time without an offer after which later offers can't be repetitions of forgotten offers. Half of the
/// tolerance for the age of a ticket.
const QUIET: Duration = Duration::from_secs(5);

/// The random bits for one answer.
#[derive(Clone)]
pub struct HandshakeNonce {
    pub(crate) number: u64,
    /// The time that the answer names, if it is not the present time.
    pub(crate) time: Option<Instant>,
    pub(super) nonce: [u8; 16],
    pub(super) secret: Zeroizing<[u8; 32]>,
}

impl HandshakeNonce {
    /// Draws the values. The bits have to be unpredictable.
    pub fn draw(random: impl FnMut() -> u64) -> Self {
        Self::derive(&seed(random), &[])
    }

    /// Derives the values that belong to `context`: equal each time, and as unpredictable as `key`.
    pub(crate) fn derive(key: &MacKey, context: &[u8]) -> Self {
        let numbers = key.derive("numbers", context);
        let (number, nonce) = numbers.bytes().split_at(8);
        let (mut fresh, mut bytes) =
            (Self { number: 0, time: None, nonce: [0; 16], secret: Zeroizing::default() }, [0; 8]);
        bytes.copy_from_slice(number);
        fresh.number = u64::from_le_bytes(bytes);
        fresh.nonce.copy_from_slice(&nonce[..16]);
        fresh.secret.copy_from_slice(key.derive("ephemeral", context).bytes());
        fresh
    }
}

impl fmt::Debug for HandshakeNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandshakeNonce(..)")
    }
}

/// The random values for offers on one base connection: as long as this value is kept, equal offers get equal
/// random values. So a client whose offer is read again, since the server had to forget it, gets the same
/// answer again.
///
/// It must not outlast the wait for these clients: an observer that recorded an offer and its confirmation
/// could repeat both.
#[derive(Debug, Default)]
pub(crate) struct NonceByOffer {
    key: OnceLock<MacKey>,
    run: Mutex<Option<Run>>,
}

/// A run of offers that follow each other closely. Answers to them name the beginning of the run as the time:
/// an answer that names the present time would differ when its offer is read again. A client that goes on
/// making offers makes tickets look older than they are, which costs their holders a round trip.
#[derive(Debug, Clone, Copy)]
struct Run {
    beginning: Instant,
    last: Instant,
}

impl NonceByOffer {
    /// Returns the values for the offer with this hash, which arrived now. The bits have to be unpredictable.
    pub(crate) fn of(&self, offer: &[u8; 32], now: Instant, random: impl FnMut() -> u64) -> HandshakeNonce {
        let fresh = HandshakeNonce::derive(self.key.get_or_init(|| seed(random)), offer);
        HandshakeNonce { time: Some(self.time(now)), ..fresh }
    }

    fn time(&self, now: Instant) -> Instant {
        let mut run = self.run.lock();
        let under_way = run.filter(|run| now.saturating_duration_since(run.last) < QUIET);
        let beginning = under_way.map_or(now, |run| run.beginning);
        *run = Some(Run { beginning, last: now });
        beginning
    }
}

/// Makes a key from 256 random bits.
pub(crate) fn seed(mut random: impl FnMut() -> u64) -> MacKey {
    let mut bytes = Zeroizing::new([0; 32]);
    bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&random().to_le_bytes()));
    MacKey::new(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_an_offer_that_comes_again_is_the_same() {
        let (fresh, start) = (NonceByOffer::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let first = fresh.of(&[1; 32], at(0), || 5);
        for seconds in [0, 4, 8, 12] {
            let other = fresh.of(&[2; 32], at(seconds), || 6);
            let again = fresh.of(&[1; 32], at(seconds), || 6);
            assert_eq!((again.number, again.nonce, again.time), (first.number, first.nonce, Some(at(0))));
            assert!(other.number != first.number && other.time == Some(at(0)));
        }
        assert_eq!(fresh.of(&[1; 32], at(17), || 7).time, Some(at(17)), "after a while without any");
    }
}
