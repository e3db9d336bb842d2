//! The servers to which routes lead by TLS.

use crate::grpc::GrpcTls;
use crate::grpc::refusals::Refusals;
use crate::route::Route;
use bertha_core::Error;
use std::net::{IpAddr, SocketAddr};

/// The servers to which routes lead by TLS.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    pub(super) tls: GrpcTls,
    pub(super) refusals: Refusals,
}

impl Servers {
    pub(crate) fn new(tls: GrpcTls) -> Self {
        Self { tls, refusals: Refusals::default() }
    }

    /// Checks that calls can go along a route.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) for a route by TLS if no server is trusted, or the name is none.
    pub(crate) fn check(&self, route: &Route) -> Result<(), Error> {
        match route {
            Route::Grpcs(_, name) => self.tls.client(name).map(drop),
            Route::Daemon(_) | Route::Grpc(_) => Ok(()),
        }
    }
}

/// Returns the beginning of the addresses of a server's methods.
pub(super) fn origin(name: &str, to: SocketAddr) -> String {
    match name.parse::<IpAddr>() {
        Ok(ip) => format!("https://{}", SocketAddr::new(ip, to.port())),
        Err(_) => format!("https://{name}:{}", to.port()),
    }
}
