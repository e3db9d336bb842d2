//! A daemon of this process, whose operator can do what no order says yet.

use super::SERVICE;
use crate::harness::runtime;
use crate::{Error, ErrorKind};
use bertha_rpcd::{Change, Daemon, Operator, Peers, Route, Settings};
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// A daemon on a thread of its own, on the cores of the calling thread. It ends when the value is dropped.
#[derive(Debug)]
pub(super) struct Operated {
    orders: Option<UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// A change, if there is one, and the way of its outcome: the time that it took.
type Order = (Option<Change>, oneshot::Sender<Result<Duration, Error>>);

impl Operated {
    /// Starts a daemon that leads calls of the service to another.
    ///
    /// # Errors
    /// Errors of the socket.
    pub(super) fn start(socket: &Path, to: &str) -> Result<Self, Error> {
        let to: Route = to.parse().map_err(failed)?;
        let routes = vec![(SERVICE.to_owned(), to.into())];
        let settings = Settings { peers: Peers { routes, ..Peers::default() }, ..Settings::default() };
        let ((orders, taken), (begin, begun)) = (unbounded_channel(), mpsc::channel());
        let socket = socket.to_owned();
        let thread = std::thread::spawn(move || {
            // The thread that waits for it is there, or nobody is.
            let _told = begin.send(serve(&socket, settings, taken, begin.clone()));
        });
        let begun = begun.recv().map_err(Error::while_doing(ErrorKind::Core, "starting a daemon"))?;
        begun.map(|()| Self { orders: Some(orders), thread: Some(thread) })
    }

    /// Makes a change on the thread of the daemon, where orders are obeyed, and returns the time that it took. Without a change, the thread
    /// answers at once.
    ///
    /// # Errors
    /// Refusals of the change.
    pub(super) async fn change(&self, change: Option<Change>) -> Result<Duration, Error> {
        let ended = || Error::new(ErrorKind::Bertha, "the daemon has ended");
        let (outcome, awaited) = oneshot::channel();
        let orders = self.orders.as_ref().ok_or_else(ended)?;
        orders.send((change, outcome)).map_err(|_| ended())?;
        awaited.await.map_err(|_| ended())?
    }
}

impl Drop for Operated {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // A daemon that panicked has said so.
            let _ended = thread.join();
        }
    }
}

/// Serves until nobody has orders any more, and says that it has begun.
fn serve(
    socket: &Path,
    settings: Settings,
    orders: UnboundedReceiver<Order>,
    begin: mpsc::Sender<Result<(), Error>>,
) -> Result<(), Error> {
    runtime()?.block_on(async {
        let daemon = Daemon::listen(socket, settings).await.map_err(failed)?;
        let operator = daemon.operator();
        let _told = begin.send(Ok(()));
        tokio::select! {
            ended = daemon.run() => ended.map_err(failed),
            () = obey(orders, &operator) => Ok(()),
        }
    })
}

async fn obey(mut orders: UnboundedReceiver<Order>, operator: &Operator) {
    while let Some((change, outcome)) = orders.recv().await {
        let began = Instant::now();
        let changed = change.map_or(Ok(()), |change| operator.change(SERVICE, &change));
        // Who gave the order may be gone.
        let _told = outcome.send(changed.map(|()| began.elapsed()).map_err(failed));
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::while_doing(ErrorKind::Bertha, "being the daemon of a host")(error)
}
