//! The program `bertha-bench connect`: setting up a connection, to the echo of its first message (the
//! thesis's Figure 3.4); and joining others through a store.
//!
//! Client and server share a thread and a runtime on a single core, so that their work is measured and not
//! the waking of another core. Each sample is a runtime and a server of its own and some clients, one after
//! another.
//!
//! A trial begins with nothing but settings, the server's address and, for 0-RTT, the cache, and for quinn
//! its endpoint. Making the stack, opening the socket, and the work of the server until the echo is there
//! count. Closing does not count: a client waits until the server has seen its end, and then drops what it
//! has. Later work of the runtime, for example to release a socket or a task, falls into the next trial,
//! alike for all ways.

mod bare;
#[cfg(feature = "quic")]
mod by_quinn;
#[cfg(feature = "tls")]
mod by_tokio_rustls;
mod joined;
mod negotiated;
mod rows;
mod secured;

pub(crate) use rows::{Options, run};

use crate::harness::{self, runtime};
use crate::{Error, ErrorKind};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Bottom, Connection, Stack, make_stack};
use bertha_datapath_kernel::TokioRuntime;
use bertha_negotiation::rendezvous::MemoryStore;
use bertha_negotiation::{Negotiate, Runs, Settings};
use negotiated::Proof;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A message.
type Message = [u8; 8];
const MESSAGE: Message = [7; 8];

/// The stack of all ends, which encodes the message as the bytes that it is.
type Layers = Stack<Serialize<Message>, Bottom>;

fn stack() -> Layers {
    make_stack!(Serialize::<Message>::new())
}

/// Number of clients before the first that counts: allocators and caches get warm, and a client gets to know
/// the server.
const WARM_UP: usize = 5;

/// Longest trial. A longer trial lost a datagram, which is not sent again.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A way to set up a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// No negotiation: a socket of tokio's.
    Bare,
    /// The client waits for the answer to its offer.
    OneRtt,
    /// The client sends the message with its offer.
    ZeroRtt,
    /// A client as in `OneRtt`, whose ends both prove that they have a key.
    OneRttShared,
    /// A client as in `ZeroRtt`, whose ends both prove that they have a key.
    ZeroRttShared,
    /// A client as in `OneRtt`, whose server proves its identity.
    OneRttIdentity,
    /// A client as in `OneRtt`, and a handshake of Noise with a key of both ends.
    NoiseShared,
    /// A client as in `OneRtt`, and a handshake of Noise in which each end proves a key of its own.
    NoiseStatic,
    /// A client as in `OneRtt`, and a handshake of QUIC; with the session of an earlier handshake, or
    /// without.
    #[cfg(feature = "quic")]
    Quic { resumed: bool },
    /// A handshake of QUIC by `quinn`, and no negotiation.
    #[cfg(feature = "quic")]
    Quinn { resumed: bool },
    /// A client as in `OneRtt` over TCP, and a handshake of TLS; with the session of an earlier handshake, or
    /// without.
    #[cfg(feature = "tls")]
    Tls { resumed: bool },
    /// A handshake of TLS by `tokio-rustls`, and no negotiation.
    #[cfg(feature = "tls")]
    TokioRustls { resumed: bool },
    /// The client joins others through a store in its own process.
    Memory,
    /// The client joins others through the Redis server at this address.
    #[cfg(feature = "redis")]
    Redis(String),
}

/// The times of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Trial {
    /// Time from nothing to the first echo, or to the end of `rendezvous`, in microseconds.
    set_up: f64,
    /// Time of another exchange, in microseconds: an echo, or a read of the store.
    round_trip: f64,
}

