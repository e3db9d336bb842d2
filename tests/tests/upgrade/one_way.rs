//! Changes of stacks of an end that only sends: it holds up no message that could arrive.

use crate::scene::{A, B, bytes, client, server, simulate};
use crate::traffic::{Live, connect, connect_over};
use bertha_chunnels::{Ordered, Reliable};
use bertha_core::{Buf, Connection, ErrorKind, make_stack, select};
use bertha_datapath_sim::{Link, Network, SimConnection, SimDatapath};
use bertha_negotiation::{Negotiate, Pick, Settings, Switching};
use futures_util::future::{Either, join, select as first_of};
use std::pin::pin;
use std::time::Duration;

/// More messages than a receiver's window and the queues of a link take.
const MANY: u32 = 6_000;

/// The end that requests the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Requester {
    /// The end that sends and does not receive.
    Sender,
    /// The end that has messages which nobody receives.
    Receiver,
}

async fn send(end: &impl Connection<Data = Buf>, count: u32) {
    for next in 0..count {
        let message = [&next.to_le_bytes()[..], &[0; 500]].concat();
        end.send(bytes(&message)).await.unwrap();
    }
}

async fn receive(end: &impl Connection<Data = Buf>, count: u32) {
    for expected in 0..count {
        let message = end.recv().await.unwrap();
        assert_eq!(u32::from_le_bytes(message[..4].try_into().unwrap()), expected);
    }
}

/// Lets the client send, and not receive until the server has received all messages. The server has more
/// messages for the client than the client's window takes, and either end changes the stack.
async fn send_alone<C>(network: &Network, client: &Live<C>, server: &Live<C>, requester: Requester)
where
    Switching<C, SimConnection>: Connection<Data = Buf>,
{
    let runtime = network.runtime();
    let sending = async {
        runtime.sleep(Duration::from_millis(500)).await;
        let changing = async {
            match requester {
                Requester::Sender => client.upgrade(Pick::alternative(1)).await,
                Requester::Receiver => server.upgrade(Pick::alternative(1)).await,
            }
        };
        let changed = join(changing, send(client, MANY)).await.0;
        if let Err(error) = changed {
            // The change is given up, and the old stack goes on.
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        }
    };
    let receiving = async {
        let one_way = pin!(join(sending, receive(server, MANY)));
        if let Either::Right(_) = first_of(one_way, pin!(runtime.sleep(Duration::from_secs(120)))).await {
            panic!("the change holds up messages that could arrive");
        }
        // The messages of the old stack are not lost.
        receive(client, MANY).await;
    };
    join(receiving, send(server, MANY)).await;
    let (closed, end) = join(server.close(), client.recv()).await;
    closed.unwrap();
    assert_eq!(end.unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn an_end_that_only_sends_is_not_held_up_by_a_change() {
    for requester in [Requester::Sender, Requester::Receiver] {
        for loss in [0.0, 0.02] {
            simulate(1, async |network: Network| {
                let stack = || make_stack!(select!(A, B), Ordered::new(), Reliable::new()).upgradable();
                let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
                network.set_link(Link::poor(loss));
                send_alone(&network, &client, &server, requester).await;
            });
        }
    }
}

/// The stream itself repeats nothing and waits for its receiver.
#[test]
fn an_end_that_only_sends_over_a_stream_is_not_held_up_by_a_change() {
    for requester in [Requester::Sender, Requester::Receiver] {
        simulate(1, async |network: Network| {
            let stack = || make_stack!(select!(A, B)).upgradable();
            let [here, there] = [client(&network), server(&network)].map(SimDatapath::streams);
            let (client, server) = connect_over(here, there, stack(), stack(), Settings::default()).await;
            send_alone(&network, &client, &server, requester).await;
        });
    }
}
