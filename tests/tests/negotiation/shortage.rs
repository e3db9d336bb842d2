//! A datapath that sometimes has no room, or no memory, for a message.

use crate::early_scene::{defaults, hear, heard, known, learn, open, over, say, serve, with};
use crate::lean::{GOOD, Lean, Plan};
use crate::scene::{A, B, C, bytes, client, echo, server, server_addr, simulate};
use bertha_chunnels::{Ordered, Reliable, Serialize};
use bertha_core::{Connection, Error, ErrorKind, Runtime, make_stack, select};
use bertha_datapath_sim::{Network, Verdict};
use bertha_negotiation::testing::wire::Kind;
use bertha_negotiation::{EarlyCache, Negotiate, ZeroRtt};
use std::time::Duration;

async fn serve_echo(network: &Network) {
    let incoming = make_stack!(A).listen(server(network), server_addr()).await.unwrap();
    echo(network, incoming, |error| panic!("refused: {error}"));
}

#[test]
fn what_a_client_can_not_send_or_receive_just_now_is_repeated() {
    for (sends, receptions) in [(0b1, 0), (0b111, 0), (0, 0b1), (0, 0b111), (0b101, 0b11)] {
        for kind in [ErrorKind::Exhausted, ErrorKind::NotSent] {
            simulate(1, async |network: Network| {
                serve_echo(&network).await;
                let datapath = Lean(client(&network), Plan { sends, receptions, kind });
                let connection = make_stack!(A).connect(datapath, server_addr()).await.unwrap();
                connection.send(bytes(b"hello")).await.unwrap();
                assert_eq!(*connection.recv().await.unwrap(), *b"hello");
            });
        }
    }
}

#[test]
fn messages_of_the_handshake_that_were_not_sent_are_counted() {
    simulate(10, async |network: Network| {
        serve_echo(&network).await;
        let plan = Plan { sends: 0b111, kind: ErrorKind::NotSent, ..GOOD };
        let connection = make_stack!(A).connect(Lean(client(&network), plan), server_addr()).await.unwrap();
        let drops = connection.drops();
        let refused = drops.iter().find(|it| (it.layer, it.reason) == ("Link", "not sent by this machine"));
        assert_eq!(refused.unwrap().messages, 3, "{drops}");
    });
}

/// The machine refuses twenty datagrams in a row, for instance because no route leads to the server. The
/// datagrams count as lost, and are repeated.
#[test]
fn a_reliable_connection_survives_what_its_machine_does_not_send() {
    simulate(9, async |network: Network| {
        let stack = || make_stack!(Ordered::new(), Reliable::new());
        let mut incoming = stack().listen(server(&network), server_addr()).await.unwrap();
        let plan = Plan { sends: 0xff_fff0, kind: ErrorKind::NotSent, ..GOOD };
        let connecting = async { stack().connect(Lean(client(&network), plan), server_addr()).await };
        let (served, connected) = futures_util::join!(incoming.next_or_refusal(), connecting);
        let (served, connected) = (served.unwrap().unwrap(), connected.unwrap());
        let sending = async {
            for number in 0..100 {
                connected.send(bytes(&[number; 1_000])).await.unwrap();
            }
            connected.close().await.unwrap();
        };
        let receiving = async {
            for number in 0..100 {
                assert_eq!(*served.recv().await.unwrap(), [number; 1_000]);
            }
            assert_eq!(served.recv().await.unwrap_err().kind(), ErrorKind::Closed);
        };
        futures_util::join!(sending, receiving);
        let drops = connected.drops();
        let refused =
            drops.iter().find(|it| (it.layer, it.reason) == ("Reliable", "not sent by this machine"));
        assert!(refused.unwrap().messages > 0, "{drops}");
    });
}

#[test]
fn a_client_that_can_never_send_gives_up_in_time() {
    for (sends, receptions, kind) in [
        (u64::MAX, 0, ErrorKind::Exhausted),
        (0, u64::MAX, ErrorKind::Exhausted),
        (u64::MAX, 0, ErrorKind::NotSent),
    ] {
        simulate(2, async |network: Network| {
            serve_echo(&network).await;
            let datapath = Lean(client(&network), Plan { sends, receptions, kind });
            let before = network.runtime().now();
            let error = make_stack!(A).connect(datapath, server_addr()).await.err().unwrap();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert!(error.to_string().contains("were lost here: lean: "), "{error}");
            assert_eq!((network.runtime().now() - before).as_secs(), 10);
        });
    }
}

