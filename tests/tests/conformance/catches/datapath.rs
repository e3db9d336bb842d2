//! Faulty datapaths.

use bertha_conformance::Site;
use bertha_core::{Addr, Buf, Connection, Datapath, Error, ErrorKind, Listener};
use bertha_datapath_sim::{Datagram, Network, SimBase, SimConnection, SimDatapath, SimListener, SimRuntime};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The fault of a datapath.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Sound,
    LosesFirstMessage,
    LosesDroppedAccept,
    EndsAtGarbage,
    EndsAtClose,
    NeverForgets,
    ServesOneClient,
    ReachesAnything,
    HidesItsPort,
}

use Fault::*;

struct Faulty {
    inner: SimDatapath,
    fault: Fault,
}

struct FaultyListener {
    inner: SimListener,
    runtime: SimRuntime,
    fault: Fault,
    /// Connections that are not forgotten.
    kept: Mutex<Vec<Shared>>,
}

/// A connection that two may hold.
struct Shared(Arc<SimConnection>);

impl Connection for Shared {
    type Data = Buf;
    type Base = SimBase;

    fn base(&self) -> &SimBase {
        self.0.base()
    }

    fn send(&self, message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.send(message)
    }

    fn recv(&self) -> impl Future<Output = Result<Buf, Error>> + Send {
        self.0.recv()
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.close()
    }
}

impl Datapath for Faulty {
    type Connection = Shared;
    type Listener = FaultyListener;

    async fn connect(&self, to: Addr) -> Result<Shared, Error> {
        let to = match to {
            Addr::Ip(_) => to,
            _ if self.fault == ReachesAnything => Addr::Ip((self.inner.ip(), 1).into()),
            other => other,
        };
        Ok(Shared(Arc::new(self.inner.connect(to).await?)))
    }

    async fn listen(&self, on: Addr) -> Result<FaultyListener, Error> {
        let inner = self.inner.listen(on).await?;
        let runtime = self.inner.network().runtime().clone();
        Ok(FaultyListener { inner, runtime, fault: self.fault, kept: Mutex::default() })
    }
}

impl Listener for FaultyListener {
    type Connection = Shared;

    async fn accept(&self) -> Result<Shared, Error> {
        let accepted = Shared(Arc::new(self.inner.accept().await?));
        let broken = || Error::new(ErrorKind::Io, "the listener is broken");
        match self.fault {
            LosesFirstMessage => drop(accepted.recv().await?),
            LosesDroppedAccept => self.runtime.sleep(Duration::from_millis(1)).await,
            EndsAtGarbage => {
                let first = accepted.recv().await?;
                if first.len() < 8 {
                    return Err(broken());
                }
                // The message goes back to its sender, which looks like the expected echo.
                accepted.send(first).await?;
            }
            EndsAtClose if self.kept.lock().unwrap().len() > 3 => return Err(broken()),
            ServesOneClient if !self.kept.lock().unwrap().is_empty() => std::future::pending().await,
            _ => {}
        }
        if matches!(self.fault, EndsAtClose | ServesOneClient | NeverForgets) {
            self.kept.lock().unwrap().push(Shared(accepted.0.clone()));
        }
        Ok(accepted)
    }

    fn local_addr(&self) -> Addr {
        match (self.fault, self.inner.local_addr()) {
            (HidesItsPort, Addr::Ip(addr)) => Addr::Ip((addr.ip(), 0).into()),
            (_, addr) => addr,
        }
    }
}

fn site(network: &Network, fault: Fault) -> (Faulty, Faulty, Addr) {
    let faulty = |last| Faulty { inner: network.host([10, 0, 0, last]), fault };
    (faulty(2), faulty(1), Addr::Ip(([10, 0, 0, 2], 0).into()))
}

macro_rules! run {
    ($sim:ident, $fault:ident, $check:path) => {{
        let network = $sim.network().clone();
        let (server, client, on) = site(&network, $fault);
        let site = Site { server: &server, client: &client, on: &|| on.clone() };
        $sim.run($check(&site))
    }};
}

crate::catches::catches! { run:
    many_clients_are_served: ServesOneClient "nothing happened", LosesFirstMessage "nothing happened";
    a_burst_before_accept_is_kept: LosesFirstMessage "nothing happened";
    a_dropped_accept_loses_no_client: LosesDroppedAccept "nothing happened";
    a_client_that_vanishes_ends_nothing: EndsAtClose "the listener ended";
    a_dropped_connection_forgets_its_address: NeverForgets "accept after the connection was dropped";
    addresses_of_no_kind_are_invalid: ReachesAnything "connect to";
    addresses_agree: HidesItsPort "port";
}

/// Sends a datagram that is no message of any client.
async fn garbage(network: &Network, to: &Addr) {
    let to = to.ip("test").unwrap();
    network.inject(&Datagram { from: ([10, 0, 0, 3], 1).into(), to, payload: vec![7] }).unwrap();
}

macro_rules! attack {
    ($sim:ident, $fault:ident, $check:path) => {{
        let network = $sim.network().clone();
        let (server, client, on) = site(&network, $fault);
        let site = Site { server: &server, client: &client, on: &|| on.clone() };
        $sim.run($check(&site, async |to| garbage(&network, to).await))
    }};
}

crate::catches::catches! { attack:
    a_listener_survives: EndsAtGarbage "the listener ended";
}
