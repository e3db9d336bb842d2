//! Stacks in which a Chunnel requires a guarantee of the layers below it.

use crate::scene::{A, B, bytes, client, echo, serve, server, server_addr, simulate};
use bertha_chunnels::{Ordered, Reliable, Tls, Trust};
use bertha_core::{Connection, Describe, Error, ErrorKind, Wrap, make_stack, select};
use bertha_datapath_kernel::{Tcp, TokioRuntime, Udp};
use bertha_datapath_sim::{Network, Verdict, pair};
use bertha_negotiation::{Negotiate, Pick, Settings};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Returns the error of connecting with `stack` over datagrams, and checks that no message was sent.
fn refused<S>(stack: S) -> Error
where
    S: Describe + Send + Sync,
    bertha_datapath_sim::SimDatapath: bertha_negotiation::Runs<S>,
{
    simulate(1, async |network: Network| {
        let sent = Arc::new(AtomicU64::new(0));
        let counter = sent.clone();
        network.tap(move |_| {
            counter.fetch_add(1, Relaxed);
            Verdict::Pass
        });
        let error = stack.connect(client(&network), server_addr()).await.err().unwrap();
        assert_eq!(sent.load(Relaxed), 0, "something was sent before the stack was refused");
        error
    })
}

#[test]
fn order_without_reliability_is_refused_before_anything_is_sent() {
    let error = refused(make_stack!(Ordered::new(), A));
    assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Invalid, Some("Ordered")));
    let says =
        "what is below it has to be reliable, and it stands on [A] over a datapath that guarantees nothing";
    assert!(error.context().starts_with(says), "{error}");

    let error = refused(make_stack!(Reliable::new(), Ordered::new()));
    assert!(error.context().contains("it stands on a datapath that guarantees nothing"), "{error}");
    let error = refused(make_stack!(Ordered::new(), select!(A, B)));
    assert_eq!(error.chunnel(), Some("Ordered"));
}

#[test]
fn an_error_names_the_needs_of_all_alternatives_and_the_chunnels_that_meet_them() {
    let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
    let tls = || Tls::client("store.example", Trust::ca_pem(made.cert.pem()).unwrap()).unwrap();
    let error = refused(make_stack!(tls()));
    assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Invalid, Some("Tls")));
    assert!(error.context().contains("(`Ordered::new(), Reliable::new()` in this order)"), "{error}");

    let error = refused(make_stack!(select!(Ordered::new(), tls())));
    assert_eq!(error.chunnel(), Some("Ordered"));
    let says = "; the other alternatives are no help: Tls needs what is below it to be reliable, ordered";
    assert!(error.context().ends_with(says), "{error}");
}

#[test]
fn what_is_met_connects() {
    simulate(2, async |network: Network| {
        serve(&network, make_stack!(Ordered::new().skip_after(4))).await;
        let gaps = Ordered::new().skip_after(4).connect(client(&network), server_addr()).await.unwrap();
        gaps.send(bytes(b"with gaps")).await.unwrap();
        assert_eq!(*gaps.recv().await.unwrap(), *b"with gaps");
    });
    simulate(3, async |network: Network| {
        let stack = || make_stack!(Ordered::new());
        let incoming = stack().listen(server(&network).streams(), server_addr()).await.unwrap();
        echo(&network, incoming, |error| panic!("{error}"));
        let connection = stack().connect(client(&network).streams(), server_addr()).await.unwrap();
        connection.send(bytes(b"over a stream")).await.unwrap();
        assert_eq!(*connection.recv().await.unwrap(), *b"over a stream");
    });
}

