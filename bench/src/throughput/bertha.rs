//! The transfer over stacks of Chunnels.

use super::meeting::{meet, runtime};
use super::{CHUNK, REQUEST, Setup, file, memory};
use crate::{Error, ErrorKind};
use bertha_chunnels::{Fragment, Nothing, Ordered, Reliable, Seal};
use bertha_core::{Addr, Base, Bottom, Buf, Connection, Datapath, Stack, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Incoming, Negotiate, Runs};
use futures_util::future::try_join_all;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use tokio::task::JoinSet;

/// The four bytes that a negotiated connection puts in front of each message.
const LINK: usize = 4;

/// What a piece has in front of it, in `Reliable` and of its own.
const PIECE: usize = 25 + 15;

/// The most bytes on the way of datagrams that nobody asks for again: what fits in a socket's buffer.
const ON_THE_WAY: u64 = 96 * 1024;

/// The stack that moves files.
pub type Transport<Below = Bottom> = Stack<Ordered, Stack<Fragment, Stack<Reliable, Below>>>;

/// Packets fill datagrams of the setup, of which `below` bytes go to layers below.
pub(super) fn transport<Below>(setup: &Setup, below: usize, layers: Below) -> Transport<Below> {
    let packet = setup.datagram - LINK - below;
    let fragment = Fragment::new().piece(packet - PIECE);
    Stack::new(Ordered::new(), Stack::new(fragment, Stack::new(Reliable::new().packet(packet), layers)))
}

/// How long a message is: as many whole pieces as go into [`CHUNK`], so that no packet is nearly empty. Whoever sends a file is
/// free to choose that.
fn message(setup: &Setup, below: usize) -> usize {
    let piece = setup.datagram - LINK - below - PIECE;
    CHUNK / piece * piece
}

pub(super) fn plain(setup: &Setup) -> Result<f64, Error> {
    over(&Ends::loopback(), setup)
}

/// Where the transfer takes place.
#[derive(Debug, Clone)]
pub struct Ends<D> {
    /// The datapath of whoever has the files.
    pub server: D,
    /// The datapath of whoever asks for them.
    pub client: D,
    /// Where the server listens.
    pub at: Addr,
}

impl Ends<Udp> {
    fn loopback() -> Self {
        Self { server: Udp::new(), client: Udp::new(), at: (Ipv4Addr::LOCALHOST, 0).into() }
    }
}

/// Moves the files once, as [`Contender::Bertha`](super::Contender::Bertha), over any datapath. Returns the goodput of all
/// connections together, in bytes per second.
///
/// # Errors
/// Those of [`Contender::run`](super::Contender::run).
pub fn over<D>(ends: &Ends<D>, setup: &Setup) -> Result<f64, Error>
where
    D: Datapath + Clone + Runs<Transport, Out: Connection<Data = Buf>>,
{
    run(ends, setup, 0, transport(setup, 0, make_stack!()))
}

pub(super) fn with_nothing(setup: &Setup) -> Result<f64, Error> {
    run(&Ends::loopback(), setup, 0, make_stack!(Nothing, transport(setup, 0, make_stack!())))
}

pub(super) fn sealed(setup: &Setup) -> Result<f64, Error> {
    let header = bertha_chunnels::seal::wire::HEADER;
    run(&Ends::loopback(), setup, header, transport(setup, header, make_stack!(Seal::new(&[7; 32]))))
}

fn run<S, D>(ends: &Ends<D>, setup: &Setup, below: usize, stack: S) -> Result<f64, Error>
where
    S: Negotiate + Clone + Send + Sync + 'static,
    D: Datapath + Clone + Runs<S, Out: Connection<Data = Buf>>,
{
    let (file, message, other) = (file(setup), message(setup, below), stack.clone());
    let connections = setup.connections;
    meet(
        async move |tell| {
            let incoming = listen(stack, ends).await?;
            // If the client has given up meanwhile, it has an error of its own.
            let _ = tell.send(incoming.local_addr());
            serve(incoming, connections, file, message).await
        },
        async move |server| measure(&other, &ends.client, server, setup).await,
    )
}

