//! The report of dropped messages.

use super::program::Server;
use bertha::chunnels::Checksum;
use bertha::prelude::*;
use bertha::{Addr, Base, Buf, ConnectContext, Error, Identity};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A connection that damages every second message that is sent.
#[derive(Identity)]
#[chunnel(one_sided)]
struct Damage;

struct Damaging<C> {
    inner: C,
    sent: AtomicUsize,
}

impl<C: bertha::Carries<Buf, Self>> bertha::Chunnel<C> for Damage {
    type Connection = Damaging<C>;

    async fn connect_wrap(&self, inner: C, _: ConnectContext<'_, C>) -> Result<Damaging<C>, Error> {
        Ok(Damaging { inner, sent: AtomicUsize::new(0) })
    }
}

impl<C: Connection<Data = Buf>> Connection for Damaging<C> {
    type Data = Buf;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.inner.base()
    }

    fn send(&self, mut message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
        if self.sent.fetch_add(1, Relaxed) % 2 == 1 {
            message[0] ^= 1;
        }
        self.inner.send(message)
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

#[tokio::test]
async fn a_server_says_which_layer_dropped_messages_and_why() {
    let mut server = Server::start("127.0.0.1:0", &["--datapath", "tcp", "--stack", "checksum"]);
    let address: Addr = server.address.parse().unwrap();
    let stack = make_stack!(Checksum::new(), Damage);
    let connection = stack.connect(bertha::kernel::Tcp::new(), address).await.unwrap();
    for _ in 0..20 {
        let message = connection.base().buffer(100).unwrap();
        connection.send(message).await.unwrap();
    }
    assert_eq!(connection.drops().total(), 0);
    connection.close().await.unwrap();
    let served = server.next();
    let expected = serde_json::json!([{ "layer": "Checksum", "reason": "damaged", "messages": 10 }]);
    assert_eq!(served["dropped"], expected, "{served}");
    assert_eq!(served["foreign"], 10, "{served}");
}
