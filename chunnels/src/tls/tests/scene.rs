//! Two ends, and the wire between them.

use super::super::machine::Machine;
use super::super::{LARGEST, Tls, TlsConnection};
use crate::certificates::side::Config;
use bertha_core::{
    Addr, Base, BoxFuture, Buf, Chunnel, ConnectContext, Connected, Connection, Connector, Error, Node, Role,
};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use std::io::IoSlice;
use std::sync::Arc;

pub(super) type Wire = PairConnection<TokioRuntime, Buf>;
pub(super) type End = TlsConnection<Wire>;

/// The transcript of most connections in these tests.
pub(super) const TRANSCRIPT: [u8; 32] = [5; 32];

pub(super) struct Nowhere;

impl<Inner> Connector<Inner> for Nowhere {
    fn connect<'a>(&'a self, _: Addr, _: Vec<Node>) -> BoxFuture<'a, Result<Connected<Inner>, Error>>
    where
        Inner: 'a,
    {
        panic!("no further connection is made")
    }
}

pub(super) fn wire() -> (Wire, Wire) {
    pair_of(TokioRuntime)
}

/// Makes one end over this wire, with this transcript.
pub(super) async fn end(tls: &Tls, wire: Wire, transcript: Option<[u8; 32]>) -> Result<End, Error> {
    let role = if tls.side.is_client() { Role::Client } else { Role::Server };
    tls.connect_wrap(wire, ConnectContext::new(&Nowhere, role).with_transcript(transcript)).await
}

/// Returns both ends.
pub(super) async fn try_ends(client: &Tls, server: &Tls) -> (Result<End, Error>, Result<End, Error>) {
    let (here, there) = wire();
    tokio::join!(end(client, here, Some(TRANSCRIPT)), end(server, there, Some(TRANSCRIPT)))
}

/// Returns both ends of a connection that has to succeed.
pub(super) async fn ends(client: &Tls, server: &Tls) -> (End, End) {
    let (here, there) = try_ends(client, server).await;
    (here.unwrap(), there.unwrap())
}

/// Sends a message each way.
pub(super) async fn works((here, there): &(End, End)) {
    for (from, to) in [(here, there), (there, here)] {
        from.send(message(from, b"message")).await.unwrap();
        assert_eq!(&*to.recv().await.unwrap(), b"message");
    }
}

pub(super) fn message(end: &End, bytes: &[u8]) -> Buf {
    let mut message = end.base().buffer(bytes.len()).unwrap();
    message.copy_from_slice(bytes);
    message
}

/// The bytes that passed on a wire in one direction: the records.
#[derive(Debug, Default)]
pub(super) struct Records {
    stream: Vec<u8>,
}

impl Records {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.stream.extend_from_slice(bytes);
    }

    /// Returns the whole records, each with its header.
    pub(super) fn whole(&self) -> Vec<Vec<u8>> {
        let (mut rest, mut records) = (&self.stream[..], Vec::new());
        while let Some(header) = rest.first_chunk::<5>() {
            let len = 5 + usize::from(u16::from_be_bytes([header[3], header[4]]));
            let Some((record, behind)) = rest.split_at_checked(len) else { break };
            records.push(record.to_vec());
            rest = behind;
        }
        records
    }
}

/// Passes all bytes from one wire to another until one wire ends. `pass` gets the bytes, and returns the
/// bytes that go on, and true if the wire is cut behind them.
pub(super) async fn relay(from: Arc<Wire>, to: Arc<Wire>, mut pass: impl FnMut(&[u8]) -> (Vec<u8>, bool)) {
    while let Ok(bytes) = from.recv().await {
        let (bytes, is_cut) = pass(&bytes);
        if to.send(Buf::copy_of(&bytes, 0).unwrap()).await.is_err() || is_cut {
            break;
        }
    }
    let _ = (from.close().await, to.close().await);
}

/// An end that completes the handshake and is then controlled by the test.
pub(super) struct Raw {
    pub(super) machine: Machine,
    wire: Wire,
    failed: Option<rustls::Error>,
}

impl Raw {
    /// Completes the handshake, or fails in it.
    pub(super) async fn new(config: Config, wire: Wire) -> Self {
        let mut raw = Self { machine: Machine::new(config, LARGEST).unwrap(), wire, failed: None };
        raw.flush().await;
        while raw.machine.is_handshaking() && raw.failed.is_none() {
            raw.take().await;
            raw.flush().await;
        }
        raw
    }

    pub(super) fn failure(&self) -> Option<&rustls::Error> {
        self.failed.as_ref()
    }

    async fn take(&mut self) {
        let Ok(arrived) = self.wire.recv().await else {
            self.failed = Some(rustls::Error::General("the wire has ended".into()));
            return;
        };
        let mut bytes = &arrived[..];
        while !bytes.is_empty() && self.failed.is_none() {
            self.failed = self.machine.take(&mut bytes).err();
        }
    }

    async fn flush(&mut self) {
        let mut records = Vec::new();
        self.machine.records(60_000, |len| Buf::new(len, 0), &mut records).unwrap();
        let _ = self.wire.send_batch(records.into_iter()).await;
    }

    /// Sends these bytes within TLS.
    pub(super) async fn write(&mut self, bytes: &[u8]) {
        self.machine.write(&[IoSlice::new(bytes)]).unwrap();
        self.flush().await;
    }

    /// Returns the first bytes within TLS.
    pub(super) async fn proof(&mut self) -> [u8; 32] {
        let (mut proof, mut known) = ([0; 32], 0);
        loop {
            known = self.machine.take_proof(&mut proof, known);
            if known == proof.len() {
                return proof;
            }
            self.take().await;
            assert!(self.failed.is_none(), "{:?}", self.failed);
        }
    }
}
