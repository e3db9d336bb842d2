//! TLS as QUIC needs it (RFC 9001): the configuration that all connections of an end share, and the reasons of its refusals.

use crate::certificates::noted::{self, Refused};
use crate::certificates::refusal::{explain, refused_by_peer};
use crate::certificates::side::{Config, Side};
use bertha_core::{Error, ErrorKind};
use parking_lot::Mutex;
use quinn::ConnectionId;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn::{ConnectError, ConnectionError, TransportErrorCode};
use quinn_proto::TransportError;
use quinn_proto::transport_parameters::TransportParameters;
use rustls::AlertDescription;
use std::any::Any;
use std::sync::Arc;

/// The configuration of one connection, which shares the configuration of its end.
pub(super) enum ForConnection {
    /// The configuration for a connection to the server of this name.
    Client(Arc<dyn ClientConfig>, String),
    Server(Arc<dyn ServerConfig>),
}

impl ForConnection {
    /// Returns the present configuration of an end.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the configuration can't be used.
    pub(super) fn of(side: &Side, reason: &Reason) -> Result<Self, Error> {
        let unusable = |error| Error::new(ErrorKind::Invalid, "TLS lacks a cipher of QUIC").because(error);
        let reason = reason.clone();
        Ok(match side.config()? {
            Config::Client(config, name) => {
                let inner = Arc::new(QuicClientConfig::try_from(config).map_err(unusable)?);
                Self::Client(Arc::new(Explained { inner, reason }), name.to_str().into_owned())
            }
            Config::Server(config) => {
                let inner = Arc::new(QuicServerConfig::try_from(config).map_err(unusable)?);
                Self::Server(Arc::new(Explained { inner, reason }))
            }
        })
    }
}

/// The reason for which this end has refused the other end. `quinn` keeps only its text.
#[derive(Clone, Default)]
pub(super) struct Reason(Arc<Mutex<Option<Refused>>>);

impl Reason {
    /// Returns the error of this end for a connection that TLS has ended; `None` if another cause has ended
    /// it.
    pub(super) fn explain(&self, error: &ConnectionError, side: &Side) -> Option<Error> {
        match error {
            ConnectionError::ConnectionClosed(close) => {
                Some(refused_by_peer(alert(close.error_code)?, side).because(error.clone()))
            }
            ConnectionError::TransportError(failed) => {
                let alert = alert(failed.code)?;
                if let Some(Refused { shown, reason }) = self.0.lock().take() {
                    return Some(explain(reason, side, Some(&shown)));
                }
                Some(match alert {
                    AlertDescription::NoApplicationProtocol => {
                        explain(rustls::Error::NoApplicationProtocol, side, None)
                    }
                    AlertDescription::CertificateRequired => {
                        explain(rustls::Error::NoCertificatesPresented, side, None)
                    }
                    _ => explain(rustls::Error::General(failed.reason.clone()), side, None),
                })
            }
            _ => None,
        }
    }
}

/// Returns the alert of TLS that a code of QUIC stands for (RFC 9001, section 4.8).
fn alert(code: TransportErrorCode) -> Option<AlertDescription> {
    let alert = u8::try_from(u64::from(code).checked_sub(0x100)?).ok()?;
    Some(AlertDescription::from(alert))
}

/// The TLS of `quinn`, with the reasons of its refusals.
struct Explained<Inner: ?Sized> {
    inner: Arc<Inner>,
    reason: Reason,
}

impl<Inner: ClientConfig> ClientConfig for Explained<Inner> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = self.inner.clone().start_session(version, name, parameters)?;
        Ok(Box::new(ExplainedSession { inner, reason: self.reason.clone() }))
    }
}

impl<Inner: ServerConfig> ServerConfig for Explained<Inner> {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, id)
    }

    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, id, packet)
    }

    fn start_session(self: Arc<Self>, version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        let inner = self.inner.clone().start_session(version, parameters);
        Box::new(ExplainedSession { inner, reason: self.reason.clone() })
    }
}

struct ExplainedSession {
    inner: Box<dyn Session>,
    reason: Reason,
}

impl Session for ExplainedSession {
    fn initial_keys(&self, id: &ConnectionId, side: quinn::Side) -> Keys {
        self.inner.initial_keys(id, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        noted::take();
        self.inner.read_handshake(bytes).inspect_err(|_| *self.reason.0.lock() = noted::take())
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, into: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(into)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        into: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(into, label, context)
    }
}
