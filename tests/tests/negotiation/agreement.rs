//! The stack on which two ends agree, and the error that each end gets if there is none.

use crate::scene::{A, B, C, bytes, client, echo, serve, server, server_addr, simulate};
use bertha_chunnels::serialize::{Encoding, Preencoded};
use bertha_chunnels::{Bincode, Cbor, Json, Nothing, Serialize};
use bertha_core::{Boxed, Buf, Chunnel, Connection, Describe, ErrorKind, make_stack, select};
use bertha_datapath_kernel::TokioRuntime;
use bertha_datapath_sim::{Network, PairConnection, SimDatapath};
use bertha_negotiation::{Negotiate, Runs};
use std::sync::{Arc, Mutex};

/// Connects with `stack`, checks an echo, and returns the agreement as text.
async fn echoed<S>(network: &Network, stack: S) -> String
where
    S: Describe + Send + Sync,
    SimDatapath: Runs<S, Out: Connection<Data = Buf>>,
{
    let connection = stack.connect(client(network), server_addr()).await.unwrap();
    for message in [&b"one"[..], b"", &[7; 5000]] {
        connection.send(bytes(message)).await.unwrap();
        assert_eq!(*connection.recv().await.unwrap(), *message);
    }
    let explanation = connection.explain().to_string();
    connection.close().await.unwrap();
    explanation
}

#[test]
fn choices_on_none_on_either_and_on_both_sides() {
    simulate(1, async |network: Network| {
        serve(&network, make_stack!(A, B)).await;
        assert_eq!(echoed(&network, make_stack!(A, B)).await, "A / B, agreed as client");
        let chosen = echoed(&network, make_stack!(select!(C, A), B)).await;
        assert_eq!(chosen, "A / B, agreed as client; passed over: the client has C where the server has A");
    });
    simulate(2, async |network: Network| {
        serve(&network, make_stack!(select!(C, A), B)).await;
        assert!(echoed(&network, make_stack!(A, B)).await.starts_with("A / B"));
        assert!(
            echoed(&network, make_stack!(select!(A, C), B)).await.starts_with("C / B"),
            "the server's order"
        );
    });
}

#[test]
fn one_server_serves_clients_with_different_stacks_at_once() {
    simulate(3, async |network: Network| {
        serve(&network, make_stack!(select!(A, make_stack!(B, C), Nothing))).await;
        let (first, second, third) = futures_util::join!(
            echoed(&network, make_stack!(A)),
            echoed(&network, make_stack!(B, C)),
            echoed(&network, make_stack!(Nothing)),
        );
        assert!(first.starts_with("A,") && second.starts_with("B / C,") && third.starts_with("Nothing,"));
    });
}

#[test]
fn the_same_chunnel_twice_in_one_stack() {
    simulate(4, async |network: Network| {
        serve(&network, make_stack!(A, A, select!(A, B), select!(A, B))).await;
        let explanation = echoed(&network, make_stack!(A, A, B, A)).await;
        assert!(explanation.starts_with("A / A / B / A,"), "{explanation}");
    });
}

#[test]
fn preferences_are_followed() {
    simulate(5, async |network: Network| {
        serve(&network, make_stack!(select!(A, B, C; prefer 2))).await;
        assert!(echoed(&network, make_stack!(select!(A, B, C))).await.starts_with("C,"));
        // After the preferred alternative, the others count in the order in which they are written.
        assert!(echoed(&network, make_stack!(select!(B, A))).await.starts_with("A,"));
    });
}

#[test]
fn sixteen_choices_in_a_stack_of_erased_layers() {
    macro_rules! sixteen {
        ($($choice:expr),*) => { make_stack!($($choice, Boxed, $choice, Boxed, $choice, Boxed, $choice, Boxed),*) };
    }
    simulate(6, async |network: Network| {
        let stack = || sixteen!(select!(A, B), select!(B, A), select!(C, B), select!(A, C));
        serve(&network, stack()).await;
        let explanation = echoed(&network, stack()).await;
        assert!(
            explanation.starts_with("A / Boxed / A / Boxed / A / Boxed / A / Boxed / B"),
            "{explanation}"
        );
    });
}

#[test]
fn a_stack_is_chosen_at_run_time() {
    simulate(7, async |network: Network| {
        serve(&network, make_stack!(select!(A, B))).await;
        for (first, name) in [(true, "A,"), (false, "B / Nothing,")] {
            let datapath = client(&network);
            let stack = if first {
                make_stack!(A).boxed(&datapath)
            } else {
                make_stack!(B, Nothing).boxed(&datapath)
            };
            assert!(echoed(&network, stack).await.starts_with(name));
        }
    });
}

