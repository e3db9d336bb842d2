//! The set-up of a connection.

use super::QuicConnection;
use super::runtime::{Adapter, Tasks};
use super::settings::Settings;
use super::socket::{PEER, Socket};
use super::stream::failure;
use crate::task_end::runtime_ended;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Role, Runtime};
use futures_util::future::{Either, select};
use quinn::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// The smallest packet size that QUIC requires of a path (RFC 9000, section 14).
const MIN_PACKET: usize = 1_200;

/// The bound of bytes in flight, and of bytes that a receiver has not taken.
const WINDOW: u32 = 4 << 20;

/// The time for which a server waits for the client's first packet, which is sent at once unless it is lost.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn start<Inner>(
    settings: &Settings,
    inner: Inner,
    role: Role,
    transcript: Option<[u8; 32]>,
) -> Result<QuicConnection<Inner>, Error>
where
    Inner: Connection<Data = Buf>,
{
    let base = inner.base();
    if base.properties().reliable {
        let what =
            "QUIC needs datagrams, and the connection below is a stream; leave it out over this datapath";
        return Err(Error::new(ErrorKind::Unavailable, what));
    }
    let below = base.reserved();
    let max = inner.mtu().saturating_sub(below);
    if max < MIN_PACKET {
        let what = format!("QUIC needs packets of {MIN_PACKET} bytes, and {max} fit below");
        return Err(Error::new(ErrorKind::TooLarge, what));
    }
    let packet = usize::from(settings.packet).min(max) as u16;
    let transport = Arc::new(transport(settings, packet)?);
    let (client, server) = match role {
        Role::Server => {
            let mut config = ServerConfig::with_crypto(Arc::new(settings.certificates.server(transcript)?));
            config.transport_config(transport);
            (None, Some(config))
        }
        _ => {
            let mut config = ClientConfig::new(Arc::new(settings.certificates.client(transcript)?));
            config.transport_config(transport);
            (Some(config), None)
        }
    };
    let mut endpoint = EndpointConfig::default();
    // The largest packet that the peer may send.
    endpoint.max_udp_payload_size(packet).map_err(invalid)?;

    let runtime = base.runtime().clone();
    let (socket, tasks) = (Socket::new(inner, below), Tasks::new());
    let ended = socket.clone();
    tasks.spawn_watched(&runtime, socket.clone().run(), move || ended.on_end(&runtime_ended()));
    let adapter = Arc::new(Adapter { runtime: runtime.clone(), tasks: Arc::downgrade(&tasks) });
    let endpoint = Endpoint::new_with_abstract_socket(endpoint, server, socket.clone(), adapter)?;
    let connected = match client {
        Some(config) => {
            let name = &settings.certificates.name;
            endpoint.connect_with(config, PEER, name).map_err(invalid)?.await
        }
        None => {
            let timeout = pin!(runtime.sleep_until(runtime.now() + CLIENT_TIMEOUT));
            match select(pin!(endpoint.accept()), timeout).await {
                Either::Left((Some(incoming), _)) => incoming.await,
                Either::Left((None, _)) => return Err(socket.end().unwrap_or_else(no_client)),
                Either::Right(_) => return Err(no_client()),
            }
        }
    };
    match connected {
        Ok(connection) => Ok(QuicConnection::new(socket, endpoint, connection, tasks)),
        Err(error) => {
            // The last packet tells the peer why, and the task that sends it ends here.
            socket.flush().await;
            Err(socket.end().unwrap_or_else(|| {
                let (kind, what) = failure(&error);
                Error::new(kind, what).because(error)
            }))
        }
    }
}

fn transport(settings: &Settings, packet: u16) -> Result<TransportConfig, Error> {
    let mut transport = TransportConfig::default();
    let idle = quinn::IdleTimeout::try_from(settings.idle).map_err(invalid)?;
    transport
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(Some(settings.idle / 3))
        .initial_mtu(packet)
        .min_mtu(packet.min(MIN_PACKET as u16))
        .mtu_discovery_config(None)
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        // The stream in use, and the one that continues it after a drain.
        .max_concurrent_uni_streams(VarInt::from_u32(2))
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(WINDOW))
        .datagram_receive_buffer_size(None);
    Ok(transport)
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Invalid, error.to_string()).because(error)
}

fn no_client() -> Error {
    Error::new(ErrorKind::TimedOut, format!("the client sent nothing for {CLIENT_TIMEOUT:?}"))
}