async fn listen<S, D>(stack: S, ends: &Ends<D>) -> Result<Incoming<S, D>, Error>
where
    S: Negotiate + 'static,
    D: Datapath + Clone + Runs<S>,
{
    stack.listen(ends.server.clone(), ends.at.clone()).await.map_err(failed)
}

async fn serve<S, D>(
    mut incoming: Incoming<S, D>,
    connections: usize,
    file: Arc<[u8]>,
    message: usize,
) -> Result<(), Error>
where
    S: Negotiate + 'static,
    D: Datapath + Runs<S, Out: Connection<Data = Buf>>,
{
    let mut clients = JoinSet::new();
    for _ in 0..connections {
        let Some(accepted) = incoming.next().await else { break };
        let (connection, file) = (accepted.map_err(failed)?, file.clone());
        clients.spawn(async move {
            connection.recv().await?;
            let mut made = Ok(());
            let messages = file.chunks(message).map_while(|bytes| {
                let message = copy(connection.base(), bytes);
                message.map_err(|error| made = Err(error)).ok()
            });
            connection.send_batch(messages).await?;
            made?;
            // The client leaves once it has everything, perhaps before it has said so.
            connection.close().await.or_else(|error| match error.kind() {
                bertha_core::ErrorKind::Closed => Ok(()),
                _ => Err(error),
            })
        });
    }
    // The first that fails is the first to be heard of.
    while let Some(served) = clients.join_next().await {
        served.map_err(Error::while_doing(ErrorKind::Core, "serving a file"))?.map_err(failed)?;
    }
    Ok(())
}

fn copy(base: &impl Base, bytes: &[u8]) -> Result<Buf, bertha_core::Error> {
    let mut message = base.buffer(bytes.len())?;
    message.copy_from_slice(bytes);
    Ok(message)
}

async fn measure<S, D>(stack: &S, client: &D, server: Addr, setup: &Setup) -> Result<f64, Error>
where
    S: Negotiate + Sync,
    D: Datapath + Clone + Runs<S, Out: Connection<Data = Buf>>,
{
    let connecting =
        (0..setup.connections).map(|_| stack.connect(client.clone(), server.clone()).into_future());
    let connections = try_join_all(connecting).await.map_err(failed)?;
    let start = Instant::now();
    let receiving = connections.iter().map(async |connection| {
        let mut request = connection.base().buffer(REQUEST.len())?;
        request.copy_from_slice(REQUEST);
        connection.send(request).await?;
        let (mut received, mut burst) = (0, Vec::new());
        while received < setup.bytes {
            connection.recv_batch(&mut burst, 64).await?;
            received += burst.drain(..).map(|message: Buf| message.len()).sum::<usize>();
        }
        Ok(())
    });
    try_join_all(receiving).await.map_err(failed)?;
    let elapsed = start.elapsed();
    // The server closes, and waits for these ends meanwhile.
    let closing = connections.iter().map(async |connection| connection.recv().await.err());
    futures_util::future::join_all(closing).await;
    Ok((setup.connections * setup.bytes) as f64 / elapsed.as_secs_f64())
}

