//! A thread for listeners.

use crate::resp::RespAddr;
use bertha::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::runtime::Handle;

/// A thread that listens.
#[derive(Debug)]
pub(super) struct Thread {
    addrs: Addrs,
    runtime: Option<Handle>,
    handle: JoinHandle<Result<(), Error>>,
}

/// The addresses at which a thread listens.
#[derive(Clone, Debug)]
pub(super) struct Addrs {
    /// Address for clients of Bertha.
    pub(super) bertha: SocketAddr,
    /// Addresses for clients that speak RESP.
    pub(super) resp: Vec<RespAddr>,
    /// The RESP addresses at which other threads can listen as well.
    pub(super) shared: Vec<RespAddr>,
}

/// A thread's listeners.
pub(super) struct Opened<T> {
    pub(super) addrs: Addrs,
    pub(super) listeners: T,
}

/// Starts a thread that opens listeners and then runs them, with [`bertha::block_on`]. Returns once the
/// thread listens.
pub(super) fn start<T, R>(
    name: String,
    open: impl Future<Output = Result<Opened<T>, Error>> + Send + 'static,
    run: impl FnOnce(T) -> R + Send + 'static,
) -> Result<Thread, Error>
where
    T: Send,
    R: Future<Output = ()> + Send,
{
    let (ready, opened) = mpsc::sync_channel(1);
    let work = move || {
        bertha::block_on(async move {
            let Opened { addrs, listeners } = open.await?;
            // The receiver waits below.
            let _ = ready.send((addrs, Handle::try_current().ok()));
            run(listeners).await;
            Ok(())
        })?
    };
    let handle = std::thread::Builder::new().name(name).spawn(work)?;
    match opened.recv() {
        Ok((addrs, runtime)) => Ok(Thread { addrs, runtime, handle }),
        // The thread ended before it listened, and its result says why.
        Err(_) => Err(join(handle).err().unwrap_or_else(panicked)),
    }
}

impl Thread {
    /// Returns the addresses at which the thread listens.
    pub(super) fn addrs(&self) -> &Addrs {
        &self.addrs
    }

    /// Returns the runtime of the thread, if it is tokio's.
    pub(super) fn runtime(&self) -> Option<Handle> {
        self.runtime.clone()
    }

    /// Waits for the end of the thread.
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
