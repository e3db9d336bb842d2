//! The transfer over stacks of Chunnels.

use super::{CHUNK, LOOPBACK, REQUEST, Setup, file};
use crate::harness::{Placement, meet};
use crate::{Error, ErrorKind};
use bertha_chunnels::{Fragment, Noise, Nothing, Ordered, Reliable};
use bertha_core::{Addr, Base, Bottom, Buf, Connection, Datapath, Runtime, Stack, make_stack};
use bertha_datapath_kernel::{Udp, Waiting};
use bertha_negotiation::{Incoming, Negotiate, Runs};
use futures_util::future::try_join_all;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Number of bytes that a negotiated connection puts in front of each message.
pub(super) const LINK: usize = 8;

/// Length of a piece's headers: `Reliable`'s and its own.
const PIECE: usize = 25 + 15;

/// The stack that moves files.
pub(super) type Transport<Below = Bottom> = Stack<Ordered, Stack<Fragment, Stack<Reliable, Below>>>;

/// Returns the stack whose packets fill datagrams of the setup, of which `below` bytes go to layers below.
pub(super) fn transport<Below>(setup: &Setup, below: usize, layers: Below) -> Transport<Below> {
    let packet = setup.datagram - LINK - below;
    let fragment = Fragment::new().piece(packet - PIECE);
    Stack::new(Ordered::new(), Stack::new(fragment, Stack::new(Reliable::new().packet(packet), layers)))
}

/// Returns the length of a message: as many whole pieces as fit into [`CHUNK`], so that no packet is nearly
/// empty. A sender of files is free to choose this length.
pub(super) fn message(setup: &Setup, below: usize) -> usize {
    let piece = setup.datagram - LINK - below - PIECE;
    CHUNK / piece * piece
}

pub(super) fn plain(setup: &Setup) -> Result<f64, Error> {
    run(&Ends::loopback(), setup, 0, transport(setup, 0, make_stack!()))
}

/// Moves a file over UDP by the stack `ordered,fragment,reliable` without settings, as the command `bertha` makes it of these names.
/// Returns bytes per second.
///
/// # Errors
/// Errors of either end.
pub(crate) fn by_names(bytes: usize) -> Result<f64, Error> {
    let setup = Setup { connections: 1, bytes, datagram: LOOPBACK };
    let stack = || make_stack!(Ordered::new(), Fragment::new(), Reliable::new());
    between(&Ends::loopback(), &setup, CHUNK, stack(), stack())
}

/// The datapaths of a transfer.
#[derive(Debug, Clone)]
pub(super) struct Ends<D> {
    /// Datapath of the sender of files.
    pub(super) server: D,
    /// Datapath of the receiver.
    pub(super) client: D,
    /// Address of the sender.
    pub(super) at: Addr,
}

impl Ends<Udp> {
    pub(super) fn loopback() -> Self {
        Self { server: Udp::new(), client: Udp::new(), at: (Ipv4Addr::LOCALHOST, 0).into() }
    }

    /// Returns ends whose receiver waits as a receiver by hand does: it asks the kernel again and again.
    pub(super) fn polling() -> Self {
        Self { client: Udp::new().waiting(Waiting::Spin), ..Self::loopback() }
    }
}

/// Moves the files once over any datapath, as [`Contender::Bertha`](super::Contender::Bertha) does.
#[cfg(feature = "dpdk")]
pub(super) fn over<D>(ends: &Ends<D>, setup: &Setup) -> Result<f64, Error>
where
    D: Datapath + Clone + Runs<Transport, Out: Connection<Data = Buf>>,
{
    run(ends, setup, 0, transport(setup, 0, make_stack!()))
}

pub(super) fn with_nothing(setup: &Setup) -> Result<f64, Error> {
    run(&Ends::loopback(), setup, 0, make_stack!(Nothing, transport(setup, 0, make_stack!())))
}

pub(super) fn encrypted(setup: &Setup) -> Result<f64, Error> {
    let header = bertha_chunnels::noise::wire::HEADER;
    run(&Ends::loopback(), setup, header, transport(setup, header, make_stack!(Noise::shared(&[7; 32]))))
}

/// Moves the files once on the runtime of the calling task, from end to end of a single process.
#[cfg(feature = "caladan")]
pub(super) async fn within_one_runtime<D>(ends: Ends<D>, setup: Setup) -> Result<f64, Error>
where
    D: Datapath + Clone + Runs<Transport, Out: Connection<Data = Buf>>,
{
    let stack = || transport(&setup, 0, make_stack!());
    let incoming = listen(stack(), &ends).await?;
    let server = incoming.local_addr();
    let serving = serve(incoming, 1, file(&setup), message(&setup, 0));
    let stack = stack();
    let client = ends.client.clone();
    let measuring = measure(&stack, &client, server, &setup);
    let (served, measured) = futures_util::join!(serving, measuring);
    served.and(measured)
}

