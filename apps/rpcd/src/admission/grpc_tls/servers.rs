//! The servers to which routes lead by TLS.

use super::{FailedHandshakes, GrpcTls};
use crate::destinations::route::Route;
use bertha::chunnels::Tls;
use bertha_core::Error;

/// The servers to which routes lead by TLS.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    tls: GrpcTls,
    pub(crate) failed: FailedHandshakes,
}

impl Servers {
    pub(crate) fn new(tls: GrpcTls) -> Self {
        Self { tls, failed: FailedHandshakes::default() }
    }

    /// Returns the part of the end that calls the server of this name.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if no server is trusted, or the name is none.
    pub(crate) fn client(&self, name: &str) -> Result<Tls, Error> {
        self.tls.client(name)
    }

    /// Checks that calls can go along a route.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) for a route by TLS if no server is trusted, or the name is none.
    /// [`Unavailable`](bertha_core::ErrorKind::Unavailable) for DPDK if it was not built in.
    pub(crate) fn check(&self, route: &Route) -> Result<(), Error> {
        match route {
            Route::Grpcs(_, name) => self.tls.client(name).map(drop),
            Route::Daemon(to) => to.check(),
            Route::Grpc(_) => Ok(()),
        }
    }
}
