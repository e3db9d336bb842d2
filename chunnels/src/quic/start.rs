//! The set-up of a connection.

use super::agreement::{Failed, agree};
use super::ids::{IdKeys, Ids};
use super::live::Live;
use super::runtime::{Adapter, Tasks};
use super::settings::QuicSettings;
use super::socket::{PEER, Socket, TakesPaths};
use super::stream::failure;
use super::tls::{ForConnection, Reason};
use super::{QuicConnection, TARGET};
use crate::certificates::side::Side;
use crate::congestion::ForQuinn;
use bertha_core::{Base, Buf, ConnectContext, Connection, Error, ErrorKind, Role, Runtime};
use futures_util::future::{Either, select};
use quinn::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The smallest packet size that QUIC requires of a path (RFC 9000, section 14).
const MIN_PACKET: usize = 1_200;

/// Maximum number of bytes in flight, and of bytes that a receiver has not taken.
const WINDOW: u32 = 4 << 20;

/// The time-out of the handshake, unless the idle time-out is shorter.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn start<Inner>(
    side: &Side,
    settings: &QuicSettings,
    live: &Arc<Live>,
    inner: Inner,
    context: ConnectContext<'_, Inner>,
) -> Result<QuicConnection<Inner>, Error>
where
    Inner: Connection<Data = Buf>,
{
    let transcript = context.transcript();
    // Without negotiation each end has the client's role in the stack.
    if transcript.is_some() && side.is_client() != (context.role() == Role::Client) {
        let what = format!(
            "this Quic is for a {side}, and this end is the other; make clients with Quic::client and servers with Quic::server"
        );
        return Err(Error::new(ErrorKind::Invalid, what));
    }
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
    let reason = Reason::default();
    let (client, server) = match ForConnection::of(side, &reason)? {
        ForConnection::Server(config) => {
            let mut config = ServerConfig::with_crypto(config);
            config.transport_config(transport);
            (None, Some(config))
        }
        ForConnection::Client(config, name) => {
            let mut config = ClientConfig::new(config);
            config.transport_config(transport);
            (Some((config, name)), None)
        }
    };
    let mut endpoint = EndpointConfig::default();
    // The value is the largest packet that the peer may send.
    endpoint.max_udp_payload_size(packet).map_err(invalid)?;

    let runtime = base.runtime().clone();
    let [too_long, after_end, not_sent] = ["too long", "after the end", "not sent by this machine"]
        .map(|reason| context.counts_drops("Quic", reason));
    let tasks = Tasks::new();
    let local = base.local_addr();
    let peer = base.peer_addr();
    let socket = Socket::new(inner, below, &tasks, too_long, not_sent);
    if let Some(secret) = side.secret() {
        let keys = Arc::new(IdKeys::new(&secret, &local).map_err(invalid)?);
        endpoint.reset_key(Arc::new(keys.resets.clone()));
        let paths: Weak<dyn TakesPaths> = Arc::<Socket<Inner>>::downgrade(&socket);
        let live = live.clone();
        let runtime = runtime.clone();
        endpoint.cid_generator(move || {
            let runtime = runtime.clone();
            Box::new(Ids::new(keys.clone(), move || runtime.random(), live.clone(), paths.clone()))
        });
    }
    socket.start(&tasks);
    let adapter = Arc::new(Adapter { runtime: runtime.clone(), tasks: Arc::downgrade(&tasks) });
    let endpoint = Endpoint::new_with_abstract_socket(endpoint, server, socket.clone(), adapter)?;
    let connecting = async {
        let connection = match client {
            Some((config, name)) => endpoint.connect_with(config, PEER, &name).map_err(invalid)?.await?,
            None => match endpoint.accept().await {
                Some(incoming) => incoming.await?,
                None => return Err(no_answer().into()),
            },
        };
        let agreed = agree(side, &connection, transcript.as_ref(), &peer).await?;
        Ok((connection, agreed))
    };
    let timeout = pin!(runtime.sleep_until(runtime.now() + settings.idle.min(TIMEOUT)));
    let connected = match select(pin!(connecting), timeout).await {
        Either::Left((connected, _)) => connected,
        Either::Right(_) => Err(Failed::Here(no_answer())),
    };
    match connected {
        Ok((connection, agreed)) => {
            context.secured(agreed.secured.clone());
            let path = connection.stats().path;
            let peer = socket.inner().base().peer_addr();
            tracing::debug!(target: TARGET, %peer, mtu = path.current_mtu, rtt = ?path.rtt, "the handshake is done");
            let connection = QuicConnection::new(socket, endpoint, connection, agreed, tasks, after_end);
            context.observes(connection.observed());
            Ok(connection)
        }
        Err(failed) => {
            // The last packet tells the peer the reason, and the task that sends it ends here.
            socket.flush().await;
            Err(match failed {
                Failed::Here(error) => {
                    socket.end().filter(|_| error.kind() == ErrorKind::TimedOut).unwrap_or(error)
                }
                Failed::Connection(error) => {
                    let explained = reason.explain(&error, side).or_else(|| socket.end());
                    explained.unwrap_or_else(|| {
                        let (kind, what) = failure(&error);
                        Error::new(kind, what).because(error)
                    })
                }
            })
        }
    }
}

fn transport(settings: &QuicSettings, packet: u16) -> Result<TransportConfig, Error> {
    let mut transport = TransportConfig::default();
    let idle = quinn::IdleTimeout::try_from(settings.idle).map_err(invalid)?;
    transport
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(Some(settings.idle / 3))
        .initial_mtu(packet)
        .min_mtu(packet.min(MIN_PACKET as u16))
        .mtu_discovery_config(None)
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        // There are two streams: the stream in use, and the stream that continues it after a drain.
        .max_concurrent_uni_streams(VarInt::from_u32(2))
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(WINDOW))
        .datagram_receive_buffer_size(None);
    if let Some(algorithm) = &settings.congestion {
        transport.congestion_controller_factory(Arc::new(ForQuinn::from(algorithm.clone())));
    }
    Ok(transport)
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Invalid, error.to_string()).because(error)
}

fn no_answer() -> Error {
    Error::new(ErrorKind::TimedOut, "the other end did not complete the handshake of QUIC in time")
}
