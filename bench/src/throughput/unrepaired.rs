//! Datagrams over a stack of a Chunnel that does nothing, without acknowledgements: what raw datagrams are to compare with.
//!
//! The sender reads the receiver's progress in memory, as that of [raw datagrams](super::blast) does, so that nothing is lost. It runs
//! on any runtime.

use super::Setup;
use super::bertha::{Ends, LINK, copy, failed};
use super::blast::{CALL, IN_FLIGHT, TIMEOUT};
use crate::harness::{Placement, meet};
use crate::{Error, ErrorKind};
use bertha_chunnels::Nothing;
use bertha_core::{
    Addr, Base, Bottom, Buf, Connection, Datapath, ErrorKind as Failed, Runtime, Stack, make_stack,
};
use bertha_negotiation::{Incoming, Negotiate, Runs};
use futures_util::future::try_join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::time::Instant;
use tokio::sync::oneshot;

/// Largest number of datagrams that are sent or received in a call.
const BURST: usize = 64;

type Empty = Stack<Nothing, Bottom>;

/// The number of bytes that have arrived, for each connection.
type Progress = Arc<[AtomicU64]>;

fn progress(setup: &Setup) -> Progress {
    (0..setup.connections).map(|_| AtomicU64::new(0)).collect()
}

/// Moves the files once, with each end on a core of its own. Returns the goodput in bytes per second.
pub(super) fn over<D>(ends: &Ends<D>, setup: &Setup, leaving: Leaving) -> Result<f64, Error>
where
    D: Datapath + Clone + Runs<Empty, Out: Connection<Data = Buf>>,
{
    let progress = progress(setup);
    let (tell, told) = oneshot::channel();
    meet(
        Placement::AcrossCores,
        || async {
            let incoming = listen(ends).await?;
            // A client that has given up reports an error of its own.
            let _ = tell.send(incoming.local_addr());
            serve(incoming, setup, leaving, progress.clone()).await.map(drop)
        },
        || async {
            let server =
                told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
            measure(&ends.client, server, setup, &progress).await
        },
    )
}

/// Moves the files once on the runtime of the calling task, from end to end of a single process.
#[cfg(feature = "caladan")]
pub(super) async fn within_one_runtime<D>(ends: Ends<D>, setup: Setup) -> Result<f64, Error>
where
    D: Datapath + Clone + Runs<Empty, Out: Connection<Data = Buf>>,
{
    let progress = progress(&setup);
    let incoming = listen(&ends).await?;
    let server = incoming.local_addr();
    let serving = serve(incoming, &setup, Leaving::InPlace, progress.clone());
    let (served, measured) = futures_util::join!(serving, measure(&ends.client, server, &setup, &progress));
    served.and(measured)
}

async fn listen<D>(ends: &Ends<D>) -> Result<Incoming<Empty, D>, Error>
where
    D: Datapath + Clone + Runs<Empty>,
{
    make_stack!(Nothing).listen(ends.server.clone(), ends.at.clone()).await.map_err(failed)
}

/// Sends the files. Returns what is left of them, so that the caller frees their memory after the receiver: on one core, freeing would
/// take the receiver's time.
async fn serve<D>(
    mut incoming: Incoming<Empty, D>,
    setup: &Setup,
    leaving: Leaving,
    progress: Progress,
) -> Result<Vec<Buf>, Error>
where
    D: Datapath + Runs<Empty, Out: Connection<Data = Buf>>,
{
    let message = setup.datagram - LINK;
    // The time begins when a client has connected.
    let files = (0..setup.connections).map(|_| laid_out(setup, message)).collect::<Result<Vec<_>, _>>()?;
    // Dropping a task ends it.
    let mut clients = Vec::new();
    for mut file in files {
        let Some(accepted) = incoming.next_or_refusal().await else { break };
        let connection = accepted.map_err(failed)?;
        let progress = progress.clone();
        let runtime = connection.base().runtime().clone();
        let (tell, told) = oneshot::channel();
        let serving = async move {
            let request = connection.recv().await?;
            let number = request.first().map_or(0, |number| usize::from(*number));
            let arrived = progress.get(number).ok_or_else(|| lost("the number of a connection"))?;
            send(&connection, &mut file, leaving, message, arrived).await?;
            Ok(file)
        };
        // The receiver exists as long as the tasks live.
        clients.push((runtime.spawn(async move { drop(tell.send(serving.await)) }), told));
    }
    let mut left = Vec::new();
    for (_task, served) in clients {
        let served = served.await.map_err(Error::while_doing(ErrorKind::Core, "serving a file"))?;
        left.push(served.map_err(failed)?);
    }
    Ok(left)
}

/// Returns the messages of a file behind each other, each with room in front for its header, so that a message leaves from where it lies,
/// as a datagram does by hand.
fn laid_out(setup: &Setup, message: usize) -> Result<Buf, Error> {
    let headers = setup.bytes.div_ceil(message) * LINK;
    let too_large = |_| Error::new(ErrorKind::Bertha, "a file is too large for a buffer");
    Buf::from_owner(vec![7; setup.bytes + headers]).map_err(too_large)
}