/// A type that named the connection below once for each alternative would double with each `select!`, and so would the
/// time of the compiler.
#[test]
fn the_type_of_a_connection_grows_as_much_with_each_choice() {
    fn length<S: Chunnel<PairConnection<TokioRuntime, Buf>>>(_: &S) -> usize {
        std::any::type_name::<S::Connection>().len()
    }
    let two = length(&make_stack!(select!(A, B), select!(A, B)));
    let four = length(&make_stack!(select!(A, B), select!(A, B), select!(A, B), select!(A, B)));
    let six = length(&make_stack!(
        select!(A, B),
        select!(A, B),
        select!(A, B),
        select!(A, B),
        select!(A, B),
        select!(A, B)
    ));
    assert_eq!(six - four, four - two);
}

/// Returns the errors of a client and a server that have no stack in common.
fn refusal<S, T>(client_stack: S, server_stack: T) -> (bertha_core::Error, bertha_core::Error)
where
    S: Describe + Send + Sync,
    T: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S> + Runs<T>,
{
    simulate(8, async |network: Network| {
        let mut incoming = server_stack.listen(server(&network), server_addr()).await.unwrap();
        let refused = Arc::new(Mutex::new(None));
        let at_server = async {
            let Some(Err(error)) = incoming.next_or_refusal().await else {
                panic!("the client was accepted")
            };
            *refused.lock().unwrap() = Some(error);
        };
        let (at_client, ()) = futures_util::join!(
            client_stack.connect(client(&network), server_addr()).into_future(),
            at_server
        );
        let at_server = refused.lock().unwrap().take().unwrap();
        (at_client.err().unwrap(), at_server)
    })
}

#[test]
fn an_unknown_chunnel_is_refused_on_both_sides_by_name() {
    let (at_client, at_server) = refusal(make_stack!(A, C), make_stack!(A, B));
    assert_eq!(at_client.kind(), ErrorKind::Refused);
    assert_eq!(
        at_client.to_string(),
        "negotiation: refused: no stack suits both ends: the client has C where the server has B; \
         the client offers [A / C], the server [A / B]"
    );
    assert_eq!(at_server.to_string(), at_client.to_string());
}

#[test]
fn ends_whose_codecs_differ_are_refused() {
    let (at_client, at_server) =
        refusal(make_stack!(Serialize::<String, Bincode>::new()), make_stack!(Serialize::<String>::new()));
    assert_eq!((at_client.kind(), at_server.kind()), (ErrorKind::Refused, ErrorKind::Refused));
    let text = at_client.to_string();
    assert!(text.contains("client's Serialize and server's Serialize") && text.contains("bincode"), "{text}");
    assert!(text.ends_with("the client offers [Serialize], the server [Serialize]"), "{text}");
    assert_eq!(at_server.to_string(), text);
}

#[test]
fn a_refusal_names_both_codecs_of_other_languages() {
    let client = || make_stack!(Serialize::<String, Cbor>::new());
    let (at_client, at_server) = refusal(client(), make_stack!(Serialize::<String, Json>::new()));
    let text = at_client.to_string();
    assert!(text.contains("codec: the server has json, the client cbor"), "{text}");
    assert_eq!(at_server.to_string(), text);
    // An end that encodes by itself is refused likewise.
    let (at_client, _) = refusal(client(), make_stack!(Preencoded::new(Encoding::named("messagepack"))));
    assert!(
        at_client.to_string().contains("codec: the server has messagepack, the client cbor"),
        "{at_client}"
    );
    let schema = || make_stack!(Serialize::<String, Cbor>::new().schema("words-2"));
    let (at_client, _) = refusal(client(), schema());
    assert!(at_client.to_string().contains("schema: the server has words-2, the client none"), "{at_client}");
}

#[test]
fn a_refused_client_does_not_end_the_server() {
    simulate(9, async |network: Network| {
        let incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let refused = Arc::new(Mutex::new(0));
        let count = refused.clone();
        echo(&network, incoming, move |_| *count.lock().unwrap() += 1);
        for _ in 0..10 {
            assert!(make_stack!(B).connect(client(&network), server_addr()).await.is_err());
            echoed(&network, make_stack!(A)).await;
        }
        assert_eq!(*refused.lock().unwrap(), 10);
    });
}
