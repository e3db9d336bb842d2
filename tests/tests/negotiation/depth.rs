//! A deep stack in generic code. An application's own functions are generic over stack and datapath; the
//! compiler's work must grow with the depth of the stack, and not double with every layer. If a bound doubled
//! the work, this file would never finish compiling.

use bertha_core::{
    Addr, Base, Buf, Carries, Chunnel, ConnectContext, Connection, Datapath, Error, Identity, Listener,
    Runtime, Supports, Wrap, make_stack,
};
use bertha_datapath_sim::Sim;
use bertha_negotiation::{Negotiate, Runs};

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Puts a byte in front of each message that is sent, and passes received messages on unchanged.
struct MarkingConnection<Inner> {
    inner: Inner,
    mark: u8,
}

impl<Inner: Connection<Data = Buf>> Connection for MarkingConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn send(&self, mut message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
        message.prepend(1).unwrap()[0] = self.mark;
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

/// Makes Chunnels that mark with their number, and a stack of all of them from number 1 on.
macro_rules! marking_chunnels {
    ($($name:ident = $mark:literal),*) => {
        $(
            #[derive(Debug, Identity)]
            struct $name;

            impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for $name {
                type Connection = MarkingConnection<Inner>;

                async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Self::Connection, Error> {
                    inner.base().reserve(1);
                    Ok(MarkingConnection { inner, mark: $mark })
                }
            }
        )*

        macro_rules! marking_stack {
            () => { make_stack!($($name),*) };
        }
    };
}

marking_chunnels!(
    M1 = 1,
    M2 = 2,
    M3 = 3,
    M4 = 4,
    M5 = 5,
    M6 = 6,
    M7 = 7,
    M8 = 8,
    M9 = 9,
    M10 = 10,
    M11 = 11,
    M12 = 12,
    M13 = 13,
    M14 = 14,
    M15 = 15,
    M16 = 16,
    M17 = 17,
    M18 = 18,
    M19 = 19,
    M20 = 20,
    M21 = 21,
    M22 = 22,
    M23 = 23,
    M24 = 24,
    M25 = 25,
    M26 = 26,
    M27 = 27,
    M28 = 28,
    M29 = 29,
    M30 = 30,
    M31 = 31
);

/// Awaits the layer below in each direction.
#[derive(Debug, Identity)]
struct Waits;

struct WaitsConnection<Inner>(Inner);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Waits {
    type Connection = WaitsConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(WaitsConnection(inner))
    }
}

impl<Inner: Connection<Data = Buf>> Connection for WaitsConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.0.base()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.0.send(message).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        self.0.recv().await
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.drain()
    }

    async fn close(&self) -> Result<(), Error> {
        self.0.close().await
    }
}

/// Runs a server as an application would write it.
async fn serve<S, D>(stack: S, datapath: D, on: Addr)
where
    S: Negotiate + Sync + 'static,
    D: Runs<S, Out: Connection<Data = Buf>>,
{
    let mut incoming = stack.listen(datapath, on).await.unwrap();
    while let Some(connection) = incoming.next().await {
        while let Ok(message) = connection.recv().await {
            connection.send(buffer(&connection, &message).unwrap()).await.unwrap();
        }
    }
}

/// Runs a client as an application would write it. Returns the answer and the agreement.
async fn ask<S, D>(stack: S, datapath: D, server: Addr, question: &[u8]) -> Result<(Vec<u8>, String), Error>
where
    S: Negotiate + Sync,
    D: Runs<S, Out: Connection<Data = Buf>>,
{
    let connection = stack.connect(datapath, server).await?;
    connection.send(buffer(&connection, question)?).await?;
    let answer = connection.recv().await?.to_vec();
    let agreed = connection.explain().to_string();
    connection.close().await?;
    Ok((answer, agreed))
}

fn buffer(connection: &impl Connection, bytes: &[u8]) -> Result<Buf, Error> {
    let mut message = connection.base().buffer(bytes.len())?;
    message.copy_from_slice(bytes);
    Ok(message)
}

/// Returns the answer of a server with this stack to `?`, and the agreement.
macro_rules! answer {
    ($stack:expr) => {{
        let mut sim = Sim::new(1);
        let (network, runtime) = (sim.network().clone(), sim.runtime());
        let server: Addr = (SERVER, 4242).into();
        sim.run(async {
            let _serving = runtime.spawn(serve($stack, network.host(SERVER), server.clone()));
            ask($stack, network.host(CLIENT), server, b"?").await.unwrap()
        })
    }};
}

#[test]
fn thirty_one_different_layers_connect_in_a_generic_function() {
    let (answer, agreed) = answer!(marking_stack!());
    // Each end's topmost layer comes first, so the byte of its lowest layer stands in front.
    let there: Vec<u8> = (1..=31).rev().collect();
    assert_eq!(answer, [&there[..], &there, b"?"].concat());
    assert!(agreed.starts_with("M1 / M2 / M3 / ") && agreed.contains(" / M30 / M31, agreed"), "{agreed}");
}

/// Wraps a connection in a stack, as an application would write it.
async fn wrapped<S, C>(stack: S, connection: C) -> C::Out
where
    S: Wrap,
    C: Supports<S>,
{
    stack.wrap(connection).await.unwrap()
}

#[test]
fn thirty_one_different_layers_wrap_a_connection() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    let server: Addr = (SERVER, 4242).into();
    let arrived = sim.run(async {
        let listener = network.host(SERVER).listen(server.clone()).await.unwrap();
        let connection = network.host(CLIENT).connect(server.clone()).await.unwrap();
        let inferred = marking_stack!().wrap(connection).await.unwrap();
        inferred.send(buffer(&inferred, b"?").unwrap()).await.unwrap();
        let there = wrapped(marking_stack!(), listener.accept().await.unwrap()).await;
        there.recv().await.unwrap().to_vec()
    });
    let marks: Vec<u8> = (1..=31).rev().collect();
    assert_eq!(arrived, [&marks[..], b"?"].concat());
}

/// The futures of layers that await nest in each other, and reach the compiler's limit of nesting earlier.
/// More than sixteen layers need `#![recursion_limit = "256"]` in the application's crate, as the compiler
/// then says.
#[test]
fn sixteen_layers_that_await_connect_in_a_generic_function() {
    let stack = || {
        make_stack!(
            Waits, Waits, Waits, Waits, Waits, Waits, Waits, Waits, Waits, Waits, Waits, Waits, Waits, Waits,
            Waits, Waits
        )
    };
    let (answer, agreed) = answer!(stack());
    assert_eq!((answer.as_slice(), agreed.matches("Waits").count()), (&b"?"[..], 16));
}
