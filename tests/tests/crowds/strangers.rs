//! Hostile clients, and honest clients.

use bertha_core::{
    Addr, Buf, Carries, Chunnel, ConnectContext, Connection, Describe, Error, Identity, LayerInfo, Node,
};
use bertha_datapath_kernel::Tcp;
use bertha_negotiation::{Negotiate, Negotiated, Runs};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};

/// The first bytes of a TLS record that announces further bytes.
const HALF_HELLO: &[u8] = &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3, 0, 0, 0, 0];

/// Agrees to a stack, and sends nothing through it.
#[derive(Debug, Clone, Identity)]
#[chunnel(layers = Self::layers)]
pub(crate) struct Agrees {
    layers: Vec<LayerInfo>,
}

impl Agrees {
    /// Makes a Chunnel that agrees to `stack`, which has no alternatives.
    pub(crate) fn to(stack: &impl Describe) -> Self {
        let layers = stack.nodes().into_iter().map(|node| match node {
            Node::Layer(layer) => layer,
            Node::Select { .. } => panic!("an alternative"),
        });
        Self { layers: layers.collect() }
    }

    fn layers(&self) -> Vec<LayerInfo> {
        self.layers.clone()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Agrees {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}

/// The conduct of a hostile client.
#[derive(Clone)]
pub(crate) enum Stranger {
    /// Connects and sends nothing.
    Silent,
    /// Begins an offer and does not end it.
    HalfOffer,
    /// Makes an offer and begins a TLS handshake that it does not end.
    HalfHello(Agrees),
}

/// The sockets that a stranger keeps.
#[allow(dead_code, reason = "it is kept so that it stays open")]
pub(crate) enum Kept {
    Stream(TcpStream),
    Connection(Box<dyn std::any::Any + Send>),
}

impl Stranger {
    /// Comes from the network with this number, of 200.
    pub(crate) async fn come(&self, server: SocketAddr, network: u8) -> Option<Kept> {
        match self {
            Self::Silent => Some(Kept::Stream(stream(server, network).await?)),
            Self::HalfOffer => {
                let stream = stream(server, network).await?;
                stream.try_write(&[0, 0, 1, 0, 1, 2, 3]).ok()?;
                Some(Kept::Stream(stream))
            }
            Self::HalfHello(agrees) => {
                let connection = agrees.connect(Tcp::new(), server).await.ok()?;
                connection.send(Buf::copy_of(HALF_HELLO, 0).ok()?).await.ok()?;
                Some(Kept::Connection(Box::new(connection)))
            }
        }
    }
}

async fn stream(server: SocketAddr, network: u8) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind((Ipv4Addr::new(127, 0, network, 1), 0).into()).ok()?;
    tokio::time::timeout(Duration::from_secs(5), socket.connect(server)).await.ok()?.ok()
}

/// Connects and has one message echoed.
pub(crate) async fn be_served<S>(
    stack: &S,
    server: SocketAddr,
) -> Result<Negotiated<<Tcp as Runs<S>>::Out>, Error>
where
    S: Negotiate,
    Tcp: Runs<S, Out: Connection<Data = Buf>>,
{
    let connection = stack.connect(Tcp::new(), Addr::Ip(server)).await?;
    connection.send(Buf::copy_of(b"hello", 0)?).await?;
    let reply = connection.recv().await?;
    assert_eq!(&*reply, b"hello");
    Ok(connection)
}
