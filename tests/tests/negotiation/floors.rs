//! Stacks that must give a guarantee whatever the other end offers.

use crate::scene::{A, B, bytes, client, echo, server, server_addr, simulate};
use crate::veil::Veil;
use bertha_core::guarantee::{Encrypted, Reliable, Set};
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Describe, Error, ErrorKind, Identity, make_stack,
    select,
};
use bertha_datapath_sim::{Network, SimDatapath};
use bertha_negotiation::{Negotiate, Pick, Runs, Settings};
use std::sync::{Arc, Mutex};

/// A Chunnel that states that it goes around the layers below it. The tests need only the statement.
#[derive(Debug, Clone, Identity)]
#[chunnel(withdraws(Encrypted, Reliable))]
struct Bypass;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Bypass {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}

fn above(floor: Set) -> Settings {
    let mut settings = Settings::default();
    settings.floor = floor;
    settings
}

/// Connects a client with its floor to a server with its floor. Returns the result of the client, and the
/// errors that the server reports.
fn outcome<C, S>(at_client: (C, Set), at_server: (S, Set)) -> (Result<String, Error>, Vec<ErrorKind>)
where
    C: Describe + Send + Sync,
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<C, Out: Connection<Data = Buf>> + Runs<S, Out: Connection<Data = Buf>>,
{
    simulate(1, async |network: Network| {
        let listening = at_server.0.listen(server(&network), server_addr()).settings(above(at_server.1));
        let reports = Arc::new(Mutex::new(Vec::new()));
        let report = reports.clone();
        echo(&network, listening.await.unwrap(), move |error| report.lock().unwrap().push(error.kind()));
        let connected =
            at_client.0.connect(client(&network), server_addr()).settings(above(at_client.1)).await;
        let told = match connected {
            Ok(connection) => {
                connection.send(bytes(b"hello")).await.unwrap();
                assert_eq!(*connection.recv().await.unwrap(), *b"hello");
                Ok(connection.explain().to_string())
            }
            Err(error) => Err(error),
        };
        let reports = reports.lock().unwrap().clone();
        (told, reports)
    })
}

const NONE: Set = Set::NONE;

fn encrypted() -> Set {
    Set::of::<Encrypted>()
}

#[test]
fn a_client_with_a_floor_does_not_offer_what_lies_below() {
    let both = || make_stack!(select!(A, make_stack!(Veil, A)));
    let (told, _) = outcome((both(), NONE), (both(), NONE));
    assert!(told.unwrap().starts_with("A,"), "without a floor the first is taken");
    let (told, _) = outcome((both(), encrypted()), (both(), NONE));
    assert!(told.unwrap().starts_with("Veil / A,"));
}

#[test]
fn a_server_with_a_floor_does_not_pick_what_lies_below() {
    let both = || make_stack!(select!(A, make_stack!(Veil, A)));
    let (told, _) = outcome((both(), NONE), (both(), encrypted()));
    assert!(told.unwrap().starts_with("Veil / A,"));
}

#[test]
fn a_client_that_can_not_reach_the_servers_floor_is_refused() {
    let (told, reports) =
        outcome((make_stack!(A), NONE), (make_stack!(select!(A, make_stack!(Veil, A))), encrypted()));
    let error = told.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("has to be encrypted"), "{error}");
    assert_eq!(reports, [ErrorKind::Refused]);
}

#[test]
fn a_server_that_can_not_reach_the_clients_floor_refuses_it() {
    let (told, reports) =
        outcome((make_stack!(select!(A, make_stack!(Veil, A))), encrypted()), (make_stack!(A), NONE));
    assert_eq!(told.unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(reports, [ErrorKind::Refused]);
}

#[test]
fn a_floor_that_no_alternative_reaches_is_an_error_where_it_is_asked_for() {
    let (told, reports) = outcome((make_stack!(select!(A, B)), encrypted()), (make_stack!(A), NONE));
    let error = told.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("no alternative of it is encrypted"), "{error}");
    assert!(reports.is_empty());
}

#[test]
fn what_the_datapath_guarantees_counts() {
    simulate(2, async |network: Network| {
        let stack = || make_stack!(A);
        let reliable = || above(Set::of::<Reliable>());
        let incoming =
            stack().listen(server(&network).streams(), server_addr()).settings(reliable()).await.unwrap();
        echo(&network, incoming, |error| panic!("{error}"));
        let client = client(&network);
        stack().connect(client.clone().streams(), server_addr()).settings(reliable()).await.unwrap();
        let error = stack().connect(client, server_addr()).settings(reliable()).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    });
}

