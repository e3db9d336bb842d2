//! Setting up a connection, to the echo of its first message: the thesis's Figure 3.4.
//!
//! Client and server share a thread and a runtime on one core, so that what is measured is their work and not the waking of
//! another core. Each sample is a runtime and a server of its own and some clients, one after the other.
//!
//! A trial begins with nothing but settings, the server's address and, for 0-RTT, the cache: making the stack, opening the socket, and all
//! that the server does until the echo is there count. Closing does not: a client waits until the server has seen its end, and then
//! drops what it has. What the runtime does later, as to release a socket or a task that was dropped, falls into the next trial, of all
//! ways alike; giving it a turn before the next trial begins changes no ratio by more than it varies anyway.

mod bare;
mod joined;
mod negotiated;

use crate::{Error, ErrorKind, cores};
use bertha_chunnels::Serialize;
use bertha_core::{Bottom, Connection, Stack, make_stack};
use bertha_datapath_kernel::TokioRuntime;
use bertha_rendezvous::{MemoryStore, RedisStore};
use negotiated::Proof;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::time::timeout;

/// The message.
type Message = [u8; 8];
const MESSAGE: Message = [7; 8];

/// The stack of all ends, which encodes the message as the bytes that it is.
type Layers = Stack<Serialize<Message>, Bottom>;

fn stack() -> Layers {
    make_stack!(Serialize::<Message>::new())
}

/// Clients before the first that counts: allocators and caches get warm, and a client gets to know the server.
const WARM_UP: usize = 5;

/// How long one client may take. Longer means that a datagram was lost, for which nobody sends another.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a connection is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Not at all: a socket of tokio's.
    Bare,
    /// The client waits for the answer to its offer.
    OneRtt,
    /// It sends the message with its offer.
    ZeroRtt,
    /// As `OneRtt`, and both ends show that they have a key.
    OneRttShared,
    /// As `ZeroRtt`, and both ends show that they have a key.
    ZeroRttShared,
    /// As `OneRtt`, and the server shows its identity.
    OneRttIdentity,
    /// The client joins others through a store in its own process.
    Memory,
    /// The client joins others through the Redis server at this address.
    Redis(String),
}

/// One client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// From nothing to the first echo, in microseconds.
    pub set_up: f64,
    /// One more exchange, in microseconds: an echo; of those that join through a store, a read of that.
    pub round_trip: f64,
}

impl Way {
    /// What the figure calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bare => "bare UDP",
            Self::OneRtt => "1-RTT",
            Self::ZeroRtt => "0-RTT",
            Self::OneRttShared => "1-RTT, shared key",
            Self::ZeroRttShared => "0-RTT, shared key",
            Self::OneRttIdentity => "1-RTT, identity",
            Self::Memory => "rendezvous, in memory",
            Self::Redis(_) => "rendezvous, Redis",
        }
    }

    /// Has so many clients connect on one core.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] when the thread can't be pinned, [`ErrorKind::Socket`] and [`ErrorKind::Bertha`] when a connection
    /// fails, and [`ErrorKind::Stalled`] when a datagram was lost.
    pub fn sample(&self, trials: usize) -> Result<Vec<Trial>, Error> {
        let (core, _) = cores::Placement::OneCore.cores()?;
        cores::run_on(core, || self.on_one_thread(trials))
    }

    /// As [`sample`](Self::sample), without a thread of its own, for the instruction counter.
    ///
    /// # Errors
    /// Those of [`sample`](Self::sample).
    pub fn on_one_thread(&self, trials: usize) -> Result<Vec<Trial>, Error> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))?;
        runtime.block_on(async {
            match self {
                Self::Bare => repeat(trials, bare::Client::new().await?).await,
                Self::OneRtt => repeat(trials, negotiated::AfterAnswer::new(Proof::None).await?).await,
                Self::ZeroRtt => repeat(trials, negotiated::AtOnce::new(Proof::None).await?).await,
                Self::OneRttShared => {
                    repeat(trials, negotiated::AfterAnswer::new(Proof::SharedKey).await?).await
                }
                Self::ZeroRttShared => repeat(trials, negotiated::AtOnce::new(Proof::SharedKey).await?).await,
                Self::OneRttIdentity => {
                    repeat(trials, negotiated::AfterAnswer::new(Proof::Identity).await?).await
                }
                Self::Memory => {
                    repeat(trials, joined::Client::new(MemoryStore::new(TokioRuntime)).await?).await
                }
                Self::Redis(url) => {
                    let store = RedisStore::new(url).map_err(failed)?;
                    repeat(trials, joined::Client::new(store).await?).await
                }
            }
        })
    }
}

/// A client that connects again and again.
trait Connect {
    /// Connects, gets one echo, makes one more exchange, and closes.
    async fn connect(&mut self) -> Result<Trial, Error>;
}

async fn repeat(trials: usize, mut client: impl Connect) -> Result<Vec<Trial>, Error> {
    let mut measured = Vec::with_capacity(trials);
    for number in 0..WARM_UP + trials {
        let trial = timeout(PATIENCE, client.connect()).await;
        let trial = trial.map_err(Error::while_doing(ErrorKind::Stalled, "awaiting an echo"))??;
        if number >= WARM_UP {
            measured.push(trial);
        }
    }
    Ok(measured)
}

/// Sends a message and receives it back.
async fn echo(connection: &impl Connection<Data = Message>) -> Result<(), bertha_core::Error> {
    connection.send(MESSAGE).await?;
    connection.recv().await.map(drop)
}

/// Microseconds since then.
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
        let ways = [
            Way::Bare,
            Way::OneRtt,
            Way::ZeroRtt,
            Way::OneRttShared,
            Way::ZeroRttShared,
            Way::OneRttIdentity,
            Way::Memory,
        ];
        for way in ways {
            let trials = way.sample(3).unwrap();
            assert_eq!(trials.len(), 3, "{}", way.name());
            assert!(trials.iter().all(|trial| trial.set_up > 0.0 && trial.round_trip > 0.0), "{trials:?}");
        }
    }
}
