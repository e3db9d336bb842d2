//! The static key of an end.

use std::fmt;
use x25519_dalek::{PublicKey, StaticSecret};

/// A static X25519 key (RFC 7748), by which the other end knows this end. It is wiped from memory when it is
/// dropped.
#[derive(Clone)]
pub struct NoiseKey {
    secret: StaticSecret,
    public: [u8; 32],
}

impl NoiseKey {
    /// Makes the key with this secret, which has to be 32 random bytes from an unpredictable source.
    pub fn from_bytes(secret: [u8; 32]) -> Self {
        let secret = StaticSecret::from(secret);
        let public = PublicKey::from(&secret).to_bytes();
        Self { secret, public }
    }

    /// Returns the public key, which the other end's configuration names.
    pub fn public(&self) -> [u8; 32] {
        self.public
    }

    pub(super) fn secret(&self) -> &[u8; 32] {
        self.secret.as_bytes()
    }
}

/// The output has the public key alone.
impl fmt::Debug for NoiseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoiseKey").field("public", &Hex(&self.public)).finish_non_exhaustive()
    }
}

/// A public key in hexadecimal.
pub(super) struct Hex<'a>(pub(super) &'a [u8; 32]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bob's keys of RFC 7748, section 6.1.
    const SECRET: &str = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
    const PUBLIC: &str = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";

    #[test]
    fn the_public_key_belongs_to_the_secret_which_is_not_shown() {
        let mut secret = [0; 32];
        for (at, byte) in secret.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&SECRET[2 * at..2 * at + 2], 16).unwrap();
        }
        let key = NoiseKey::from_bytes(secret);
        assert_eq!(Hex(&key.public()).to_string(), PUBLIC);
        let shown = format!("{key:?}");
        assert!(shown.contains(PUBLIC) && !shown.contains(SECRET), "{shown}");
    }
}