/// Datagrams through the datapath and a Chunnel that does nothing, without anything that would repeat them.
pub(super) fn unreliable(setup: &Setup) -> Result<f64, Error> {
    let (file, connections) = (file(setup), setup.connections);
    let arrived: Arc<[AtomicU64]> = (0..connections).map(|_| AtomicU64::new(0)).collect();
    let (stack, seen, len) = (make_stack!(Nothing), arrived.clone(), setup.datagram - LINK);
    meet(
        async move |tell| {
            let mut incoming = listen(stack, &Ends::loopback()).await?;
            // As above.
            let _ = tell.send(incoming.local_addr());
            let mut clients = JoinSet::new();
            for _ in 0..connections {
                let Some(accepted) = incoming.next().await else { break };
                let (connection, file, seen) = (accepted.map_err(failed)?, file.clone(), seen.clone());
                clients.spawn(async move {
                    // Which of them this is, since it has to know what has arrived there.
                    let number = usize::from(connection.recv().await?[0]);
                    let mut sent = 0;
                    for burst in file.chunks(len * 32) {
                        while sent - seen[number].load(Relaxed)
                            > ON_THE_WAY.saturating_sub(burst.len() as u64).max(1)
                        {
                            tokio::task::yield_now().await;
                        }
                        let mut made = Ok(());
                        let datagrams = burst.chunks(len).map_while(|chunk| {
                            copy(connection.base(), chunk).map_err(|error| made = Err(error)).ok()
                        });
                        connection.send_batch(datagrams).await?;
                        made?;
                        sent += burst.len() as u64;
                    }
                    connection.recv().await.err();
                    Ok::<_, bertha_core::Error>(())
                });
            }
            while let Some(served) = clients.join_next().await {
                served.map_err(Error::while_doing(ErrorKind::Core, "serving a file"))?.map_err(failed)?;
            }
            Ok(())
        },
        async move |server: Addr| {
            let connecting =
                (0..connections).map(|_| stack.connect(Udp::new(), server.clone()).into_future());
            let ends = try_join_all(connecting).await.map_err(failed)?;
            let start = Instant::now();
            let receiving =
                ends.iter().zip(arrived.iter()).enumerate().map(async |(number, (end, arrived))| {
                    let mut request = end.base().buffer(1)?;
                    request[0] = number as u8;
                    end.send(request).await?;
                    let mut burst = Vec::new();
                    while (arrived.load(Relaxed) as usize) < setup.bytes {
                        end.recv_batch(&mut burst, 64).await?;
                        let bytes = burst.drain(..).map(|message: Buf| message.len() as u64).sum();
                        arrived.fetch_add(bytes, Relaxed);
                    }
                    Ok(())
                });
            try_join_all(receiving).await.map_err(failed)?;
            let elapsed = start.elapsed();
            for end in &ends {
                end.close().await.map_err(failed)?;
            }
            Ok((connections * setup.bytes) as f64 / elapsed.as_secs_f64())
        },
    )
}

/// What the instruction counter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The transport alone.
    Plain,
    /// Below a Chunnel that does nothing.
    WithNothing,
    /// Above `Seal`.
    Sealed,
    /// The transport alone, between two ends in memory: the same instructions each time.
    InMemory,
    /// The same below a Chunnel that does nothing.
    InMemoryWithNothing,
}

/// Moves so many messages of 64 KiB on one thread, for the instruction counter.
///
/// # Errors
/// Those of [`Contender::run`](super::Contender::run).
pub fn probe(probe: Probe, messages: u64) -> Result<(), Error> {
    let setup = Setup { connections: 1, bytes: messages as usize * CHUNK, datagram: super::ETHERNET };
    let transport = |below| transport(&setup, below, make_stack!());
    match probe {
        Probe::Plain => on_one_thread(&setup, 0, transport(0)),
        Probe::WithNothing => on_one_thread(&setup, 0, make_stack!(Nothing, transport(0))),
        Probe::Sealed => {
            let header = bertha_chunnels::seal::wire::HEADER;
            on_one_thread(&setup, header, make_stack!(transport(header), Seal::new(&[7; 32])))
        }
        Probe::InMemory => memory::plain(messages as usize),
        Probe::InMemoryWithNothing => memory::with_nothing(messages as usize),
    }
}

fn on_one_thread<S>(setup: &Setup, below: usize, stack: S) -> Result<(), Error>
where
    S: Negotiate + Clone + Send + Sync + 'static,
    Udp: Runs<S, Out: Connection<Data = Buf>>,
{
    let file = file(setup);
    runtime()?.block_on(async {
        let ends = Ends::loopback();
        let incoming = listen(stack.clone(), &ends).await?;
        let server = incoming.local_addr();
        let serving = serve(incoming, 1, file, message(setup, below));
        let measuring = measure(&stack, &ends.client, server, setup);
        let (served, measured) = futures_util::join!(serving, measuring);
        served.and(measured.map(drop))
    })
}

pub(super) fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "moving files over Bertha")(error)
}
