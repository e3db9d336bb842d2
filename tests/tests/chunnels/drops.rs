//! The report of a connection counts the messages that its layers drop, by layer and reason.

use crate::ends::{CLIENT, SERVER, connected};
use bertha_chunnels::retry::Correlated;
use bertha_chunnels::{
    AtMostOnce, AtMostOnceByPublisher, Batch, Checksum, Compress, Fault, Fragment, Ordered, OrderedByKey,
    ReceiverOrdered, Reliable, Retry, Rpc, SequencerOrdered, Serialize,
};
use bertha_conformance::{Bufs, Messages};
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Describe, Drops, Error, Identity, make_stack,
};
use bertha_datapath_sim::{Network, Sim, SimDatapath};
use bertha_negotiation::{Negotiate, Runs};
use bertha_tests::conformance::Responses;
use futures_util::future::{Either, select};
use serde::{Deserialize, Serialize as Encode};
use std::pin::pin;
use std::time::Duration;

const MESSAGES: u64 = 20;

/// Sends each message twice, and then a byte that is no message.
#[derive(Debug, Clone, Copy, Identity)]
#[chunnel(one_sided)]
struct Meddle;

struct Meddling<C>(C);

impl<C: Carries<Buf, Self>> Chunnel<C> for Meddle {
    type Connection = Meddling<C>;

    async fn connect_wrap(&self, inner: C, _: ConnectContext<'_, C>) -> Result<Meddling<C>, Error> {
        Ok(Meddling(inner))
    }
}

impl<C: Connection<Data = Buf>> Connection for Meddling<C> {
    type Data = Buf;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.0.base()
    }

    fn mtu(&self) -> usize {
        self.0.mtu()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        let copy = Buf::copy_of(&message, message.headroom())?;
        self.0.send(message).await?;
        self.0.send(copy).await?;
        self.0.send(Buf::copy_of(&[0xee], 64)?).await
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

/// Receives until no message has come for a while.
async fn receive_all<C: Connection>(network: &Network, connection: &C) {
    loop {
        let idle = pin!(network.runtime().sleep(Duration::from_secs(2)));
        let Either::Left((received, _)) = select(pin!(connection.recv()), idle).await else { return };
        received.unwrap();
    }
}

fn count(drops: &Drops, layer: &str, reason: &str) -> Option<u64> {
    drops.iter().find(|it| it.layer == layer && it.reason == reason).map(|it| it.messages)
}

/// Returns the report of the server's drops, of messages that a client sends through this stack.
fn dropped<S, M>(stack: S, messages: &M) -> Drops
where
    S: Describe + Clone + Send + Sync + 'static,
    SimDatapath: Runs<S>,
    M: Messages<<<SimDatapath as Runs<S>>::Out as Connection>::Data>,
{
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let (client, server) = connected(&network, stack).await;
        let sending = async {
            for number in 0..MESSAGES {
                client.send(messages.make(&client, number)).await.unwrap();
            }
        };
        futures_util::join!(sending, receive_all(&network, &server));
        server.drops()
    })
}

#[test]
fn what_arrives_twice_or_malformed_is_in_the_report() {
    macro_rules! drops {
        ($layer:literal, $($reason:literal),+; $messages:expr; $($chunnel:expr),+) => {
            let drops = dropped(make_stack!($($chunnel),+), $messages);
            $(assert!(count(&drops, $layer, $reason) > Some(0), "{}: {drops:?}", $layer);)+
        };
    }
    drops!("AtMostOnce", "repeated or late"; &Bufs; AtMostOnce, Meddle);
    drops!("AtMostOnceByPublisher", "repeated or late"; &Bufs; AtMostOnceByPublisher::new(), Meddle);
    drops!("Batch", "malformed"; &Bufs; Batch::new(), Meddle);
    drops!("Checksum", "damaged"; &Bufs; Checksum::new(), Meddle);
    drops!("Compress", "malformed or too large"; &Bufs; Compress::new(), Meddle);
    drops!("Fragment", "malformed"; &Bufs; Fragment::new(), Meddle);
    drops!("Ordered", "repeated or late"; &Bufs; Ordered::new().skip_after(8), Meddle);
    drops!("OrderedByKey", "repeated or late"; &Bufs; OrderedByKey::new(|_| &[]), Meddle, Reliable::new());
    drops!("ReceiverOrdered", "repeated, late or malformed"; &Bufs; ReceiverOrdered::new(), Meddle);
    drops!("Reliable", "damaged", "repeated"; &Bufs; Reliable::new(), Meddle);
    drops!("Rpc", "malformed"; &Responses; Rpc::new(), Meddle, Reliable::new());
    drops!("SequencerOrdered", "repeated, late or malformed"; &Bufs; SequencerOrdered::new(), Meddle);
    drops!("Serialize", "malformed"; &Numbers; Serialize::<Numbered>::new(), Meddle);
}

