//! A datapath in memory, and two ends that agreed over it.

use bertha_core::{Addr, Buf, Connection, Datapath, Error, ErrorKind, Listener, make_stack};
use bertha_datapath_kernel::TokioRuntime;
use bertha_datapath_sim::{PairConnection, pair};
use bertha_negotiation::Negotiate;
use std::future::pending;
use std::sync::{Arc, Mutex};
use tokio::runtime::{Builder, Runtime};

pub(crate) type End = PairConnection<TokioRuntime>;

/// Connects a client and a server in this process, once.
#[derive(Clone)]
struct Memory(Arc<Ends>);

struct Ends {
    client: Mutex<Option<End>>,
    server: Mutex<Option<End>>,
}

impl Datapath for Memory {
    type Connection = End;
    type Listener = Self;

    async fn connect(&self, _: Addr) -> Result<End, Error> {
        let end = self.0.client.lock().unwrap().take();
        end.ok_or_else(|| Error::new(ErrorKind::Unreachable, "the one connection is taken"))
    }

    async fn listen(&self, _: Addr) -> Result<Self, Error> {
        Ok(self.clone())
    }
}

impl Listener for Memory {
    type Connection = End;

    async fn accept(&self) -> Result<End, Error> {
        let end = self.0.server.lock().unwrap().take();
        match end {
            Some(end) => Ok(end),
            None => pending().await,
        }
    }

    fn local_addr(&self) -> Addr {
        Addr::Unnamed
    }
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Connects two ends that agree on an empty stack.
pub(crate) async fn negotiated() -> (impl Connection<Data = Buf>, impl Connection<Data = Buf>) {
    let (client, server) = pair(TokioRuntime);
    let memory =
        Memory(Arc::new(Ends { client: Mutex::new(Some(client)), server: Mutex::new(Some(server)) }));
    let mut incoming = make_stack!().listen(memory.clone(), Addr::Unnamed).await.unwrap();
    let stack = make_stack!();
    let (client, server) = tokio::join!(stack.connect(memory, Addr::Unnamed), incoming.next_or_refusal());
    (client.unwrap(), server.unwrap().unwrap())
}
