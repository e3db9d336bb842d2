//! Connections by the first of several alternatives, each over a datapath of its own.

use crate::scene::{A, B, bytes, client, echo, server, server_addr, simulate};
use crate::veil::Veil;
use bertha_chunnels::{Reliable, Serialize};
use bertha_core::guarantee::{Encrypted, Set};
use bertha_core::{
    Addr, Base, Buf, Connection, Datapath, Error, ErrorKind, OverAnyBase, Runtime, make_stack, select,
};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_datapath_shm::Shm;
use bertha_datapath_sim::{Network, SimConnection, SimDatapath, SimListener};
use bertha_negotiation::{Agreement, Credentials, Negotiate, Negotiated, Settings, SharedKey};
use std::time::Duration;

/// The address at which nobody listens.
fn nobody() -> Addr {
    ([10, 0, 0, 3], 4242).into()
}

/// A datapath that does not tell its runtime.
#[derive(Clone)]
struct Timeless(SimDatapath);

impl Datapath for Timeless {
    type Connection = SimConnection;
    type Listener = SimListener;

    async fn connect(&self, to: Addr) -> Result<SimConnection, Error> {
        self.0.connect(to).await
    }

    async fn listen(&self, on: Addr) -> Result<SimListener, Error> {
        self.0.listen(on).await
    }
}

fn notes(agreement: &Agreement) -> Vec<String> {
    agreement.notes().iter().map(ToString::to_string).collect()
}

async fn echoes<C: Connection<Data = Buf>>(connection: &Negotiated<C>) {
    connection.send(bytes(b"hello")).await.unwrap();
    assert_eq!(&connection.recv().await.unwrap()[..], b"hello");
}

async fn serves<S>(network: &Network, stack: S)
where
    S: Negotiate + 'static,
    SimDatapath: bertha_negotiation::Runs<S, Out: Connection<Data = Buf>>,
{
    echo(network, stack.listen(server(network), server_addr()).await.unwrap(), drop);
}

#[test]
fn the_first_alternative_that_answers_wins_and_the_next_is_not_tried() {
    simulate(1, async |network: Network| {
        serves(&network, A).await;
        let (one, other) = (client(&network), client(&network));
        let connection = A.connect(one, server_addr()).or(B.connect(other, nobody())).await.unwrap();
        echoes(&connection).await;
        assert_eq!(
            notes(&connection.explain()),
            ["Fallback: [B] to 10.0.0.3:4242 over SimDatapath was not tried"]
        );
    });
}

#[test]
fn an_alternative_that_is_silent_has_a_delay_for_itself() {
    simulate(1, async |network: Network| {
        serves(&network, B).await;
        let _silent = network.host([10, 0, 0, 3]).listen(nobody()).await.unwrap();
        let runtime = network.runtime().clone();
        let begun = runtime.now();
        let connecting = A.connect(client(&network), nobody()).or(B.connect(client(&network), server_addr()));
        let connection = connecting.delay(Duration::from_millis(50)).await.unwrap();
        let took = runtime.now() - begun;
        assert!((50..100).contains(&took.as_millis()), "{took:?}");
        echoes(&connection).await;
        let explained = connection.explain().to_string();
        assert_eq!(
            explained,
            "B, agreed as client; Fallback: [A] to 10.0.0.3:4242 over SimDatapath was slower"
        );
    });
}

#[test]
fn after_a_refusal_the_next_of_three_begins_at_once() {
    simulate(1, async |network: Network| {
        serves(&network, B).await;
        let runtime = network.runtime().clone();
        let begun = runtime.now();
        let at = || client(&network);
        let connection = A
            .connect(at(), server_addr())
            .or(B.connect(at(), server_addr()))
            .or(make_stack!(B, A).connect(at(), server_addr()))
            .await
            .unwrap();
        assert!(runtime.now() - begun < Duration::from_millis(50));
        echoes(&connection).await;
        let [first, last] = &notes(&connection.explain())[..] else { panic!("two lost") };
        assert!(
            first.starts_with(
                "Fallback: [A] to 10.0.0.2:4242 over SimDatapath failed: negotiation: refused: "
            )
        );
        assert!(last.ends_with("was not tried"), "{last}");
    });
}

#[test]
fn the_error_has_the_kind_of_an_end_that_answered_and_names_all() {
    simulate(1, async |network: Network| {
        serves(&network, B).await;
        let _silent = network.host([10, 0, 0, 3]).listen(nobody()).await.unwrap();
        let settings = Settings::default().handshake_timeout(Duration::from_secs(1));
        let silent = B.connect(client(&network), nobody()).settings(settings);
        let error = silent.or(A.connect(client(&network), server_addr())).await.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        let text = error.to_string();
        assert!(text.contains("no alternative could be connected to: [A] to 10.0.0.2:4242"), "{text}");
        assert!(text.contains("[B] to 10.0.0.3:4242 over SimDatapath: negotiation: timed out"), "{text}");
    });
}

