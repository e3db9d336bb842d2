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
use futures_util::FutureExt;
use futures_util::future::{Either, join, join3, pending, select as first_of};
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
#[derive(Debug, Clone, Copy, Default, Identity)]
struct Strict {
    greets: bool,
    /// True if a close is not announced, so that the counterpart takes the stream for cut.
    closes_silently: bool,
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Strict {
    type Connection = StrictConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let has_ended_there = AtomicBool::new(false);
        let connection = StrictConnection { inner, closes_silently: self.closes_silently, has_ended_there };
        if self.greets {
            connection.send_as(GREETING, &[]).await?;
        }
        Ok(connection)
    }
}

struct StrictConnection<Inner> {
    inner: Inner,
    closes_silently: bool,
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
        if !self.closes_silently {
            // The peer may be gone, and the connection below has to be closed nevertheless.
            let _ = self.send_as(END, &[]).await;
        }
        self.inner.close().await
    }
}

fn number(message: &Buf) -> u32 {
    u32::from_le_bytes(message[..4].try_into().unwrap())
}

/// The call by which an end receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Recv,
    RecvBatch,
}

/// Returns the number of messages until the end of the connection, and the end.
async fn receive_all(
    end: &impl Connection<Data = Buf>,
    network: &Network,
    call: Call,
) -> (u32, Option<ErrorKind>) {
    let mut count = 0;
    let receiving = async {
        loop {
            let mut burst = Vec::new();
            let received = match call {
                Call::Recv => end.recv().await.map(|message| burst.push(message)),
                Call::RecvBatch => end.recv_batch(&mut burst, 10).await.map(drop),
            };
            for message in burst {
                assert_eq!(number(&message), count);
                count += 1;
            }
            match received {
                Err(error) if error.ends_connection() => return error.kind(),
                Ok(()) | Err(_) => {}
            }
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
    let call = [Call::Recv, Call::RecvBatch][dice.roll(2) as usize];
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
        // An end takes part in a change while it receives.
        let hearing = async {
            let nothing = closing.recv().await;
            assert!(nothing.is_err());
            pending().await
        };
        match first_of(pin!(join(changing, ending)), pin!(hearing)).await {
            Either::Left((((), closed), _)) | Either::Right((closed, _)) => closed,
        }
    };
    let changing = async {
        if is_requested_there {
            // It fails if the connection has ended before.
            let _ = other.upgrade(Pick::alternative(1)).await;
        }
    };
    let receiving = async {
        runtime.sleep(pause).await;
        receive_all(other, network, call).await
    };
    let (closed, received, ()) = join3(sending, receiving, changing).await;
    assert_eq!(received, (count, Some(ErrorKind::Closed)), "seed {seed}, after {moment:?}, {call:?}");
    assert!(closed.is_ok(), "seed {seed}, after {moment:?}: {closed:?}");
}

#[test]
fn a_close_amid_a_change_is_a_close_over_stacks_that_detect_a_cut() {
    with_seeds(400, |seed| {
        simulate(seed, async |network: Network| {
            let layer = Strict { greets: seed % 4 > 1, ..Strict::default() };
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
            let layer = Strict { greets: seed % 4 > 1, ..Strict::default() };
            let stack = || make_stack!(layer, select!(A, B)).upgradable();
            let [here, there] = [client(&network), server(&network)].map(SimDatapath::streams);
            let (client, server) = connect_over(here, there, stack(), stack(), Settings::default()).await;
            let [closing, other] = if seed % 2 == 0 { [&client, &server] } else { [&server, &client] };
            close_amid_change(&network, seed, closing, other).await;
        });
    });
}

/// A peer drops its end at some moment of a change. All messages that it has sent may arrive, and its end is no
/// close nevertheless.
#[test]
fn a_drop_amid_a_change_is_no_close_over_streams() {
    with_seeds(400, |seed| {
        simulate(seed, async |network: Network| {
            let mut dice = Dice::new(seed);
            let runtime = network.runtime();
            let stack = || make_stack!(select!(A, B)).upgradable();
            let [here, there] = [client(&network), server(&network)].map(SimDatapath::streams);
            let (client, server) = connect_over(here, there, stack(), stack(), Settings::default()).await;
            let (dropped, other) = if seed % 2 == 0 { (client, server) } else { (server, client) };
            let count = dice.roll(3) as u32;
            let moment = Duration::from_micros(dice.roll(3_000));
            let is_requested_there = dice.roll(2) == 0;
            let pause = Duration::from_millis(dice.roll(2) * 50);
            let call = [Call::Recv, Call::RecvBatch][dice.roll(2) as usize];
            let dropping = async move {
                for next in 0..count {
                    dropped.send(bytes(&next.to_le_bytes())).await.unwrap();
                }
                let changing = async {
                    if !is_requested_there {
                        let _ = dropped.upgrade(Pick::alternative(1)).await;
                    }
                };
                // An end takes part in a change while it receives.
                let working = join(changing, dropped.recv());
                first_of(pin!(working), pin!(runtime.sleep(moment))).await;
                drop(dropped);
            };
            let changing = async {
                if is_requested_there {
                    let _ = other.upgrade(Pick::alternative(1)).await;
                }
            };
            let receiving = async {
                runtime.sleep(pause).await;
                receive_all(&other, &network, call).await
            };
            let ((received, end), (), ()) = join3(receiving, dropping, changing).await;
            let is_cut = matches!(end, Some(ErrorKind::Reset | ErrorKind::TimedOut));
            assert!(is_cut, "seed {seed}, after {moment:?}, {call:?}: {end:?}");
            assert!(received <= count, "seed {seed}");
        });
    });
}

/// The stream of a peer that dies at some moment of a change ends without a close. Messages of either stack may
/// have arrived before.
#[test]
fn a_stream_that_breaks_amid_a_change_is_no_close() {
    with_seeds(400, |seed| {
        simulate(seed, async |network: Network| {
            let mut dice = Dice::new(seed);
            let runtime = network.runtime();
            let stack = || make_stack!(select!(A, B)).upgradable();
            let [here, there] = [client(&network), server(&network)].map(SimDatapath::streams);
            let (client, server) = connect_over(here, there, stack(), stack(), Settings::default()).await;
            let ends = [(&client, CLIENT), (&server, SERVER)];
            let [(dying, host), (other, _)] = if seed % 2 == 0 { ends } else { [ends[1], ends[0]] };
            let moment = Duration::from_micros(dice.roll(3_000));
            let is_requested_there = dice.roll(2) == 0;
            // A slow receiver finds messages of both stacks, and the task of the change finds the end.
            let pause = Duration::from_secs(dice.roll(2) * 5);
            let call = [Call::Recv, Call::RecvBatch][dice.roll(2) as usize];
            let talking = async {
                let mut next = 0_u32;
                while dying.send(bytes(&next.to_le_bytes())).await.is_ok() {
                    next += 1;
                    runtime.sleep(Duration::from_micros(500)).await;
                }
                next
            };
            let changing = async {
                let requesting = if is_requested_there { other } else { dying };
                let _ = requesting.upgrade(Pick::alternative(1)).await;
            };
            let breaking = async {
                runtime.sleep(moment).await;
                network.restart(host);
            };
            let receiving = async {
                runtime.sleep(pause).await;
                receive_all(other, &network, call).await
            };
            let (sent, (received, end), ()) =
                join3(talking, receiving, join(changing, breaking).map(drop)).await;
            let is_cut = matches!(end, Some(ErrorKind::Reset | ErrorKind::TimedOut));
            assert!(is_cut, "seed {seed}, after {moment:?}, {call:?}: {end:?}");
            assert!(received <= sent, "seed {seed}");
        });
    });
}

/// The peer has begun the change to a stack that detects a cut, so a close in the stack before is no close of
/// the connection.
#[test]
fn a_cut_of_the_stack_after_a_change_is_no_close() {
    for call in [Call::Recv, Call::RecvBatch] {
        simulate(1, async |network: Network| {
            let strict = Strict { closes_silently: true, ..Strict::default() };
            let stack = || make_stack!(select!(A, strict)).upgradable();
            let [here, there] = [client(&network), server(&network)].map(SimDatapath::streams);
            let (client, server) = connect_over(here, there, stack(), stack(), Settings::default()).await;
            for number in 0..2_u32 {
                client.send(bytes(&number.to_le_bytes())).await.unwrap();
            }
            let changing = async {
                server.upgrade(Pick::alternative(1)).await.unwrap();
                // The client begins as well.
                network.runtime().sleep(Duration::from_millis(50)).await;
            };
            assert!(matches!(first_of(pin!(changing), pin!(client.recv())).await, Either::Left(_)));
            // The server has yet to receive the messages before the change.
            let (_, received) = join(client.close(), receive_all(&server, &network, call)).await;
            assert_eq!(received, (2, Some(ErrorKind::Reset)), "{call:?}");
        });
    }
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

/// A layer whose close ends a drain that is under way with an error of this kind, as the close of QUIC does.
#[derive(Debug, Clone, Copy, Identity)]
struct Abrupt(ErrorKind);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Abrupt {
    type Connection = AbruptConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(AbruptConnection { inner, kind: self.0, closing: Notify::new() })
    }
}

struct AbruptConnection<Inner> {
    inner: Inner,
    kind: ErrorKind,
    closing: Notify,
}

impl<Inner: Carries<Buf, Abrupt>> Connection for AbruptConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, send, recv, send_batch, recv_batch);

    async fn drain(&self) -> Result<(), Error> {
        match first_of(pin!(self.inner.drain()), pin!(self.closing.notified())).await {
            Either::Left((drained, _)) => drained,
            Either::Right(_) => {
                Err(Error::new(self.kind, "this end has closed").at("Abrupt").ending_connection())
            }
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
    for kind in [ErrorKind::Closed, ErrorKind::Reset] {
        simulate(1, async |network: Network| close_amid_drain(&network, kind).await);
    }
}

async fn close_amid_drain(network: &Network, kind: ErrorKind) {
    let stack = || make_stack!(Abrupt(kind), select!(A, B), Ordered::new(), Reliable::new()).upgradable();
    let (client, server) = connect(network, stack(), stack(), Settings::default()).await;
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
        receive_all(&server, network, Call::Recv).await
    };
    let (closed, received) = join(closing, changing).await;
    assert_eq!(received, (count, Some(ErrorKind::Closed)));
    closed.unwrap();
}