impl Way {
    /// Returns the name in rows and in the figure.
    fn name(&self) -> &'static str {
        match self {
            Self::Bare => "bare UDP",
            Self::OneRtt => "1-RTT",
            Self::ZeroRtt => "0-RTT",
            Self::OneRttShared => "1-RTT, shared key",
            Self::ZeroRttShared => "0-RTT, shared key",
            Self::OneRttIdentity => "1-RTT, identity",
            Self::NoiseShared => "Noise, shared key",
            Self::NoiseStatic => "Noise, static keys",
            #[cfg(feature = "quic")]
            Self::Quic { resumed: false } => "Quic, full",
            #[cfg(feature = "quic")]
            Self::Quic { resumed: true } => "Quic, resumed",
            #[cfg(feature = "quic")]
            Self::Quinn { resumed: false } => "quinn, full",
            #[cfg(feature = "quic")]
            Self::Quinn { resumed: true } => "quinn, resumed",
            #[cfg(feature = "tls")]
            Self::Tls { resumed: false } => "Tls, full",
            #[cfg(feature = "tls")]
            Self::Tls { resumed: true } => "Tls, resumed",
            #[cfg(feature = "tls")]
            Self::TokioRustls { resumed: false } => "tokio-rustls, full",
            #[cfg(feature = "tls")]
            Self::TokioRustls { resumed: true } => "tokio-rustls, resumed",
            Self::Memory => "rendezvous, in memory",
            #[cfg(feature = "redis")]
            Self::Redis(_) => "rendezvous, Redis",
        }
    }

    /// Connects this number of clients, one after another, on a single core.
    fn sample(&self, trials: usize) -> Result<Vec<Trial>, Error> {
        let (core, _) = harness::Placement::OneCore.cores()?;
        harness::run_on(core, || self.on_one_thread(trials))
    }

    fn on_one_thread(&self, trials: usize) -> Result<Vec<Trial>, Error> {
        use negotiated::{AfterAnswer, AtOnce};
        runtime()?.block_on(async {
            match self {
                Self::Bare => repeat(trials, bare::Client::new().await?).await,
                Self::OneRtt => repeat(trials, AfterAnswer::new(Proof::None).await?).await,
                Self::ZeroRtt => repeat(trials, AtOnce::new(Proof::None).await?).await,
                Self::OneRttShared => repeat(trials, AfterAnswer::new(Proof::SharedKey).await?).await,
                Self::ZeroRttShared => repeat(trials, AtOnce::new(Proof::SharedKey).await?).await,
                Self::OneRttIdentity => repeat(trials, AfterAnswer::new(Proof::Identity).await?).await,
                #[cfg(feature = "tls")]
                Self::Tls { resumed } => repeat(trials, secured::tls(*resumed).await?).await,
                #[cfg(feature = "tls")]
                Self::TokioRustls { resumed } => {
                    repeat(trials, by_tokio_rustls::Client::new(*resumed).await?).await
                }
                Self::NoiseShared => repeat(trials, secured::noise_shared().await?).await,
                Self::NoiseStatic => repeat(trials, secured::noise_static().await?).await,
                #[cfg(feature = "quic")]
                Self::Quic { resumed } => repeat(trials, secured::quic(*resumed).await?).await,
                #[cfg(feature = "quic")]
                Self::Quinn { resumed } => repeat(trials, by_quinn::Client::new(*resumed).await?).await,
                Self::Memory => {
                    repeat(trials, joined::Client::new(MemoryStore::new(TokioRuntime)).await?).await
                }
                #[cfg(feature = "redis")]
                Self::Redis(url) => {
                    let store = bertha_negotiation::rendezvous::RedisStore::new(url).map_err(failed)?;
                    repeat(trials, joined::Client::new(store).await?).await
                }
            }
        })
    }
}

/// Runs a probe, if there is a probe with this name.
pub(crate) fn probe(name: &str, trials: u64) -> Option<Result<(), Error>> {
    let way = match name {
        "bare" => Way::Bare,
        "1-rtt" => Way::OneRtt,
        "0-rtt" => Way::ZeroRtt,
        "noise" => Way::NoiseShared,
        #[cfg(feature = "quic")]
        "quic" => Way::Quic { resumed: false },
        #[cfg(feature = "quic")]
        "quic-resumed" => Way::Quic { resumed: true },
        #[cfg(feature = "quic")]
        "quinn" => Way::Quinn { resumed: false },
        #[cfg(feature = "quic")]
        "quinn-resumed" => Way::Quinn { resumed: true },
        #[cfg(feature = "tls")]
        "tls" => Way::Tls { resumed: false },
        #[cfg(feature = "tls")]
        "tls-resumed" => Way::Tls { resumed: true },
        #[cfg(feature = "tls")]
        "tokio-rustls" => Way::TokioRustls { resumed: false },
        #[cfg(feature = "tls")]
        "tokio-rustls-resumed" => Way::TokioRustls { resumed: true },
        _ => return None,
    };
    Some(way.on_one_thread(trials as usize).map(drop))
}

