//! A flow of `Reliable` over kernel UDP.

use super::namespaces::{Namespaces, Place, RECEIVER};
use super::{LOOK, Progress};
use crate::harness::runtime;
use crate::{Error, ErrorKind};
use bertha_chunnels::Reliable;
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Wrap};
use bertha_datapath_kernel::Udp;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;

/// Number of bytes in a datagram that fills a packet of Ethernet, and in a message that fills such a
/// datagram.
const PACKET: usize = 1_472;
const MESSAGE: usize = PACKET - 25;

/// Number of messages in a burst.
const BURST: usize = 64;

/// Sends until the flow is over.
pub(super) fn run(namespaces: &Namespaces, stack: &Reliable, progress: &Progress) -> Result<(), Error> {
    let (ready, listening) = mpsc::channel();
    std::thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            namespaces.enter(Place::Receiver)?;
            runtime()?.block_on(async {
                let failed = Error::while_doing(ErrorKind::Bertha, "receiving by Reliable");
                until_over(receive(&ready, progress), progress).await.map_err(failed)
            })
        });
        let sending = scope.spawn(move || {
            namespaces.enter(Place::Sender)?;
            let Ok(addr) = listening.recv() else { return Ok(()) };
            runtime()?.block_on(async {
                let failed = Error::while_doing(ErrorKind::Bertha, "sending by Reliable");
                until_over(send(addr, stack), progress).await.map_err(failed)
            })
        });
        let panicked = || Error::new(ErrorKind::Core, "an end of Reliable panicked");
        let [received, sent] =
            [receiving.join(), sending.join()].map(|it| it.unwrap_or_else(|_| Err(panicked())));
        sent.and(received)
    })
}

async fn until_over(
    flow: impl Future<Output = Result<(), bertha_core::Error>>,
    progress: &Progress,
) -> Result<(), bertha_core::Error> {
    let over = async {
        while !progress.is_over.load(Relaxed) {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        // The peer may have looked first.
        ended = flow => if progress.is_over.load(Relaxed) { Ok(()) } else { ended },
        () = over => Ok(()),
    }
}

async fn receive(ready: &mpsc::Sender<Addr>, progress: &Progress) -> Result<(), bertha_core::Error> {
    let listener = Udp::new().listen((RECEIVER, progress.port).into()).await?;
    // The peer may have failed.
    ready.send(listener.local_addr()).unwrap_or_default();
    let connection = Reliable::new().packet(PACKET).wrap(listener.accept().await?).await?;
    let mut burst = Vec::new();
    loop {
        connection.recv_batch(&mut burst, BURST).await?;
        let bytes: usize = burst.drain(..).map(|message: Buf| message.len()).sum();
        progress.arrived.fetch_add(bytes as u64, Relaxed);
    }
}

async fn send(addr: Addr, stack: &Reliable) -> Result<(), bertha_core::Error> {
    let base = Udp::new().connect(addr).await?;
    let connection = stack.clone().packet(PACKET).wrap(base).await?;
    loop {
        connection.send(Buf::new(MESSAGE, 0)?).await?;
    }
}
