//! The certificate that a step of TLS has refused.

use rustls::pki_types::CertificateDer;
use std::cell::RefCell;

thread_local! {
    /// An error of `rustls` can't carry the certificate beside the reason from which the alert for the other end follows, and
    /// the verifier, which all connections of one configuration share, can't return it. `rustls` verifies on the
    /// thread that runs the step, before the step returns.
    static REFUSED: RefCell<Option<CertificateDer<'static>>> = const { RefCell::new(None) };
}

/// Notes that the running step refuses this certificate or raw key.
pub(super) fn note(shown: &CertificateDer<'_>) {
    REFUSED.set(Some(shown.clone().into_owned()));
}

/// Takes the certificate or raw key that was noted last on this thread.
pub(super) fn take() -> Option<CertificateDer<'static>> {
    REFUSED.take()
}