/// The preferred alternative can't hold over datagrams, so the ends pass it over.
#[test]
fn alternatives_that_can_not_hold_are_passed_over() {
    let stack = || make_stack!(Ordered::new(), select!(A, make_stack!(A, Reliable::new())));
    simulate(4, async |network: Network| {
        serve(&network, stack()).await;
        let connection = stack().connect(client(&network), server_addr()).await.unwrap();
        let agreed = connection.explain().to_string();
        assert!(agreed.starts_with("Ordered / A / Reliable,"), "{agreed}");
        connection.send(bytes(b"hello")).await.unwrap();
        assert_eq!(*connection.recv().await.unwrap(), *b"hello");
    });
    // Over streams the first alternative holds.
    simulate(5, async |network: Network| {
        let incoming = stack().listen(server(&network).streams(), server_addr()).await.unwrap();
        echo(&network, incoming, |error| panic!("{error}"));
        let connection = stack().connect(client(&network).streams(), server_addr()).await.unwrap();
        assert!(connection.explain().to_string().starts_with("Ordered / A,"));
    });
}

#[test]
fn a_need_is_judged_by_the_branch_that_it_is_in() {
    let stack = || make_stack!(select!(Ordered::new(), make_stack!(B)), A);
    simulate(6, async |network: Network| {
        serve(&network, stack()).await;
        let connection = stack().connect(client(&network), server_addr()).await.unwrap();
        assert!(connection.explain().to_string().starts_with("B / A,"));
    });
}

/// A server that can hold no stack of the client's offer names the Chunnel and the guarantee that it lacks,
/// to the client and to its own application.
#[test]
fn the_server_says_what_is_missing() {
    use std::sync::Mutex;
    simulate(7, async |network: Network| {
        let stack = make_stack!(select!(
            make_stack!(Ordered::new(), A),
            make_stack!(Ordered::new(), Reliable::new())
        ));
        let incoming = stack.listen(server(&network), server_addr()).await.unwrap();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let report = reports.clone();
        echo(&network, incoming, move |error| report.lock().unwrap().push(error.to_string()));
        // The client's stack claims to need less.
        let lenient = make_stack!(Ordered::new().skip_after(4), A);
        let error = lenient.connect(client(&network), server_addr()).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Refused);
        let says = "what is below the server's Ordered has to be reliable, and would not be";
        assert!(error.to_string().contains(says), "{error}");
        assert!(reports.lock().unwrap()[0].contains(says));
    });
}

#[test]
fn a_connection_does_not_change_to_what_can_not_hold() {
    simulate(8, async |network: Network| {
        let stack = || make_stack!(Ordered::new(), select!(Reliable::new(), A)).upgradable();
        serve(&network, stack()).await;
        let connection = stack().connect(client(&network), server_addr()).await.unwrap();
        let refused = connection.upgrade(Pick::alternative(1));
        let received = connection.recv();
        let error =
            match futures_util::future::select(std::pin::pin!(refused), std::pin::pin!(received)).await {
                futures_util::future::Either::Left((outcome, _)) => outcome.err().unwrap(),
                futures_util::future::Either::Right(_) => panic!("nothing was sent"),
            };
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert!(connection.explain().to_string().starts_with("Ordered / Reliable,"));
    });
}

#[tokio::test]
async fn wrapping_asks_too() {
    use bertha_core::{Datapath, Listener};
    let (here, _there) = pair(TokioRuntime);
    Ordered::new().wrap(here).await.unwrap();

    let listener = Udp::new().listen(loopback().into()).await.unwrap();
    let base = Udp::new().connect(listener.local_addr()).await.unwrap();
    let error = Ordered::new().wrap(base).await.err().unwrap();
    assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Invalid, Some("Ordered")));
}

/// `listen` fails at once if the datapath states its properties before there is a connection.
#[tokio::test]
async fn listening_asks_too() {
    let error = Ordered::new().listen(Udp::new(), loopback()).await.err().unwrap();
    assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Invalid, Some("Ordered")));
    Ordered::new().listen(Tcp::new(), loopback()).await.unwrap();
    let floor = {
        let mut settings = Settings::default();
        settings.floor = bertha_core::guarantee::Set::of::<bertha_core::guarantee::Encrypted>();
        settings
    };
    let error = make_stack!(A).listen(Tcp::new(), loopback()).settings(floor).await.err().unwrap();
    assert!(error.to_string().contains("no alternative of it is encrypted"), "{error}");
}
