//! Datagrams over a stack of a Chunnel that does nothing, without acknowledgements: what raw datagrams are to compare with.
//!
//! The sender reads the receiver's progress in memory, as that of [raw datagrams](super::blast) does, so that nothing is lost. It runs
//! on any runtime.

use super::bertha::{Ends, LINK, copy, failed};
use super::blast::{CALL, IN_FLIGHT, TIMEOUT};
use super::{Setup, file};
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
pub(super) fn over<D>(ends: &Ends<D>, setup: &Setup) -> Result<f64, Error>
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
            serve(incoming, setup, progress.clone()).await
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
    let serving = serve(incoming, &setup, progress.clone());
    let (served, measured) = futures_util::join!(serving, measure(&ends.client, server, &setup, &progress));
    served.and(measured)
}

async fn listen<D>(ends: &Ends<D>) -> Result<Incoming<Empty, D>, Error>
where
    D: Datapath + Clone + Runs<Empty>,
{
    make_stack!(Nothing).listen(ends.server.clone(), ends.at.clone()).await.map_err(failed)
}

async fn serve<D>(mut incoming: Incoming<Empty, D>, setup: &Setup, progress: Progress) -> Result<(), Error>
where
    D: Datapath + Runs<Empty, Out: Connection<Data = Buf>>,
{
    let (file, message) = (file(setup), setup.datagram - LINK);
    // Dropping a task ends it.
    let mut clients = Vec::new();
    for _ in 0..setup.connections {
        let Some(accepted) = incoming.next_or_refusal().await else { break };
        let connection = accepted.map_err(failed)?;
        let (file, progress) = (file.clone(), progress.clone());
        let runtime = connection.base().runtime().clone();
        let (tell, told) = oneshot::channel();
        let serving = async move {
            let request = connection.recv().await?;
            let number = request.first().map_or(0, |number| usize::from(*number));
            let arrived = progress.get(number).ok_or_else(|| lost("the number of a connection"))?;
            send(&connection, &file, message, arrived).await
        };
        // The receiver exists as long as the tasks live.
        clients.push((runtime.spawn(async move { drop(tell.send(serving.await)) }), told));
    }
    for (_task, served) in clients {
        served.await.map_err(Error::while_doing(ErrorKind::Core, "serving a file"))?.map_err(failed)?;
    }
    Ok(())
}

async fn send(
    connection: &impl Connection<Data = Buf>,
    file: &[u8],
    message: usize,
    arrived: &AtomicU64,
) -> Result<(), bertha_core::Error> {
    let mut sent = 0;
    let mut progress = Instant::now();
    // As by hand, a burst leaves whole: as many messages as the kernel takes in a call.
    let most = (CALL / message).clamp(1, BURST) * message;
    while sent < file.len() {
        let in_flight = sent as u64 - arrived.load(Relaxed);
        let end = file.len().min(sent + most);
        if in_flight > 0 && in_flight + (end - sent) as u64 > IN_FLIGHT {
            if progress.elapsed() > TIMEOUT {
                return Err(lost("a datagram"));
            }
            let_others_run().await;
            continue;
        }
        let mut made = Ok(());
        let messages = (sent..end).step_by(message).map_while(|from| {
            let copied = copy(connection.base(), &file[from..end.min(from + message)]);
            copied.map_err(|error| made = Err(error)).ok()
        });
        connection.send_batch(messages).await?;
        made?;
        sent = end;
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

    #[test]
    fn every_byte_arrives() {
        if crate::harness::usable().unwrap().len() < 2 {
            return;
        }
        for connections in [1, 3] {
            let setup = Setup { connections, bytes: 300_001, datagram: ETHERNET };
            assert!(over(&Ends::loopback(), &setup).unwrap() > 0.0);
        }
    }
}
