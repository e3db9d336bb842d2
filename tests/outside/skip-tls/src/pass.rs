//! The pass.

use crate::TlsUnlessLocal;
use bertha_chunnels::Tls;
use bertha_core::subst;
use bertha_local::MaybeLocal;

/// Replaces [`Tls`] directly above [`MaybeLocal`] by [`TlsUnlessLocal`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[subst(if [*, Tls, MaybeLocal, *] then [*, TlsUnlessLocal, *], weakens(Encrypted))]
pub struct SkipTlsWhenLocal;

impl From<(Tls, MaybeLocal)> for TlsUnlessLocal {
    fn from((tls, maybe_local): (Tls, MaybeLocal)) -> Self {
        Self::new(tls, maybe_local)
    }
}
