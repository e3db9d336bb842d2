//! Listening: the builder that [`Negotiate::listen`](crate::Negotiate::listen) returns.

use crate::{Incoming, Runs, Settings, driver};
use bertha_core::{Addr, BoxFuture, Describe, Error};
use std::fmt;

/// A server to be started. Awaiting it starts to listen; until then it can be given other settings.
#[must_use = "it listens once it is awaited"]
pub struct Listen<S, D> {
    stack: S,
    datapath: D,
    on: Addr,
    settings: Settings,
}

impl<S, D> Listen<S, D> {
    pub(crate) fn new(stack: S, datapath: D, on: Addr) -> Self {
        Self { stack, datapath, on, settings: Settings::default() }
    }

    /// Sets other times, bounds, credentials or a floor than the [defaults](Settings).
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }
}

/// # Errors
/// [`Invalid`](bertha_core::ErrorKind::Invalid) if no alternative of the stack can hold over this datapath, as far as
/// that is known [before a client is there](bertha_core::Listener::properties); else each client gets that error.
/// Those of the datapath, if the address can't be used.
impl<S, D> IntoFuture for Listen<S, D>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S>,
{
    type Output = Result<Incoming<S, D>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { stack, datapath, on, settings } = self;
        Box::pin(driver::listen(stack, datapath, on, settings))
    }
}

impl<S: Describe, D> fmt::Debug for Listen<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listen([{}] on {})", self.stack.explain(), self.on)
    }
}