#[test]
fn an_alternative_that_is_weaker_is_never_taken() {
    simulate(1, async |network: Network| {
        serves(&network, A).await;
        let quick = || Settings::default().handshake_timeout(Duration::from_secs(1));
        let veiled = make_stack!(A, Veil);
        let at = || client(&network);
        let dropped = || veiled.connect(at(), nobody()).settings(quick());
        let error = dropped().or(A.connect(at(), server_addr())).await.map(drop).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{text}");
        assert!(text.contains("no alternative of it is encrypted"), "{text}");
        assert!(text.contains("never weaker than those before it"), "{text}");

        // One that may be as strong takes no weaker branch, and a floor counts as a stack does.
        let either = make_stack!(A, select!(bertha_chunnels::Nothing, Veil));
        let plain = make_stack!(A, bertha_chunnels::Nothing);
        let error = dropped().or(either.connect(at(), server_addr())).await.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        let floor = quick().floor(Set::of::<Encrypted>());
        let first = either.connect(at(), nobody()).settings(floor);
        let error = first.or(plain.connect(at(), server_addr())).await.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        // The strength of the first holds for the third, too.
        let error = dropped()
            .or(veiled.connect(at(), nobody()).settings(quick()))
            .or(plain.connect(at(), server_addr()))
            .await
            .map(drop)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        // Over the other order nothing is lost.
        serves_elsewhere(&network, veiled.clone()).await;
        let up = plain.connect(at(), nobody()).settings(quick()).or(veiled.connect(at(), elsewhere()));
        echoes(&up.await.unwrap()).await;
    });
}

fn elsewhere() -> Addr {
    ([10, 0, 0, 2], 4343).into()
}

async fn serves_elsewhere<S>(network: &Network, stack: S)
where
    S: Negotiate + 'static,
    SimDatapath: bertha_negotiation::Runs<S, Out: Connection<Data = Buf>>,
{
    echo(network, stack.listen(server(network), elsewhere()).await.unwrap(), drop);
}

#[test]
fn credentials_hold_for_the_alternatives_behind_them() {
    simulate(1, async |network: Network| {
        let keyed = || Settings::default().credentials(Credentials::shared(SharedKey::new([7; 32])));
        let quick = || keyed().handshake_timeout(Duration::from_secs(1));
        serves(&network, A).await;
        let at = || client(&network);
        let proved = || A.connect(at(), nobody()).settings(quick());
        let error = proved().or(A.connect(at(), server_addr())).await.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("it has other credentials"), "{error}");
        echo(&network, A.listen(server(&network), elsewhere()).settings(keyed()).await.unwrap(), drop);
        let connection = proved().or(A.connect(at(), elsewhere()).settings(keyed())).await.unwrap();
        echoes(&connection).await;
        assert!(connection.explain().is_authenticated());
    });
}

#[test]
fn without_a_clock_one_is_tried_after_another() {
    simulate(1, async |network: Network| {
        serves(&network, B).await;
        let _silent = network.host([10, 0, 0, 3]).listen(nobody()).await.unwrap();
        let at = || Timeless(client(&network));
        let settings = Settings::default().handshake_timeout(Duration::from_secs(1));
        let runtime = network.runtime().clone();
        let begun = runtime.now();
        let first = A.connect(at(), nobody()).settings(settings);
        let connection = first.or(B.connect(at(), server_addr())).await.unwrap();
        assert!(runtime.now() - begun >= Duration::from_secs(1));
        echoes(&connection).await;
        let [note] = &notes(&connection.explain())[..] else { panic!("one lost") };
        assert!(note.contains("over Timeless failed: negotiation: timed out"), "{note}");
    });
}

/// A network that drops all datagrams, as many do: the socket takes them, and nobody reads them.
#[tokio::test]
async fn reliable_over_udp_falls_back_to_tcp() {
    let swallows = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let stack = make_stack!(Serialize::<String>::new());
    let mut incoming = stack.clone().listen(Tcp::new(), "127.0.0.1:0").await.unwrap();
    let to = incoming.local_addr();
    let serving = tokio::spawn(async move {
        let client = incoming.next().await.unwrap();
        while let Ok(message) = client.recv().await {
            client.send(message).await.unwrap();
        }
    });
    let datagrams = make_stack!(Serialize::<String>::new(), Reliable::new());
    let first = datagrams.connect(Udp::new(), Addr::from(swallows.local_addr().unwrap()));
    let connection = first.or(stack.connect(Tcp::new(), to.clone())).await.unwrap();
    connection.send("hello".into()).await.unwrap();
    assert_eq!(connection.recv().await.unwrap(), "hello");
    assert_eq!(connection.peer_addr(), to);
    let explained = connection.explain().to_string();
    assert!(explained.contains("over Udp was slower"), "{explained}");
    connection.close().await.unwrap();
    serving.await.unwrap();
}

/// Shared memory and sockets have bases of different types.
#[tokio::test]
async fn shared_memory_falls_back_to_udp_over_any_base() {
    let gone = Addr::Unix(std::env::temp_dir().join(format!("bertha-nobody-{}", std::process::id())));
    let stack = make_stack!(Serialize::<String>::new());
    let udp = OverAnyBase::new(Udp::new());
    let mut incoming = stack.clone().listen(udp.clone(), "127.0.0.1:0").await.unwrap();
    let to = incoming.local_addr();
    let serving = tokio::spawn(async move {
        let client = incoming.next().await.unwrap();
        let message = client.recv().await.unwrap();
        client.send(message).await.unwrap();
        client
    });
    let memory = stack.connect(OverAnyBase::new(Shm::new()), gone);
    let connection = memory.or(stack.connect(udp, to.clone())).await.unwrap();
    connection.send("hello".into()).await.unwrap();
    assert_eq!(connection.recv().await.unwrap(), "hello");
    assert_eq!(connection.base().peer_addr(), to);
    assert!(format!("{:?}", connection.base()).contains(&to.to_string()));
    assert!(connection.base().reserved() > 0 && connection.base().buffer(1).unwrap().headroom() > 0);
    assert!(connection.statistics().to_string().contains("send buffer"));
    assert_eq!(connection.base().peer_identity(), None, "the network vouches for nobody");
    let explained = connection.explain().to_string();
    assert!(explained.contains("over OverAnyBase<Shm> failed: "), "{explained}");
    serving.await.unwrap();
}