/// The way of a message out of the file, which is that of datagrams by hand over the same datapath: their bytes are copied once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaving {
    /// A message leaves from its place, and the datapath copies it.
    InPlace,
    /// A message is copied to memory that the datapath sends from.
    #[cfg_attr(not(feature = "dpdk"), allow(dead_code, reason = "only DPDK has such memory"))]
    Copied,
}

impl Leaving {
    /// Takes the next message of `len` bytes off a file.
    #[inline]
    fn next(self, file: &mut Buf, base: &impl Base, len: usize) -> Result<Buf, bertha_core::Error> {
        match self {
            Self::InPlace => {
                let mut message = file.split_to(LINK + len)?;
                message.advance(LINK)?;
                Ok(message)
            }
            Self::Copied => {
                file.advance(LINK)?;
                let message = copy(base, file.get(..len).unwrap_or_default())?;
                file.advance(len)?;
                Ok(message)
            }
        }
    }
}

async fn send(
    connection: &impl Connection<Data = Buf>,
    file: &mut Buf,
    leaving: Leaving,
    message: usize,
    arrived: &AtomicU64,
) -> Result<(), bertha_core::Error> {
    let mut sent = 0;
    let mut progress = Instant::now();
    // As by hand, a burst leaves whole: as many messages as the kernel takes in a call.
    let most = (CALL / message).clamp(1, BURST);
    while !file.is_empty() {
        let count = file.len().div_ceil(LINK + message).min(most);
        let bytes = file.len().min(count * (LINK + message)) - count * LINK;
        let in_flight = sent - arrived.load(Relaxed);
        if in_flight > 0 && in_flight + bytes as u64 > IN_FLIGHT {
            if progress.elapsed() > TIMEOUT {
                return Err(lost("a datagram"));
            }
            let_others_run().await;
            continue;
        }
        let mut made = Ok(());
        let messages = (0..bytes).step_by(message).map_while(|from| {
            let split = leaving.next(file, connection.base(), message.min(bytes - from));
            split.map_err(|error| made = Err(error)).ok()
        });
        connection.send_batch(messages).await?;
        made?;
        sent += bytes as u64;
        progress = Instant::now();
    }
    Ok(())
}

async fn measure<D>(client: &D, server: Addr, setup: &Setup, progress: &Progress) -> Result<f64, Error>
where
    D: Datapath + Clone + Runs<Empty, Out: Connection<Data = Buf>>,
{
    let stack = make_stack!(Nothing);
    let connecting =
        (0..setup.connections).map(|_| stack.connect(client.clone(), server.clone()).into_future());
    let connections = try_join_all(connecting).await.map_err(failed)?;
    let start = Instant::now();
    let receiving = connections.iter().enumerate().map(async |(number, connection)| {
        let mut request = connection.base().buffer(1)?;
        request.fill(number as u8);
        connection.send(request).await?;
        let mut burst = Vec::new();
        let mut received = 0;
        while received < setup.bytes {
            connection.recv_batch(&mut burst, BURST).await?;
            received += burst.drain(..).map(|message: Buf| message.len()).sum::<usize>();
            progress[number].store(received as u64, Relaxed);
        }
        Ok(())
    });
    try_join_all(receiving).await.map_err(failed)?;
    Ok((setup.connections * setup.bytes) as f64 / start.elapsed().as_secs_f64())
}

/// Suspends the task once.
async fn let_others_run() {
    let mut is_suspended = false;
    std::future::poll_fn(|context| {
        if is_suspended {
            return Poll::Ready(());
        }
        is_suspended = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn lost(what: &str) -> bertha_core::Error {
    bertha_core::Error::new(Failed::TimedOut, format!("{what} was lost"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::ETHERNET;
    use bertha_datapath_sim::{Sim, pair};

    #[test]
    fn a_message_that_leaves_from_its_place_has_room_for_its_header_and_no_more() {
        let (end, _) = pair(Sim::new(1).runtime());
        let setup = Setup { connections: 1, bytes: 25, datagram: 10 + LINK };
        for leaving in [Leaving::InPlace, Leaving::Copied] {
            let mut file = laid_out(&setup, 10).unwrap();
            for len in [10, 10, 5] {
                let message = leaving.next(&mut file, end.base(), len).unwrap();
                assert_eq!(*message, [7; 10][..len]);
                assert!(matches!(leaving, Leaving::Copied) || message.headroom() == LINK);
            }
            assert!(file.is_empty());
        }
    }

    #[test]
    fn every_byte_arrives() {
        if crate::harness::usable().unwrap().len() < 2 {
            return;
        }
        for (connections, leaving) in [(1, Leaving::InPlace), (3, Leaving::InPlace), (3, Leaving::Copied)] {
            let setup = Setup { connections, bytes: 300_001, datagram: ETHERNET };
            assert!(over(&Ends::polling(), &setup, leaving).unwrap() > 0.0);
        }
    }
}
