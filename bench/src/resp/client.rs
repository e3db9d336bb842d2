//! Bertha's own client, for datapaths that `redis-benchmark` does not know.

use super::load::Sample;
use crate::harness::{in_time, runtime};
use crate::{Error, ErrorKind};
use bertha_core::{Addr, Base, Chunk, Connection, Datapath};
use std::time::Instant;

/// Number of connections, as many as `redis-benchmark` has.
const CONNECTIONS: u32 = 50;

/// Replies to the commands of this client, which finds every key that it asks for.
const STORED: &[u8] = b"+OK\r\n";
const FOUND: &[u8] = b"$3\r\nxxx\r\n";

/// The load on a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnLoad {
    /// Number of commands that each connection sends before it waits for replies.
    pub(super) pipelined: u32,
    /// Number of commands of each kind.
    pub(super) requests: u32,
}

impl OwnLoad {
    /// Runs the load on the calling thread: first all SET, then all GET, over common keys.
    ///
    /// # Errors
    /// Errors of the connections; [`ErrorKind::Stalled`] for any other reply than the right one, and after
    /// five minutes.
    pub(super) fn run<D: Datapath<Chunk>>(self, datapath: &D, to: &Addr) -> Result<Sample, Error> {
        runtime()?.block_on(in_time(async {
            let mut connections = Vec::new();
            for _ in 0..CONNECTIONS {
                connections.push(datapath.connect(to.clone()).await.map_err(failed)?);
            }
            let set = self.phase(&connections, STORED, |key, into| {
                command(into, &[b"SET", key, b"xxx"]);
            });
            let set = set.await?;
            let get = self.phase(&connections, FOUND, |key, into| command(into, &[b"GET", key])).await?;
            for connection in &connections {
                connection.close().await.map_err(failed)?;
            }
            Ok(Sample { set, get })
        }))
    }

    /// Returns the commands of a kind that are answered in a second.
    async fn phase(
        self,
        connections: &[impl Connection<Data = Chunk>],
        reply: &[u8],
        command: impl Fn(&[u8], &mut Vec<u8>),
    ) -> Result<f64, Error> {
        let rounds = (self.requests / CONNECTIONS / self.pipelined).max(1);
        let begun = Instant::now();
        let clients = connections.iter().enumerate().map(|(number, connection)| {
            let command = &command;
            async move {
                let mut burst = Vec::new();
                for round in 0..rounds {
                    burst.clear();
                    for at in 0..self.pipelined {
                        command(format!("key:{number}:{round}:{at}").as_bytes(), &mut burst);
                    }
                    let mut buffer = connection.base().buffer(burst.len()).map_err(failed)?;
                    buffer.copy_from_slice(&burst);
                    connection.send(buffer.into()).await.map_err(failed)?;
                    replies(connection, reply, self.pipelined).await?;
                }
                Ok::<(), Error>(())
            }
        });
        futures_util::future::try_join_all(clients).await?;
        Ok(f64::from(rounds * self.pipelined * CONNECTIONS) / begun.elapsed().as_secs_f64())
    }
}

/// Waits for `count` of this reply.
async fn replies(connection: &impl Connection<Data = Chunk>, reply: &[u8], count: u32) -> Result<(), Error> {
    let mut at = 0;
    let expected = reply.len() * count as usize;
    while at < expected {
        let chunk = connection.recv().await.map_err(failed)?;
        for byte in &*chunk {
            if at >= expected || *byte != reply[at % reply.len()] {
                return Err(Error::new(
                    ErrorKind::Stalled,
                    "the store sends another reply than the right one",
                ));
            }
            at += 1;
        }
        if chunk.is_end() {
            return Err(Error::new(ErrorKind::Stalled, "the store ends the connection"));
        }
    }
    Ok(())
}

/// Adds a command, an array of its words.
fn command(into: &mut Vec<u8>, words: &[&[u8]]) {
    into.extend(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        into.extend(format!("${}\r\n", word.len()).as_bytes());
        into.extend_from_slice(word);
        into.extend_from_slice(b"\r\n");
    }
}

fn failed(error: bertha_core::Error) -> Error {
    Error::new(ErrorKind::Bertha, "a client of the store").because(error)
}
