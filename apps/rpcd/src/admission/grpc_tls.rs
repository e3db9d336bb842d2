//! TLS for gRPC.

mod failed_handshakes;
mod options;
mod servers;

use bertha::chunnels::{Tls, TlsIdentity, Trust};
use bertha_core::{Error, ErrorKind};

pub(crate) use failed_handshakes::FailedHandshakes;
pub(crate) use options::GrpcOptions;
pub(crate) use servers::Servers;

/// The name of HTTP/2 in TLS, which both ends have to confirm (RFC 9113, section 3.2).
const PROTOCOL: &str = "h2";

/// TLS for gRPC. Where a part is there, nothing falls back to plain text.
#[derive(Debug, Clone, Default)]
pub struct GrpcTls {
    /// The certificate that callers see. Without one they speak in plain text, and anyone who reaches the address may call.
    pub identity: Option<TlsIdentity>,
    /// The authorities of callers, of whom others are refused. Without them a caller needs no certificate.
    pub callers: Option<Trust>,
    /// The authorities of servers to which [routes](crate::Route::Grpcs) lead. The daemon shows its certificate to those that ask.
    pub servers: Option<Trust>,
}

impl GrpcTls {
    /// Returns the part of the end that is called; `None` where callers speak in plain text.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the certificate or the authorities can't be used.
    pub(crate) fn server(&self) -> Result<Option<Tls>, Error> {
        let tls = match (&self.identity, &self.callers) {
            (Some(identity), None) => Tls::server(identity.clone())?,
            (Some(identity), Some(callers)) => {
                Tls::server(identity.clone())?.require_clients(callers.clone())
            }
            (None, None) => return Ok(None),
            (None, Some(_)) => {
                return Err(Error::new(
                    ErrorKind::Invalid,
                    "callers of gRPC show certificates to a daemon with one",
                ));
            }
        };
        tls.protocol(PROTOCOL).map(Some)
    }

    /// Returns the part of the end that calls the server of this name.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if no server is trusted, or the name is none.
    fn client(&self, name: &str) -> Result<Tls, Error> {
        let Some(servers) = &self.servers else {
            let what = "the daemon trusts no server of gRPC: it was started without --grpc-server-ca";
            return Err(Error::new(ErrorKind::Invalid, what));
        };
        let mut tls = Tls::client(name, servers.clone())?;
        if let Some(identity) = &self.identity {
            tls = tls.identity(identity.clone());
        }
        tls.protocol(PROTOCOL)
    }
}
