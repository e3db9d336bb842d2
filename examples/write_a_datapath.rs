//! A datapath of your own: its hosts are threads of this program, reached through channels.
//!
//! Stacks run over it as over sockets; the last lines of `main` show it.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

use bertha::chunnels::Serialize;
use bertha::core::{Listener, Properties};
use bertha::prelude::*;
use bertha::{Addr, Base, Buf, Datapath, Error, ErrorKind, Headroom, kernel::TokioRuntime};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Mutex as AsyncMutex, mpsc};

const QUEUE: usize = 64;

/// Listeners by address. Clones share their listeners.
#[derive(Clone, Default)]
struct Threads {
    listeners: Arc<Mutex<HashMap<Addr, mpsc::Sender<End>>>>,
}

impl Datapath for Threads {
    type Connection = End;
    type Listener = Door;

    async fn connect(&self, to: Addr) -> Result<End, Error> {
        let unreachable =
            || Error::new(ErrorKind::Unreachable, format!("nobody listens at {to}")).at("threads");
        let listener = self.listeners.lock().unwrap_or_else(PoisonError::into_inner).get(&to).cloned();
        let (ours, theirs) = End::pair(to.clone());
        listener.ok_or_else(unreachable)?.send(theirs).await.map_err(|_| unreachable())?;
        Ok(ours)
    }

    async fn listen(&self, on: Addr) -> Result<Door, Error> {
        let (sender, clients) = mpsc::channel(QUEUE);
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).insert(on.clone(), sender);
        Ok(Door { clients: AsyncMutex::new(clients), addr: on })
    }
}

struct Door {
    clients: AsyncMutex<mpsc::Receiver<End>>,
    addr: Addr,
}

impl Listener for Door {
    type Connection = End;

    async fn accept(&self) -> Result<End, Error> {
        self.clients.lock().await.recv().await.ok_or_else(closed)
    }

    fn local_addr(&self) -> Addr {
        self.addr.clone()
    }
}

/// An end of a pair of bounded channels.
struct End {
    sender: mpsc::Sender<Buf>,
    receiver: AsyncMutex<mpsc::Receiver<Buf>>,
    bottom: Bottom,
}

struct Bottom {
    runtime: TokioRuntime,
    headroom: Headroom,
    addr: Addr,
}

impl End {
    fn pair(addr: Addr) -> (Self, Self) {
        let (one, other) = (mpsc::channel(QUEUE), mpsc::channel(QUEUE));
        let end = |sender, receiver| Self {
            sender,
            receiver: AsyncMutex::new(receiver),
            bottom: Bottom { runtime: TokioRuntime, headroom: Headroom::new(), addr: addr.clone() },
        };
        (end(one.0, other.1), end(other.0, one.1))
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the other end is gone").at("threads")
}

impl Connection for End {
    type Data = Buf;
    type Base = Bottom;

    fn base(&self) -> &Bottom {
        &self.bottom
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.sender.send(message).await.map_err(|_| closed())
    }

    async fn recv(&self) -> Result<Buf, Error> {
        self.receiver.lock().await.recv().await.ok_or_else(closed)
    }

    // This datapath holds nothing back.
    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl Base for Bottom {
    type Runtime = TokioRuntime;

    fn runtime(&self) -> &TokioRuntime {
        &self.runtime
    }

    #[inline]
    fn headroom(&self) -> &Headroom {
        &self.headroom
    }

    fn mtu(&self) -> usize {
        1 << 20
    }

    fn local_addr(&self) -> Addr {
        self.addr.clone()
    }

    fn peer_addr(&self) -> Addr {
        self.addr.clone()
    }

    fn properties(&self) -> Properties {
        Properties::STREAM
    }
}

#[bertha::main]
async fn main() -> Result<(), Error> {
    let threads = Threads::default();
    let addr: Addr = ([127, 0, 0, 1], 1).into();
    let mut incoming = make_stack!(Serialize::<String>::new()).listen(threads.clone(), addr.clone()).await?;
    let stack = make_stack!(Serialize::<String>::new());
    let (connection, served) = tokio::join!(stack.connect(threads, addr), incoming.next());
    let (connection, Some(served)) = (connection?, served) else { return Ok(()) };
    connection.send("through a channel".into()).await?;
    println!("received {}; {}", served.recv().await?, served.explain());
    Ok(())
}
