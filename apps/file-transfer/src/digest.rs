//! The digest of a file's content.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// A digest by SHA-256 (FIPS 180-4). As text, it has 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest([u8; 32]);

/// The computation of a digest of bytes that come piece by piece.
#[derive(Clone, Default)]
pub(crate) struct Digesting(Sha256);

impl Digesting {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all bytes so far.
    pub(crate) fn digest(&self) -> Digest {
        Digest(self.0.clone().finalize().into())
    }
}

impl Digest {
    /// Returns a proof of knowing the digest, for an end that knows it too: SHA-256 of `nonce` and the
    /// digest. The proof reveals the digest to no other end.
    pub fn proof(&self, nonce: &[u8; 16]) -> Self {
        let mut digesting = Digesting::default();
        digesting.update(nonce);
        digesting.update(&self.0);
        digesting.digest()
    }
}

/// The reason why a text is no digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoDigest;

impl fmt::Display for NoDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a SHA-256 digest has 64 hexadecimal digits")
    }
}

impl std::error::Error for NoDigest {}

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Self, NoDigest> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NoDigest);
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = str::from_utf8(digits).map_err(|_| NoDigest)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NoDigest)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Debug for Digesting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digesting")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sha_256_and_reads_as_it_is_written() {
        let mut digesting = Digesting::default();
        digesting.update(b"a");
        digesting.update(b"bc");
        // The digest is FIPS 180-4's example.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digesting.digest().to_string(), abc);
        assert_eq!(abc.parse(), Ok(digesting.digest()));
        for wrong in ["", "ba78", &abc.replace('b', "g"), &abc.replace('b', "é")] {
            assert_eq!(wrong.parse::<Digest>(), Err(NoDigest));
        }
    }
}
