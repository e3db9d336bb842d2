//! The keys of one direction, one after the other.
//!
//! Messages are encrypted here by `ring`, with the keys of the handshake of `snow`, and not by `snow` itself,
//! which writes into another buffer: this would cost an allocation or a lock, and two copies of each message.
//!
//! The cipher was chosen by measurement, on the machine of `bench/RESULTS.md`:
//!
//! | cipher | library | 1,350 bytes | 65,000 bytes |
//! |---|---|---|---|
//! | AES-256-GCM | `ring` | 541 ns | 9.7 us |
//! | ChaCha20-Poly1305 | `ring` | 1,556 ns | 58 us |
//!
//! With the functions that `snow` brings, 1,350 bytes take 2.5 us by AES-256-GCM and 5.9 us by
//! ChaCha20-Poly1305. A processor without AES instructions would prefer ChaCha20-Poly1305, and no processor
//! that this crate is meant for lacks these instructions.

use super::wire::{Header, TAG};
use parking_lot::RwLock;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use std::fmt;
use zeroize::Zeroizing;

/// Number of messages under one key, as a power of two: half of the number that AES-GCM permits (RFC 9001,
/// section 6.6).
pub(super) const EPOCH: u32 = 22;

/// Maximum number of keys that a receiver goes ahead, if all messages under the keys between were lost.
const LEAP: u64 = 16;

/// The keys of one direction. The number of a message identifies its key; each key is made from the key
/// before (`REKEY`, Noise specification, section 4.2).
pub(super) struct Keychain {
    /// Locked for writing once in four million messages. Any number of calls encrypt or decrypt at once.
    keys: RwLock<Keys>,
}

struct Keys {
    /// The number of `current`, counted from zero.
    epoch: u64,
    current: Key,
    /// The key before `current`, for late messages.
    before: Option<Key>,
}

/// A key, and the key after it.
struct Key {
    cipher: LessSafeKey,
    next: Zeroizing<[u8; 32]>,
}

impl Keychain {
    /// Makes the chain that begins with this key; `None` if the cipher does not accept the key.
    pub(super) fn new(first: &[u8; 32]) -> Option<Self> {
        Some(Self { keys: RwLock::new(Keys { epoch: 0, current: Key::new(first)?, before: None }) })
    }

    /// Encrypts `message` in place; `None` if the key of this number is gone, or the message is longer than
    /// the cipher takes. A number must not be used twice.
    #[inline]
    pub(super) fn encrypt(&self, number: u64, message: &mut [u8]) -> Option<[u8; TAG]> {
        let epoch = number >> EPOCH;
        {
            let keys = self.keys.read();
            if epoch <= keys.epoch {
                return keys.at(epoch)?.encrypt(number, message);
            }
        }
        let mut keys = self.keys.write();
        keys.advance(epoch)?;
        keys.at(epoch)?.encrypt(number, message)
    }

    /// Decrypts `message` in place. Returns true if it is authentic; otherwise its content is arbitrary.
    #[inline]
    pub(super) fn decrypt(&self, header: Header, message: &mut [u8]) -> bool {
        let epoch = header.number >> EPOCH;
        {
            let keys = self.keys.read();
            if epoch <= keys.epoch {
                return keys.at(epoch).is_some_and(|key| key.decrypt(header, message));
            }
        }
        self.decrypt_ahead(epoch, header, message)
    }

    /// Decrypts a message under a later key, and moves on to that key if the message is authentic.
    #[cold]
    fn decrypt_ahead(&self, epoch: u64, header: Header, message: &mut [u8]) -> bool {
        let later = {
            let keys = self.keys.read();
            keys.later(epoch)
        };
        if !later.is_some_and(|key| key.decrypt(header, message)) {
            return false;
        }
        // Another call may have moved on in the meantime.
        let mut keys = self.keys.write();
        epoch <= keys.epoch || keys.advance(epoch).is_some()
    }
}

impl Keys {
    /// Returns the key of an epoch that has begun.
    #[inline]
    fn at(&self, epoch: u64) -> Option<&Key> {
        if epoch == self.epoch {
            Some(&self.current)
        } else {
            self.before.as_ref().filter(|_| epoch + 1 == self.epoch)
        }
    }

    /// Returns the key of an epoch that has not begun, if it is near.
    fn later(&self, epoch: u64) -> Option<Key> {
        if epoch > self.epoch + LEAP {
            return None;
        }
        let mut key = Key::new(&self.current.next)?;
        for _ in self.epoch + 1..epoch {
            key = Key::new(&key.next)?;
        }
        Some(key)
    }

