//! Ends of connections while a change is proposed, or drains the old stack: the end that counts is the end of
//! the stack in use.

use crate::parting::Parting;
use crate::scene::{A, B, CLIENT, SERVER, bytes, client, server, simulate};
use crate::traffic::{Dice, Live, connect, connect_over};
use bertha_chunnels::{Ordered, Reliable};
use bertha_core::{
    Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, Runtime,
    forward, make_stack, select,
};
use bertha_datapath_sim::{Link, Network, SimConnection, SimDatapath};
use bertha_negotiation::{Negotiate, Pick, Settings, Switching};
use bertha_tests::with_seeds;
use futures_util::future::{Either, join, join3, select as first_of};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

const DATA: u8 = 0;
const END: u8 = 1;
const GREETING: u8 = 2;

/// A layer whose close is a message, without which its counterpart takes the stream for cut, as TLS does. It
/// may also send a message that its counterpart reads with the first message of the application, as TLS sends
/// its tickets.
#[derive(Debug, Clone, Copy, Identity)]
struct Strict {
    greets: bool,
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Strict {
    type Connection = StrictConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let connection = StrictConnection { inner, has_ended_there: AtomicBool::new(false) };
        if self.greets {
            connection.send_as(GREETING, &[]).await?;
        }
        Ok(connection)
    }
}

struct StrictConnection<Inner> {
    inner: Inner,
    has_ended_there: AtomicBool,
}

impl<Inner: Carries<Buf, Strict>> StrictConnection<Inner> {
    async fn send_as(&self, kind: u8, bytes: &[u8]) -> Result<(), Error> {
        let mut message = self.base().buffer(bytes.len() + 1)?;
        message[0] = kind;
        message[1..].copy_from_slice(bytes);
        self.inner.send(message).await
    }
}

impl<Inner: Carries<Buf, Strict>> Connection for StrictConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.send_as(DATA, &message).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if self.has_ended_there.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Closed, "the other end has closed").at("Strict"));
            }
            match self.inner.recv().await {
                Ok(message) if message[0] == END => self.has_ended_there.store(true, Ordering::Relaxed),
                Ok(message) if message[0] == GREETING => {}
                Ok(mut message) => {
                    message.advance(1)?;
                    return Ok(message);
                }
                Err(error) if error.kind() == ErrorKind::Closed => {
                    return Err(Error::new(ErrorKind::Reset, "the stream was cut").at("Strict"));
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn close(&self) -> Result<(), Error> {
        // The peer may be gone, and the connection below has to be closed nevertheless.
        let _ = self.send_as(END, &[]).await;
        self.inner.close().await
    }
}

fn number(message: &Buf) -> u32 {
    u32::from_le_bytes(message[..4].try_into().unwrap())
}

/// Returns the number of messages until the end of the connection, and the end.
async fn receive_all(end: &impl Connection<Data = Buf>, network: &Network) -> (u32, Option<ErrorKind>) {
    let mut count = 0;
    let receiving = async {
        loop {
            match end.recv().await {
                Ok(message) => assert_eq!(number(&message), count),
                Err(error) if error.ends_connection() => return error.kind(),
                Err(_) => continue,
            }
            count += 1;
        }
    };
    let late = network.runtime().sleep(Duration::from_secs(120));
    let kind = match first_of(pin!(receiving), pin!(late)).await {
        Either::Left((kind, _)) => Some(kind),
        Either::Right(_) => None,
    };
    (count, kind)
}

/// Sends messages and closes at some moment of a change that either end has requested. The other end receives
/// all messages, and then the close.
async fn close_amid_change<C>(network: &Network, seed: u64, closing: &Live<C>, other: &Live<C>)
where
    Switching<C, SimConnection>: Connection<Data = Buf>,
{
    let mut dice = Dice::new(seed);
    let runtime = network.runtime();
    let count = dice.roll(3) as u32;
    let moment = Duration::from_micros(dice.roll(6_000));
    let is_requested_there = dice.roll(2) == 0;
    // A slow receiver finds the close behind the messages.
    let pause = Duration::from_millis(dice.roll(2) * 50);
    let sending = async {
        for next in 0..count {
            closing.send(bytes(&next.to_le_bytes())).await.unwrap();
        }
        let changing = async {
            if !is_requested_there {
                let _ = closing.upgrade(Pick::alternative(1)).await;
            }
        };
        let ending = async {
            runtime.sleep(moment).await;
            closing.close().await
        };
        join(changing, ending).await.1
    };
    let changing = async {
        if is_requested_there {
            // It fails if the connection has ended before.
            let _ = other.upgrade(Pick::alternative(1)).await;
        }
    };
    let receiving = async {
        runtime.sleep(pause).await;
        receive_all(other, network).await
    };
    let (closed, received, ()) = join3(sending, receiving, changing).await;
    assert_eq!(received, (count, Some(ErrorKind::Closed)), "seed {seed}, after {moment:?}");
    assert!(closed.is_ok(), "seed {seed}, after {moment:?}: {closed:?}");
}

#[test]
fn a_close_amid_a_change_is_a_close_over_stacks_that_detect_a_cut() {
    with_seeds(400, |seed| {
        simulate(seed, async |network: Network| {
            let layer = Strict { greets: seed % 4 > 1 };
            let stack = || make_stack!(layer, select!(A, B), Ordered::new(), Reliable::new()).upgradable();
            let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
            network.set_link(Link::poor((seed % 3) as f64 * 0.02));
            let [closing, other] = if seed % 2 == 0 { [&client, &server] } else { [&server, &client] };
            close_amid_change(&network, seed, closing, other).await;
        });
    });
}

#[test]
fn a_close_amid_a_change_is_a_close_over_streams() {
    with_seeds(400, |seed| {
        simulate(seed, async |network: Network| {
            let layer = Strict { greets: seed % 4 > 1 };
            let stack = || make_stack!(layer, select!(A, B)).upgradable();
            let [here, there] = [client(&network), server(&network)].map(SimDatapath::streams);
            let (client, server) = connect_over(here, there, stack(), stack(), Settings::default()).await;
            let [closing, other] = if seed % 2 == 0 { [&client, &server] } else { [&server, &client] };
            close_amid_change(&network, seed, closing, other).await;
        });
    });
}

/// A layer that takes a while to be built on the server.
#[derive(Debug, Clone, Copy, Identity)]
struct Slow;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Slow {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        if context.role() == Role::Server {
            let runtime = inner.base().runtime();
            runtime.sleep_until(runtime.now() + Duration::from_secs(5)).await;
        }
        Ok(inner)
    }
}

