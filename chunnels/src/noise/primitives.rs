//! The cryptographic functions of a handshake, for `snow`: hash and cipher of `ring`, X25519 of `x25519-dalek`, and random bytes
//! that the caller has drawn.

use ring::hkdf::{self, HKDF_SHA256, Salt};
use snow::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

/// The random bytes of one handshake: the secret of its ephemeral key.
#[derive(Clone)]
pub(super) struct Ephemeral(Zeroizing<[u8; 32]>);

impl Ephemeral {
    /// Draws the bytes. The bits have to be unpredictable.
    pub(super) fn draw(mut random: impl FnMut() -> u64) -> Self {
        let mut bytes = Zeroizing::new([0; 32]);
        bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&random().to_le_bytes()));
        Self(bytes)
    }
}

/// The functions of one handshake.
pub(super) struct Primitives(pub(super) Ephemeral);

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Drawn(Some(self.0.clone()))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        match choice {
            DHChoice::Curve25519 => Some(Box::<X25519>::default()),
            DHChoice::Curve448 => None,
        }
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        RingResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        RingResolver.resolve_cipher(choice)
    }
}

/// The random bytes for one ephemeral key. A handshake draws no more.
struct Drawn(Option<Ephemeral>);

impl Random for Drawn {
    fn try_fill_bytes(&mut self, into: &mut [u8]) -> Result<(), Error> {
        let Ephemeral(bytes) = self.0.take().filter(|drawn| drawn.0.len() == into.len()).ok_or(Error::Rng)?;
        into.copy_from_slice(&*bytes);
        Ok(())
    }
}

/// A key pair that is wiped from memory.
struct X25519 {
    secret: StaticSecret,
    public: PublicKey,
}

impl Default for X25519 {
    fn default() -> Self {
        // The key is replaced before it is used.
        Self { secret: StaticSecret::from([0; 32]), public: PublicKey::from([0; 32]) }
    }
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        32
    }

    fn priv_len(&self) -> usize {
        32
    }

    fn set(&mut self, secret: &[u8]) {
        let mut bytes = Zeroizing::new([0; 32]);
        bytes.copy_from_slice(secret);
        self.secret = StaticSecret::from(*bytes);
        self.public = PublicKey::from(&self.secret);
    }

    fn generate(&mut self, random: &mut dyn Random) -> Result<(), Error> {
        let mut secret = Zeroizing::new([0; 32]);
        random.try_fill_bytes(&mut *secret)?;
        self.set(&*secret);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        self.public.as_bytes()
    }

    fn privkey(&self) -> &[u8] {
        self.secret.as_bytes()
    }

    /// Computes the shared secret. Refuses public keys of small order, with which everybody would know the
    /// result.
    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let public: &[u8; 32] = public.first_chunk().ok_or(Error::Dh)?;
        let shared = self.secret.diffie_hellman(&PublicKey::from(*public));
        if !shared.was_contributory() {
            return Err(Error::Dh);
        }
        out.first_chunk_mut().ok_or(Error::Dh).map(|out: &mut [u8; 32]| *out = *shared.as_bytes())
    }
}

/// Derives a secret of 32 bytes with HKDF-SHA-256 (RFC 5869), for the purpose that `label` names.
pub(super) fn derive(label: &[u8], secret: &[u8], info: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut derived = Zeroizing::new([0; 32]);
    let prk = Salt::new(HKDF_SHA256, label).extract(secret);
    // The call fails only for lengths beyond 255 hashes.
    let _ = prk.expand(&[info], HKDF_SHA256).and_then(|bytes: hkdf::Okm<'_, _>| bytes.fill(&mut *derived));
    derived
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ends_have_one_result_and_none_with_a_key_of_small_order() {
        let [mut here, mut there] = [X25519::default(), X25519::default()];
        here.set(&[1; 32]);
        there.generate(&mut Drawn(Some(Ephemeral::draw(|| 2)))).unwrap();
        let [mut one, mut two, mut none] = [[0; 56]; 3];
        here.dh(there.pubkey(), &mut one).unwrap();
        there.dh(here.pubkey(), &mut two).unwrap();
        assert_eq!(one, two);
        assert_eq!(here.dh(&[0; 32], &mut none), Err(Error::Dh));
        assert_eq!(none, [0; 56]);
    }

    #[test]
    fn a_handshake_draws_one_ephemeral_key() {
        let mut drawn = Drawn(Some(Ephemeral::draw(|| 2)));
        assert!(drawn.try_fill_bytes(&mut [0; 32]).is_ok() && drawn.try_fill_bytes(&mut [0; 32]).is_err());
    }
}
