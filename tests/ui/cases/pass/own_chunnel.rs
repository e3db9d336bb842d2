//! A Chunnel as another crate would write it: with a capability, for any connection that carries bytes.

use bertha_core::{Base, Buf, Capability, Carries, Chunnel, Connection, Error, Identity, ConnectContext, make_stack};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Identity)]
#[chunnel(capability = Numbered::width)]
struct Numbered {
    bytes: usize,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Capability)]
#[capability(exact, version = 2)]
struct Width(usize);

impl Numbered {
    fn width(&self) -> Width {
        Width(self.bytes)
    }
}

struct NumberedConnection<Inner> {
    inner: Inner,
    bytes: usize,
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Numbered {
    type Connection = NumberedConnection<Inner>;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Self::Connection, Error> {
        inner.base().reserve(self.bytes);
        Ok(NumberedConnection { inner, bytes: self.bytes })
    }
}

impl<Inner: Connection<Data = Buf>> Connection for NumberedConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    async fn send(&self, mut message: Buf) -> Result<(), Error> {
        message.prepend(self.bytes)?.fill(0);
        self.inner.send(message).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let mut message = self.inner.recv().await?;
        message.advance(self.bytes)?;
        Ok(message)
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

async fn client(datapath: SimDatapath) -> Result<(), Error> {
    let stack = make_stack!(Numbered { bytes: 4 }, Numbered { bytes: 2 });
    stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?.close().await
}

fn main() {
    let _ = client;
}
