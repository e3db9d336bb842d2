//! Proofs of identity between a store's server and its users.

use bertha_core::{Error, ErrorKind};
use std::fmt;

/// The proofs of identity between a store's server and this end. Empty by default: the system's authorities,
/// no certificate, no login.
///
/// A store's URL can contain the same options: a login as `user:password@` in front of the host, and files by
/// the parameters `ca`, `cert`, `key` and `password_file`, as in
/// `rediss://bertha@host:6379?ca=/etc/ca.pem&password_file=/run/secrets/redis`. Options in the URL take
/// precedence.
///
/// Neither passwords nor keys appear in `Debug` or in errors.
#[derive(Clone, Default)]
pub struct StoreOptions {
    pub(super) authorities: Option<Vec<u8>>,
    pub(super) certificate: Option<Certificate>,
    pub(super) login: Option<Login>,
}

/// A certificate chain and a private key, both in PEM.
#[derive(Clone)]
#[cfg_attr(not(feature = "store-tls"), expect(dead_code, reason = "a certificate is shown over TLS alone"))]
pub(super) struct Certificate {
    pub(super) chain: Vec<u8>,
    pub(super) key: Vec<u8>,
}

#[derive(Clone, Default)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: String,
}

impl StoreOptions {
    /// Makes empty options: only the server's certificate is checked, by the system's authorities.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts servers that these authorities have certified, and no other servers. `pem` holds one
    /// certificate or several.
    #[must_use]
    pub fn trusting(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.authorities = Some(pem.into());
        self
    }

    /// Shows the server a certificate: the chain, beginning with this end's own certificate, and its private
    /// key, both in PEM.
    #[must_use]
    pub fn showing(mut self, chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.certificate = Some(Certificate { chain: chain.into(), key: key.into() });
        self
    }

    /// Logs in as `user`.
    #[must_use]
    pub fn login(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.login = Some(Login { user: user.into(), password: password.into() });
        self
    }

    /// Fails if an option is given that only TLS can use.
    pub(super) fn check(&self, is_tls: bool, scheme: &str, layer: &'static str) -> Result<(), Error> {
        if !is_tls && (self.authorities.is_some() || self.certificate.is_some()) {
            let what =
                format!("authorities and certificates need TLS: the address has to begin with {scheme}");
            return Err(Error::new(ErrorKind::Invalid, what).at(layer));
        }
        if is_tls && cfg!(not(feature = "store-tls")) {
            let what = format!(
                "{scheme} needs TLS, which this was built without; build it with the feature `store-tls`"
            );
            return Err(Error::new(ErrorKind::Unavailable, what).at(layer));
        }
        Ok(())
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("authorities", &self.authorities.as_ref().map(|pem| format!("{} bytes", pem.len())))
            .field("certificate", &self.certificate.is_some())
            .field("user", &self.login.as_ref().map(|login| &login.user))
            .finish()
    }
}
