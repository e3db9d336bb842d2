//! Machines that refuse to send for a moment: datagrams of `Quic` and `Noise`, and of their handshakes, are lost
//! and repeated.

use crate::lean::{GOOD, Lean, Plan};
use crate::secured::noise::patterns;
use crate::secured::scene::{Hosts, SERVER, Subject, over_datagrams};
use bertha_chunnels::{Ordered, Reliable};
use bertha_core::{Buf, Connection, ErrorKind, make_stack};
use bertha_negotiation::{Negotiate, Negotiated, Runs};
use futures_util::future::join;

/// The refused calls of `send`: calls of the handshakes, and runs of calls amid the messages.
const REFUSED: [u64; 5] = [0b1, 0b10, 0b110, 0b1111_0000, 0xff_ff00];

fn refusing(sends: u64) -> Plan {
    Plan { sends, kind: ErrorKind::NotSent, ..GOOD }
}

/// Connects a client and a server of which each follows its plan.
async fn connect<S>(
    hosts: &Hosts,
    client: S,
    server: S,
    plans: [Plan; 2],
) -> (Negotiated<<Lean as Runs<S>>::Out>, Negotiated<<Lean as Runs<S>>::Out>)
where
    S: Negotiate + 'static,
    Lean: Runs<S>,
{
    let [of_client, of_server] = plans;
    let mut incoming = server.listen(Lean(hosts.server.clone(), of_server), (SERVER, 0)).await.unwrap();
    let to = incoming.local_addr();
    let connecting = client.connect(Lean(hosts.client.clone(), of_client), to).into_future();
    let (accepted, connected) = join(incoming.next_or_refusal(), connecting).await;
    // The address stays in use, as the address of a server does.
    std::mem::forget(incoming);
    (connected.unwrap(), accepted.unwrap().unwrap())
}

/// Sends messages that must all arrive, and closes.
async fn all_arrive(here: &impl Connection<Data = Buf>, there: &impl Connection<Data = Buf>) {
    let sending = async {
        for number in 0..100 {
            here.send(Buf::copy_of(&[number; 1_000], 64).unwrap()).await.unwrap();
        }
        here.close().await.unwrap();
    };
    let receiving = async {
        for number in 0..100 {
            assert_eq!(*there.recv().await.unwrap(), [number; 1_000]);
        }
        assert_eq!(there.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    };
    join(sending, receiving).await;
}

#[test]
fn quic_repeats_packets_that_its_machine_refuses() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let mut refused = 0;
        for sends in REFUSED {
            for plans in [[refusing(sends), GOOD], [GOOD, refusing(sends)]] {
                let (here, there) = connect(hosts, server.client(), server.server(), plans).await;
                all_arrive(&here, &there).await;
                for drops in [here.drops(), there.drops()] {
                    let of_quic = |it: &&bertha_core::Dropped| {
                        (it.layer, it.reason) == ("Quic", "not sent by this machine")
                    };
                    refused += drops.iter().find(of_quic).unwrap().messages;
                }
            }
        }
        assert!(refused > 0, "no packet of QUIC was refused");
    });
}

#[test]
fn noise_completes_its_handshake_and_goes_on_after_a_refusal() {
    over_datagrams(async |hosts| {
        for (client, server) in patterns() {
            for sends in REFUSED {
                for plans in [[refusing(sends), GOOD], [GOOD, refusing(sends)]] {
                    let over = |noise| make_stack!(Ordered::new(), Reliable::new(), noise);
                    let (here, there) =
                        connect(hosts, over(client.clone()), over(server.clone()), plans).await;
                    all_arrive(&here, &there).await;
                }
            }
        }
    });
}

/// Without a transport above it, the caller of `send` learns of the refusal, and the next message arrives.
#[test]
fn a_message_of_noise_that_is_refused_ends_nothing() {
    over_datagrams(async |hosts| {
        for (client, server) in patterns() {
            let plans = [refusing(0xff00), GOOD];
            let (here, there) = connect(hosts, client, server, plans).await;
            let mut failures = 0;
            for number in 0..100_u8 {
                match here.send(Buf::copy_of(&[number], 64).unwrap()).await {
                    Ok(()) => assert_eq!(*there.recv().await.unwrap(), [number]),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::NotSent, "{error}");
                        assert!(!error.ends_connection());
                        failures += 1;
                    }
                }
            }
            assert!((1..=8).contains(&failures), "{failures}");
        }
    });
}
