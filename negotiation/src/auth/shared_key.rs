//! A secret that both ends have.

use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A secret known to both ends only: 32 bytes from a good source of randomness.
///
/// It is not a password: an attacker that records a handshake can try out guesses. It is compared in constant
/// time, not shown by `Debug`, and overwritten when it is dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SharedKey([u8; 32]);

impl SharedKey {
    /// Makes the key of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for SharedKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SharedKey {}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey(..)")
    }
}
