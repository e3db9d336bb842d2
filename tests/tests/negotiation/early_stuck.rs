//! A server whose datapath accepts no message to one of its clients, because the client's address can't be
//! resolved or the client does not read.

use crate::early_scene::{connect, learn_at, open, over, pause, say};
use crate::scene::{A, B, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Buf, Connection, Datapath, Error, Listener, make_stack, select};
use bertha_datapath_sim::{Network, SimBase, SimConnection, SimDatapath, SimListener};
use bertha_negotiation::Negotiate;
use bertha_negotiation::ZeroRtt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A datapath that never takes a message on the second connection that its listener accepts.
struct Stuck(SimDatapath);

struct StuckListener {
    inner: SimListener,
    accepted: AtomicUsize,
}

struct StuckConnection {
    inner: SimConnection,
    is_stuck: bool,
}

impl Datapath for Stuck {
    type Connection = StuckConnection;
    type Listener = StuckListener;

    async fn connect(&self, to: Addr) -> Result<StuckConnection, Error> {
        Ok(StuckConnection { inner: self.0.connect(to).await?, is_stuck: false })
    }

    async fn listen(&self, on: Addr) -> Result<StuckListener, Error> {
        Ok(StuckListener { inner: self.0.listen(on).await?, accepted: AtomicUsize::new(0) })
    }
}

impl Listener for StuckListener {
    type Connection = StuckConnection;

    async fn accept(&self) -> Result<StuckConnection, Error> {
        let inner = self.inner.accept().await?;
        // The client learns the agreement from the first connection, which works.
        Ok(StuckConnection { inner, is_stuck: self.accepted.fetch_add(1, Ordering::Relaxed) == 1 })
    }

    fn local_addr(&self) -> Addr {
        self.inner.local_addr()
    }
}

impl Connection for StuckConnection {
    type Data = Buf;
    type Base = SimBase;

    fn base(&self) -> &SimBase {
        self.inner.base()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        if self.is_stuck {
            std::future::pending::<()>().await;
        }
        self.inner.send(message).await
    }

    fn recv(&self) -> impl Future<Output = Result<Buf, Error>> + Send {
        self.inner.recv()
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

#[test]
fn a_client_to_whom_nothing_can_be_sent_holds_no_other_up() {
    simulate(1, async |network: Network| {
        let listening = over!(select!(A, B)).listen(Stuck(server(&network)), server_addr());
        let mut incoming = listening.settings(open()).await.unwrap();
        let cache = learn_at(&network, &mut incoming, open()).await;
        let serving = async {
            // The application sends no message, and does not receive yet.
            let _first = incoming.next().await.unwrap();
            let _second = incoming.next().await.unwrap();
            pause(&network, Duration::from_secs(1)).await;
        };
        let asking = async {
            let stuck = connect(&network, &cache, Default::default()).await.unwrap();
            say(&stuck, &["one"]).await;
            pause(&network, Duration::from_millis(20)).await;
            let other = connect(&network, &cache, Default::default()).await.unwrap();
            say(&other, &["two"]).await;
            pause(&network, Duration::from_millis(20)).await;
            assert_eq!(stuck.explain().zero_rtt(), Some(&ZeroRtt::Unanswered));
            assert_ne!(other.explain().zero_rtt(), Some(&ZeroRtt::Unanswered));
        };
        futures_util::join!(serving, asking);
    });
}