#[test]
fn a_floor_is_not_reached_below_a_chunnel_that_withdraws_it() {
    let around = || make_stack!(Bypass, Veil);
    for (at_client, at_server) in [(encrypted(), encrypted()), (encrypted(), NONE)] {
        let (told, reports) = outcome((around(), at_client), (make_stack!(Veil), at_server));
        let error = told.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let says = "no alternative of it is encrypted, since Bypass withdraws what is below it";
        assert!(error.to_string().contains(says), "{error}");
        assert!(reports.is_empty(), "the client sends nothing");
    }
    let (told, _) =
        outcome((make_stack!(Veil, Bypass), encrypted()), (make_stack!(Veil, Bypass), encrypted()));
    assert!(told.unwrap().starts_with("Veil / Bypass,"), "what is encrypted above it goes around encrypted");
}

#[test]
fn alternatives_below_a_chunnel_that_withdraws_the_floor_are_passed_over() {
    let both = || make_stack!(select!(Bypass, make_stack!()), Veil);
    let (told, _) = outcome((both(), NONE), (both(), NONE));
    assert!(told.unwrap().starts_with("Bypass / Veil,"), "without a floor the first is taken");
    for (at_client, at_server) in [(encrypted(), NONE), (NONE, encrypted()), (encrypted(), encrypted())] {
        let (told, _) = outcome((both(), at_client), (both(), at_server));
        assert!(told.unwrap().starts_with("Veil,"));
    }
    let (told, reports) = outcome((make_stack!(Bypass, Veil), NONE), (both(), encrypted()));
    let error = told.unwrap_err();
    assert_eq!((error.kind(), &reports[..]), (ErrorKind::Refused, &[ErrorKind::Refused][..]));
    let says = "the server's stack has to be encrypted, and Bypass withdraws what is below it";
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn what_the_datapath_guarantees_can_be_withdrawn() {
    simulate(4, async |network: Network| {
        let reliable = || above(Set::of::<Reliable>());
        let listening = make_stack!(Bypass).listen(server(&network).streams(), server_addr());
        let error = listening.settings(reliable()).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("no alternative of it is reliable, since Bypass"), "{error}");
    });
}

/// A Chunnel that needs encryption below it.
#[derive(Debug, Clone, Identity)]
#[chunnel(needs(Encrypted))]
struct Secrets;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Secrets {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}

#[test]
fn a_need_is_not_met_below_a_chunnel_that_withdraws_it() {
    let around = || make_stack!(Secrets, Bypass, Veil);
    let (told, reports) = outcome((around(), NONE), (make_stack!(Veil), NONE));
    let error = told.unwrap_err();
    assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Invalid, Some("Secrets")));
    assert!(error.context().contains("Bypass withdraws what is below it"), "{error}");
    assert!(reports.is_empty());

    let either = || make_stack!(Secrets, select!(Bypass, make_stack!()), Veil);
    let (told, _) = outcome((either(), NONE), (either(), NONE));
    assert!(told.unwrap().starts_with("Secrets / Veil,"));
}

#[test]
fn a_change_of_stacks_puts_nothing_above_that_withdraws_what_is_in_use() {
    simulate(5, async |network: Network| {
        let stack = || make_stack!(select!(make_stack!(), Bypass), Veil).upgradable();
        let incoming = stack().listen(server(&network), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        let connection = stack().connect(client(&network), server_addr()).await.unwrap();
        connection.send(bytes(b"hello")).await.unwrap();
        assert_eq!(*connection.recv().await.unwrap(), *b"hello");
        let around = || Pick::alternative(1);
        let own = connection.upgrade(around()).await.unwrap_err();
        assert_eq!(own.kind(), ErrorKind::Refused);
        assert!(own.to_string().contains("would lose guarantees of the stack in use, encrypted;"), "{own}");
        let theirs = connection.upgrade(around().losing(encrypted())).await.unwrap_err();
        assert_eq!(theirs.kind(), ErrorKind::Refused);
        assert!(theirs.to_string().contains("guarantees that this end keeps: encrypted;"), "{theirs}");
    });
}

/// An attacker answers in the server's name and picks a stack below the client's floor.
#[test]
fn a_client_builds_nothing_below_its_floor_whoever_answers() {
    use bertha_datapath_sim::Verdict;
    use bertha_negotiation::testing::wire::{self, Answer, Kind};
    simulate(3, async |network: Network| {
        // Either choice may encrypt, so the client has to offer both alternatives of each.
        let stack = || make_stack!(select!(Veil, make_stack!()), A, select!(Veil, make_stack!()));
        network.tap(|datagram| {
            if let (Some((Kind::Answer, tag)), Ok(answer)) =
                (wire::header(&datagram.payload), wire::decode::<Answer>(&datagram.payload))
            {
                let answer = Answer { client_picks: vec![1, 1], server_picks: vec![1, 1], ..answer };
                datagram.payload = wire::encode(Kind::Answer, tag, &answer).unwrap();
            }
            Verdict::Pass
        });
        let incoming = stack().listen(server(&network), server_addr()).settings(above(NONE)).await.unwrap();
        echo(&network, incoming, |_| {});
        let error = stack()
            .connect(client(&network), server_addr())
            .settings(above(encrypted()))
            .await
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("picked [A], which is not encrypted"), "{error}");
    });
}
