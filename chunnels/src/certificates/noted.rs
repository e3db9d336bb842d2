//! The refusal of the other end in a step of TLS.

use rustls::pki_types::CertificateDer;
use std::cell::RefCell;

/// A certificate or raw key, and the reason why this end does not accept it.
pub(crate) struct Refused {
    pub(crate) shown: CertificateDer<'static>,
    #[cfg_attr(not(feature = "quic"), expect(dead_code, reason = "`tls` has it from the step itself"))]
    pub(crate) reason: rustls::Error,
}

thread_local! {
    /// The last refusal on this thread. An error of `rustls` can't carry the certificate beside the reason,
    /// which decides the alert for the other end, and the verifier, which all connections of one
    /// configuration share, can't return it. `rustls` verifies on the thread that runs the step, before the
    /// step returns.
    static REFUSED: RefCell<Option<Refused>> = const { RefCell::new(None) };
}

/// Notes that the running step refuses this certificate or raw key.
pub(super) fn note(shown: &CertificateDer<'_>, reason: &rustls::Error) {
    REFUSED.set(Some(Refused { shown: shown.clone().into_owned(), reason: reason.clone() }));
}

/// Takes the refusal that was noted last on this thread.
pub(crate) fn take() -> Option<Refused> {
    REFUSED.take()
}
