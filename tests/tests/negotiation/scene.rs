//! The hosts and Chunnels that the tests share.

use bertha_core::{Addr, Base, Buf, Carries, Chunnel, ConnectContext, Connection, Describe, Error, Identity};
use bertha_datapath_sim::{Network, Schedule, Sim, SimDatapath};
use bertha_negotiation::{Incoming, Negotiate, Runs};

pub(crate) const CLIENT: [u8; 4] = [10, 0, 0, 1];
pub(crate) const SERVER: [u8; 4] = [10, 0, 0, 2];

pub(crate) fn client(network: &Network) -> SimDatapath {
    network.host(CLIENT)
}

pub(crate) fn server(network: &Network) -> SimDatapath {
    network.host(SERVER)
}

pub(crate) fn server_addr() -> Addr {
    (SERVER, 4242).into()
}

/// Runs `main` in a simulation with this seed.
pub(crate) fn simulate<T, F: Future<Output = T>>(seed: u64, main: impl FnOnce(Network) -> F) -> T {
    let mut sim = Sim::new(seed);
    let network = sim.network().clone();
    sim.run(main(network))
}

/// Works as `simulate`, with tasks that run in the order in which they were woken, as on most executors.
pub(crate) fn simulate_in_order<T, F: Future<Output = T>>(seed: u64, main: impl FnOnce(Network) -> F) -> T {
    let mut sim = Sim::new(seed).schedule(Schedule::Fifo);
    let network = sim.network().clone();
    sim.run(main(network))
}

/// Echoes every message of every client, until the simulation ends. `refused` gets the errors of clients that
/// could not connect.
pub(crate) fn echo<S, D>(
    network: &Network,
    mut incoming: Incoming<S, D>,
    mut refused: impl FnMut(Error) + Send + 'static,
) where
    S: Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data = Buf>>,
{
    use bertha_core::Runtime;
    let runtime = network.runtime().clone();
    let tasks = runtime.clone();
    // The simulation ends all tasks, so their handles need not be kept.
    std::mem::forget(runtime.spawn(async move {
        while let Some(accepted) = incoming.next_or_refusal().await {
            match accepted {
                Ok(connection) => std::mem::forget(tasks.spawn(async move {
                    while let Ok(message) = connection.recv().await {
                        if connection.send(message).await.is_err() {
                            break;
                        }
                    }
                })),
                Err(error) => refused(error),
            }
        }
    }));
}

/// Starts an echo server with this stack.
pub(crate) async fn serve<S>(network: &Network, stack: S)
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Buf>>,
{
    let incoming = stack.listen(server(network), server_addr()).await.unwrap();
    echo(network, incoming, |error| panic!("refused: {error}"));
}

pub(crate) fn bytes(text: &[u8]) -> Buf {
    Buf::copy_of(text, 0).unwrap()
}

macro_rules! prefix_chunnels {
    ($($name:ident = $byte:literal),*) => {$(
        /// Puts a byte in front of each message, and drops received messages without this byte.
        #[derive(Debug, Clone, Identity)]
        pub(crate) struct $name;

        impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for $name {
            type Connection = PrefixConnection<Inner, $byte>;

            async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Self::Connection, Error> {
                inner.base().reserve(1);
                Ok(PrefixConnection { inner })
            }
        }
    )*};
}

prefix_chunnels!(A = b'A', B = b'B', C = b'C');

pub(crate) struct PrefixConnection<Inner, const BYTE: u8> {
    inner: Inner,
}

impl<Inner: Connection<Data = Buf>, const BYTE: u8> Connection for PrefixConnection<Inner, BYTE> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        let mut marked = self.base().buffer(message.len() + 1)?;
        marked[0] = BYTE;
        marked[1..].copy_from_slice(&message);
        self.inner.send(marked).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            let mut message = self.inner.recv().await?;
            if message.first() == Some(&BYTE) {
                message.advance(1)?;
                return Ok(message);
            }
        }
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}