#[test]
fn a_broken_connection_ends_the_handshake_at_once() {
    for kind in
        [ErrorKind::Closed, ErrorKind::Reset, ErrorKind::TimedOut, ErrorKind::Unreachable, ErrorKind::Io]
    {
        for (sends, receptions) in [(0b1, 0), (0, 0b1)] {
            simulate(3, async |network: Network| {
                let datapath = Lean(client(&network).streams(), Plan { sends, receptions, kind });
                let incoming =
                    make_stack!(A).listen(server(&network).streams(), server_addr()).await.unwrap();
                echo(&network, incoming, |_| {});
                let before = network.runtime().now();
                let error = make_stack!(A).connect(datapath, server_addr()).await.err().unwrap();
                assert_eq!(error.kind(), kind);
                assert!(network.runtime().now() - before < Duration::from_millis(10));
            });
        }
    }
}

/// The first flight is lost, and its repetition can't be sent, or the answer can't be received.
#[test]
fn a_first_flight_is_repeated_too() {
    for (sends, receptions) in [(0b10, 0), (0, 0b1)] {
        simulate(4, async |network: Network| {
            let (cache, history) = known(&network, over!(select!(A, B)), defaults()).await;
            let mut lost = false;
            network.tap(move |datagram| {
                let is_first =
                    datagram.payload[0] == Kind::Early as u8 && !std::mem::replace(&mut lost, true);
                if is_first { Verdict::Drop } else { Verdict::Pass }
            });
            let datapath = Lean(client(&network), Plan { sends, receptions, ..GOOD });
            let connection = connect_lean(datapath, &cache).await.unwrap();
            say(&connection, &["one"]).await;
            hear(&connection, &["one"]).await;
            assert_eq!(heard(&history), [["one"]]);
        });
    }
}

async fn connect_lean(
    datapath: Lean,
    cache: &EarlyCache,
) -> Result<bertha_negotiation::Early<impl Connection<Data = String>>, Error> {
    over!(select!(A, B)).connect(datapath, server_addr()).early(cache).await
}

/// `send` of these messages has succeeded, so the connection must not lose them.
#[test]
fn messages_that_the_server_has_not_taken_are_sent_when_there_is_room() {
    simulate(5, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let refusing = with(|settings| settings.early_data = false);
        let history = serve(&network, over!(select!(A, B)), refusing).await;
        let datapath = Lean(client(&network), Plan { sends: 0b110, ..GOOD });
        let connection = connect_lean(datapath, &cache).await.unwrap();
        say(&connection, &["one"]).await;
        connection.agreed().await.unwrap();
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::NotTaken));
        hear(&connection, &["one"]).await;
        assert_eq!(heard(&history), [["one"]]);
    });
}

#[test]
fn messages_go_over_another_stack_when_there_is_room() {
    simulate(6, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let history = serve(&network, over!(select!(B, C)), open()).await;
        let datapath = Lean(client(&network), Plan { sends: 0b110, ..GOOD });
        let connection = connect_lean(datapath, &cache).await.unwrap();
        say(&connection, &["one"]).await;
        connection.agreed().await.unwrap();
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Resent(1)));
        hear(&connection, &["one"]).await;
        assert_eq!(heard(&history), [["one"]]);
    });
}

/// A server asks for a confirmation, and can't send its answer, or can't receive the confirmation.
#[test]
fn what_a_server_can_not_send_or_receive_just_now_is_repeated() {
    for (sends, receptions) in [(0b1, 0), (0b11, 0), (0, 0b10), (0, 0b110), (0b1, 0b10)] {
        simulate(7, async |network: Network| {
            let cautious = with(|settings| settings.unvalidated_clients = 1);
            let datapath = Lean(server(&network), Plan { sends, receptions, ..GOOD });
            let mut incoming =
                make_stack!(A).listen(datapath, server_addr()).settings(cautious).await.unwrap();
            let serving = async {
                let served = incoming.next().await.unwrap();
                served.send(bytes(b"hello")).await.unwrap();
                served
            };
            let connecting = async { make_stack!(A).connect(client(&network), server_addr()).await };
            let (_served, connection) = futures_util::join!(serving, connecting);
            assert_eq!(*connection.unwrap().recv().await.unwrap(), *b"hello");
        });
    }
}

#[test]
fn a_close_is_repeated_after_a_reception_that_failed() {
    simulate(8, async |network: Network| {
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        // The first call of `recv` receives the answer.
        let datapath = Lean(client(&network), Plan { receptions: 0b10, ..GOOD });
        let connecting = async { make_stack!(A).connect(datapath, server_addr()).await };
        let (served, connection) = futures_util::join!(incoming.next_or_refusal(), connecting);
        let (served, connection) = (served.unwrap().unwrap(), connection.unwrap());
        let mut lost = false;
        network.tap(move |_| if std::mem::replace(&mut lost, true) { Verdict::Pass } else { Verdict::Drop });
        let before = network.runtime().now();
        let (closed, heard) = futures_util::join!(connection.close(), served.recv());
        closed.unwrap();
        assert_eq!(heard.unwrap_err().kind(), ErrorKind::Closed);
        assert!(network.runtime().now() - before < Duration::from_secs(1));
    });
}
