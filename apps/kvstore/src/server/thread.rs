//! A thread for a listener.

use bertha::prelude::*;
use bertha::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use super::Listening;
use super::listening::Datapath;

/// A thread that listens.
#[derive(Debug)]
pub(super) struct Thread {
    addr: SocketAddr,
    handle: JoinHandle<Result<(), Error>>,
}

/// Starts a thread that opens a listener and then runs it, with [`bertha::block_on`]. Returns once it listens.
pub(super) fn start<S, R>(
    name: String,
    open: impl Future<Output = Result<Listening<S>, Error>> + Send + 'static,
    run: impl FnOnce(Listening<S>) -> R + Send + 'static,
) -> Result<Thread, Error>
where
    S: Negotiate + 'static,
    Datapath: Runs<S>,
    R: Future<Output = ()> + Send,
{
    let (ready, opened) = mpsc::sync_channel(1);
    let work = move || {
        bertha::block_on(async move {
            let listening = open.await?;
            // Its receiver waits below.
            let _ = ready.send(listening.addr()?);
            run(listening).await;
            Ok(())
        })?
    };
    let handle = std::thread::Builder::new().name(name).spawn(work)?;
    match opened.recv() {
        Ok(addr) => Ok(Thread { addr, handle }),
        // It ended before it listened, and says why.
        Err(_) => Err(join(handle).err().unwrap_or_else(panicked)),
    }
}

impl Thread {
    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Waits for its end.
    pub(super) fn join(self) -> Result<(), Error> {
        join(self.handle)
    }
}

fn join(handle: JoinHandle<Result<(), Error>>) -> Result<(), Error> {
    handle.join().unwrap_or_else(|_| Err(panicked()))
}

fn panicked() -> Error {
    Error::new(ErrorKind::Io, "a thread of the store panicked")
}