/// A client that connects again and again.
trait Connect {
    /// Connects, makes another exchange, and closes.
    async fn connect(&mut self) -> Result<Trial, Error>;
}

async fn repeat(trials: usize, mut client: impl Connect) -> Result<Vec<Trial>, Error> {
    let mut measured = Vec::with_capacity(trials);
    for number in 0..WARM_UP + trials {
        let trial = timeout(TIMEOUT, client.connect()).await;
        let trial = trial.map_err(Error::while_doing(ErrorKind::Stalled, "awaiting an echo"))??;
        if number >= WARM_UP {
            measured.push(trial);
        }
    }
    Ok(measured)
}

/// Starts a server that echoes the messages of each client.
async fn serve<S, D>(stack: S, datapath: D, mut settings: Settings) -> Result<Addr, Error>
where
    S: Negotiate + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data = Message>>,
{
    // Clients arrive one after another, faster than a server accepts them from a single network by default.
    settings.offers_per_second = u32::MAX;
    let incoming = stack.listen(datapath, (Ipv4Addr::LOCALHOST, 0)).settings(settings).await;
    let mut incoming = incoming.map_err(Error::while_doing(ErrorKind::Socket, "opening the echo server"))?;
    let addr = incoming.local_addr();
    tokio::spawn(async move {
        while let Some(connection) = incoming.next().await {
            tokio::spawn(async move {
                while let Ok(message) = connection.recv().await {
                    if connection.send(message).await.is_err() {
                        return;
                    }
                }
                // The close confirms the client's end; the client learns of a failure by itself.
                let _ = connection.close().await;
            });
        }
    });
    Ok(addr)
}

/// Times the echo of the first message and of another.
async fn measured(started: Instant, connection: &impl Connection<Data = Message>) -> Result<Trial, Error> {
    echo(connection).await.map_err(failed)?;
    let set_up = since(started);
    let started = Instant::now();
    echo(connection).await.map_err(failed)?;
    Ok(Trial { set_up, round_trip: since(started) })
}

/// Sends a message and receives it back.
async fn echo(connection: &impl Connection<Data = Message>) -> Result<(), bertha_core::Error> {
    connection.send(MESSAGE).await?;
    connection.recv().await.map(drop)
}

/// Returns the microseconds since `started`.
fn since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1e6
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "setting up a connection")(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_leads_to_an_echo() {
        use Way::{
            Bare, Memory, NoiseShared, NoiseStatic, OneRtt, OneRttIdentity, OneRttShared, ZeroRtt,
            ZeroRttShared,
        };
        let ways =
            [Bare, OneRtt, ZeroRtt, OneRttShared, ZeroRttShared, OneRttIdentity, NoiseShared, NoiseStatic];
        for way in ways.into_iter().chain([Memory]) {
            let trials = way.sample(3).unwrap();
            assert_eq!(trials.len(), 3, "{}", way.name());
            assert!(trials.iter().all(|trial| trial.set_up > 0.0 && trial.round_trip > 0.0), "{trials:?}");
        }
    }

    #[cfg(feature = "quic")]
    #[test]
    fn every_way_over_quic_leads_to_an_echo() {
        for resumed in [false, true] {
            for way in [Way::Quic { resumed }, Way::Quinn { resumed }] {
                assert_eq!(way.sample(3).unwrap().len(), 3, "{}", way.name());
            }
        }
    }

    #[cfg(feature = "tls")]
    #[test]
    fn every_way_over_tls_leads_to_an_echo() {
        for resumed in [false, true] {
            for way in [Way::Tls { resumed }, Way::TokioRustls { resumed }] {
                assert_eq!(way.sample(3).unwrap().len(), 3, "{}", way.name());
            }
        }
    }
}