/// A request or a reply.
#[derive(Debug, Clone, PartialEq, Encode, Deserialize)]
struct Numbered(u64);

impl Correlated for Numbered {
    fn id(&self) -> u64 {
        self.0
    }
}

struct Numbers;

impl Messages<Numbered> for Numbers {
    fn make<C: Connection<Data = Numbered>>(&self, _: &C, number: u64) -> Numbered {
        Numbered(number)
    }

    fn number(&self, message: &Numbered) -> u64 {
        message.0
    }

    fn oversize<C: Connection<Data = Numbered>>(&self, _: &C) -> Option<Numbered> {
        None
    }
}

#[test]
fn replies_to_no_request_are_in_the_report() {
    let mut sim = Sim::new(2);
    let network = sim.network().clone();
    sim.run(async {
        let stack = make_stack!(Retry::new(), Serialize::<Numbered>::new());
        let mut incoming = make_stack!(Serialize::<Numbered>::new())
            .listen(network.host(SERVER), (SERVER, 0))
            .await
            .unwrap();
        let connecting = stack.connect(network.host(CLIENT), incoming.local_addr()).into_future();
        let (client, server) = futures_util::join!(connecting, incoming.next_or_refusal());
        let (client, server) = (client.unwrap(), server.unwrap().unwrap());
        client.send(Numbered(1)).await.unwrap();
        let request = server.recv().await.unwrap();
        for reply in [Numbered(7), request.clone(), request] {
            server.send(reply).await.unwrap();
        }
        receive_all(&network, &client).await;
        assert_eq!(count(&client.drops(), "Retry", "to no request"), Some(2), "{}", client.drops());
    });
}

#[test]
fn faults_and_messages_that_stay_incomplete_are_in_the_report() {
    let mut sim = Sim::new(3);
    let network = sim.network().clone();
    sim.run(async {
        let stack = make_stack!(Fragment::new().piece(64).incomplete(2), Fault::new(3).loss(0.2));
        let (client, server) = connected(&network, stack).await;
        let sending = async {
            for _ in 0..MESSAGES {
                client.send(Buf::new(300, 64).unwrap()).await.unwrap();
            }
        };
        futures_util::join!(sending, receive_all(&network, &server));
        assert!(count(&client.drops(), "Fault", "on purpose") > Some(0), "{}", client.drops());
        assert!(count(&server.drops(), "Fragment", "incomplete") > Some(0), "{}", server.drops());
    });
}

/// The report counts messages that have arrived and were not received, and messages that arrive while this
/// end closes.
#[test]
fn messages_that_an_end_no_longer_receives_are_in_the_report() {
    let mut sim = Sim::new(4);
    let network = sim.network().clone();
    sim.run(async {
        let (client, server) = connected(&network, Reliable::new()).await;
        let send = async |from: u64| {
            for number in from..from + MESSAGES {
                server.send(Bufs.make(&server, number)).await.unwrap();
            }
        };
        send(0).await;
        network.runtime().sleep(Duration::from_millis(500)).await;
        let last = async {
            send(MESSAGES).await;
            while server.recv().await.is_ok() {}
        };
        let (closed, ()) = futures_util::join!(client.close(), last);
        closed.unwrap();
        let dropped = count(&client.drops(), "Reliable", "after the end");
        assert_eq!(dropped, Some(2 * MESSAGES), "{}", client.drops());
    });
}
