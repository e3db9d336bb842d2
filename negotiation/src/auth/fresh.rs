//! The random values that a server chooses anew for each handshake.

use super::schedule::MacKey;
use std::fmt;
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// Random bits for one answer.
#[derive(Clone)]
pub struct Fresh {
    pub(crate) number: u64,
    pub(super) nonce: [u8; 16],
    pub(super) secret: Zeroizing<[u8; 32]>,
}

impl Fresh {
    /// Draws them. The bits have to be unpredictable.
    pub fn draw(random: impl FnMut() -> u64) -> Self {
        Self::derive(&seed(random), &[])
    }

    /// Those that belong to `context`: the same ones each time, and as unpredictable as `key`.
    pub(crate) fn derive(key: &MacKey, context: &[u8]) -> Self {
        let numbers = key.derive("numbers", context);
        let (number, nonce) = numbers.bytes().split_at(8);
        let (mut fresh, mut bytes) =
            (Self { number: 0, nonce: [0; 16], secret: Zeroizing::default() }, [0; 8]);
        bytes.copy_from_slice(number);
        fresh.number = u64::from_le_bytes(bytes);
        fresh.nonce.copy_from_slice(&nonce[..16]);
        fresh.secret.copy_from_slice(key.derive("ephemeral", context).bytes());
        fresh
    }
}

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fresh(..)")
    }
}

/// The fresh values for offers on one base connection: as long as this is kept, the same ones for the same offer. So a client whose offer
/// comes again, since the server had to forget it, gets the answer that it has already.
///
/// It must not outlast the wait for these clients: an observer that recorded an offer and its confirmation could repeat both.
#[derive(Debug, Default)]
pub(crate) struct FreshByOffer(OnceLock<MacKey>);

impl FreshByOffer {
    /// Those of the offer with this hash. The bits have to be unpredictable.
    pub(crate) fn of(&self, offer: &[u8; 32], random: impl FnMut() -> u64) -> Fresh {
        Fresh::derive(self.0.get_or_init(|| seed(random)), offer)
    }
}

/// 256 random bits as a key.
pub(crate) fn seed(mut random: impl FnMut() -> u64) -> MacKey {
    let mut bytes = Zeroizing::new([0; 32]);
    bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&random().to_le_bytes()));
    MacKey::new(*bytes)
}