    /// Moves on to a near epoch.
    fn advance(&mut self, epoch: u64) -> Option<()> {
        while self.epoch < epoch {
            let next = self.later(self.epoch + 1)?;
            self.before = Some(std::mem::replace(&mut self.current, next));
            self.epoch += 1;
        }
        Some(())
    }
}

impl Key {
    fn new(bytes: &[u8; 32]) -> Option<Self> {
        let cipher = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, bytes).ok()?);
        let mut next = Zeroizing::new([0; 32]);
        let rekeying = nonce(u64::MAX);
        let _tag = cipher.seal_in_place_separate_tag(rekeying, Aad::empty(), &mut *next).ok()?;
        Some(Self { cipher, next })
    }

    #[inline]
    fn encrypt(&self, number: u64, message: &mut [u8]) -> Option<[u8; TAG]> {
        let tag = self.cipher.seal_in_place_separate_tag(nonce(number), Aad::empty(), message).ok()?;
        tag.as_ref().try_into().ok()
    }

    #[inline]
    fn decrypt(&self, header: Header, message: &mut [u8]) -> bool {
        let nonce = nonce(header.number);
        let tag = header.tag.into();
        self.cipher.open_in_place_separate_tag(nonce, Aad::empty(), tag, message, 0..).is_ok()
    }
}

/// Returns the nonce of `AESGCM` (Noise specification, section 12.4).
fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

impl fmt::Debug for Keychain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keychain(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encrypted(chain: &Keychain, number: u64) -> (Header, [u8; 7]) {
        let mut message = *b"message";
        let tag = chain.encrypt(number, &mut message).unwrap();
        (Header { number, tag }, message)
    }

    fn is_decrypted(chain: &Keychain, (header, mut message): (Header, [u8; 7])) -> bool {
        chain.decrypt(header, &mut message) && message == *b"message"
    }

    fn pair() -> (Keychain, Keychain) {
        (Keychain::new(&[7; 32]).unwrap(), Keychain::new(&[7; 32]).unwrap())
    }

    #[test]
    fn another_number_tag_content_or_key_is_not_authentic() {
        let (here, there) = pair();
        let (header, message) = encrypted(&here, 5);
        assert_ne!(message, *b"message");
        assert!(is_decrypted(&there, (header, message)));
        assert!(!is_decrypted(&there, (Header { number: 6, ..header }, message)));
        assert!(!is_decrypted(&there, (Header { tag: [0; TAG], ..header }, message)));
        let mut altered = message;
        altered[6] ^= 1;
        assert!(!is_decrypted(&there, (header, altered)));
        assert!(!is_decrypted(&Keychain::new(&[8; 32]).unwrap(), (header, message)));
    }

    #[test]
    fn the_keys_are_those_of_the_specification() {
        let mut cipher = snow::resolvers::CryptoResolver::resolve_cipher(
            &snow::resolvers::RingResolver,
            &snow::params::CipherChoice::AESGCM,
        )
        .unwrap();
        cipher.set(&[7; 32]);
        let (here, there) = pair();
        for epoch in 0..3 {
            let number = (epoch << EPOCH) + 9;
            let mut expected = [0; 7 + TAG];
            cipher.encrypt(number, &[], b"message", &mut expected);
            let (header, message) = encrypted(&here, number);
            assert_eq!([&message[..], &header.tag].concat(), expected);
            assert!(is_decrypted(&there, (header, message)));
            cipher.rekey();
        }
    }

    #[test]
    fn a_new_key_survives_loss_and_reordering_and_ends_the_one_before_the_last() {
        let (here, there) = pair();
        let last = |epoch: u64| (epoch << EPOCH) - 1;
        let [first, late, newer, newest] =
            [3, last(1), 1 << EPOCH, 2 << EPOCH].map(|number| encrypted(&here, number));
        assert!(is_decrypted(&there, newer));
        assert!(is_decrypted(&there, late), "late by one key");
        assert!(is_decrypted(&there, newest));
        assert!(is_decrypted(&there, newer), "late by one key");
        assert!(!is_decrypted(&there, first), "late by two keys");
    }

    #[test]
    fn a_forged_number_far_ahead_changes_nothing_and_a_long_loss_is_survived() {
        let (here, there) = pair();
        for epochs in [1, LEAP, LEAP + 1, 1 << 33] {
            assert!(!is_decrypted(&there, (Header { number: epochs << EPOCH, tag: [9; TAG] }, *b"message")));
        }
        let near = encrypted(&here, 1);
        assert!(is_decrypted(&there, near));
        assert!(is_decrypted(&there, encrypted(&here, LEAP << EPOCH)));
        assert!(!is_decrypted(&there, encrypted(&here, (2 * LEAP + 1) << EPOCH)));
    }
}