/// The stack that is staged has nothing to deliver, and the stack in use has.
#[test]
fn a_staged_stack_is_not_closed_in_place_of_the_stack_in_use() {
    simulate(1, async |network: Network| {
        let settings = Settings::default().idle_timeout(Duration::from_secs(2));
        let parting = Parting::default();
        let stack = || {
            let staged = make_stack!(parting.clone(), Slow);
            make_stack!(select!(A, staged), Ordered::new(), Reliable::new()).upgradable()
        };
        let (client, server) = connect(&network, stack(), stack(), settings).await;
        let cutting = async {
            // By then the client has built its stack, and the server has not.
            network.runtime().sleep(Duration::from_secs(1)).await;
            network.cut(CLIENT, SERVER);
            client.send(bytes(b"in vain")).await.unwrap();
        };
        let (_, received, ()) = join3(server.upgrade(Pick::alternative(1)), client.recv(), cutting).await;
        assert_eq!(received.unwrap_err().kind(), ErrorKind::TimedOut);
        let error = client.close().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert_eq!(parting.ended().0, 0, "the staged stack is closed");
    });
}

/// A layer whose close ends a drain that is under way, as the close of QUIC does.
#[derive(Debug, Clone, Copy, Identity)]
struct Abrupt;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Abrupt {
    type Connection = AbruptConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(AbruptConnection { inner, closing: Notify::new() })
    }
}

struct AbruptConnection<Inner> {
    inner: Inner,
    closing: Notify,
}

impl<Inner: Carries<Buf, Abrupt>> Connection for AbruptConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, send, recv, send_batch, recv_batch);

    async fn drain(&self) -> Result<(), Error> {
        match first_of(pin!(self.inner.drain()), pin!(self.closing.notified())).await {
            Either::Left((drained, _)) => drained,
            Either::Right(_) => Err(Error::new(ErrorKind::Closed, "this end has closed").at("Abrupt")),
        }
    }

    async fn close(&self) -> Result<(), Error> {
        self.closing.notify_waiters();
        self.inner.drain().await?;
        self.inner.close().await
    }
}

#[test]
fn a_close_while_the_old_stack_drains_delivers_its_messages() {
    simulate(1, async |network: Network| {
        let stack = || make_stack!(Abrupt, select!(A, B), Ordered::new(), Reliable::new()).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        let runtime = network.runtime();
        // More messages than the receiver's window takes.
        let mut count = 0_u32;
        loop {
            let message = [&count.to_le_bytes()[..], &[0; 1_000]].concat();
            let full = pin!(runtime.sleep(Duration::from_millis(200)));
            match first_of(pin!(client.send(bytes(&message))), full).await {
                Either::Left((sent, _)) => sent.unwrap(),
                Either::Right(_) => break,
            }
            count += 1;
        }
        let closing = async {
            runtime.sleep(Duration::from_secs(2)).await;
            client.close().await
        };
        let changing = async {
            server.upgrade(Pick::alternative(1)).await.unwrap();
            // The client drains its stack meanwhile.
            runtime.sleep(Duration::from_secs(5)).await;
            receive_all(&server, &network).await
        };
        let (closed, received) = join(closing, changing).await;
        assert_eq!(received, (count, Some(ErrorKind::Closed)));
        closed.unwrap();
    });
}