fn run<S, D>(ends: &Ends<D>, setup: &Setup, below: usize, stack: S) -> Result<f64, Error>
where
    S: Negotiate + Clone + Send + Sync + 'static,
    D: Datapath + Clone + Runs<S, Out: Connection<Data = Buf>>,
{
    between(ends, setup, message(setup, below), stack.clone(), stack)
}

/// Moves the files once, in messages of `message` bytes, from a server with a stack to clients with another
/// stack.
pub(super) fn between<S, D>(
    ends: &Ends<D>,
    setup: &Setup,
    message: usize,
    stack: S,
    other: S,
) -> Result<f64, Error>
where
    S: Negotiate + Clone + Send + Sync + 'static,
    D: Datapath + Clone + Runs<S, Out: Connection<Data = Buf>>,
{
    let file = file(setup);
    let (tell, told) = tokio::sync::oneshot::channel();
    meet(
        Placement::AcrossCores,
        || async {
            let incoming = listen(stack, ends).await?;
            // A client that has given up reports an error of its own.
            let _ = tell.send(incoming.local_addr());
            serve(incoming, setup.connections, file, message).await
        },
        || async {
            let server =
                told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
            measure(&other, &ends.client, server, setup).await
        },
    )
}

pub(super) async fn listen<S, D>(stack: S, ends: &Ends<D>) -> Result<Incoming<S, D>, Error>
where
    S: Negotiate + 'static,
    D: Datapath + Clone + Runs<S>,
{
    stack.listen(ends.server.clone(), ends.at.clone()).await.map_err(failed)
}

pub(super) async fn serve<S, D>(
    mut incoming: Incoming<S, D>,
    connections: usize,
    file: Arc<[u8]>,
    message: usize,
) -> Result<(), Error>
where
    S: Negotiate + 'static,
    D: Datapath + Runs<S, Out: Connection<Data = Buf>>,
{
    // Dropping a task ends it.
    let mut clients = Vec::new();
    for _ in 0..connections {
        let Some(accepted) = incoming.next_or_refusal().await else { break };
        let connection = accepted.map_err(failed)?;
        let file = file.clone();
        let runtime = connection.base().runtime().clone();
        let (tell, told) = oneshot::channel();
        let serving = async move {
            connection.recv().await?;
            let mut made = Ok(());
            let messages = file.chunks(message).map_while(|bytes| {
                let message = copy(connection.base(), bytes);
                message.map_err(|error| made = Err(error)).ok()
            });
            connection.send_batch(messages).await?;
            made?;
            // The client leaves once it has everything, perhaps before its last acknowledgement.
            connection.close().await.or_else(|error| match error.kind() {
                bertha_core::ErrorKind::Closed => Ok(()),
                _ => Err(error),
            })
        };
        // The receiver exists as long as the tasks live.
        clients.push((runtime.spawn(async move { drop(tell.send(serving.await)) }), told));
    }
    for (_task, served) in clients {
        served.await.map_err(Error::while_doing(ErrorKind::Core, "serving a file"))?.map_err(failed)?;
    }
    Ok(())
}

pub(super) fn copy(base: &impl Base, bytes: &[u8]) -> Result<Buf, bertha_core::Error> {
    let mut message = base.buffer(bytes.len())?;
    message.copy_from_slice(bytes);
    Ok(message)
}

pub(super) async fn measure<S, D>(stack: &S, client: &D, server: Addr, setup: &Setup) -> Result<f64, Error>
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
        let mut received = 0;
        let mut burst = Vec::new();
        while received < setup.bytes {
            connection.recv_batch(&mut burst, 64).await?;
            received += burst.drain(..).map(|message: Buf| message.len()).sum::<usize>();
        }
        Ok(())
    });
    try_join_all(receiving).await.map_err(failed)?;
    let elapsed = start.elapsed();
    // The server closes, and waits for these ends meanwhile.
    let closing = connections.iter().map(async |connection| {
        connection.recv().await.err();
        // An end that is dropped without it would be cut for the server.
        let _ = connection.close().await;
    });
    futures_util::future::join_all(closing).await;
    Ok((setup.connections * setup.bytes) as f64 / elapsed.as_secs_f64())
}

pub(super) fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "moving files over Bertha")(error)
}
