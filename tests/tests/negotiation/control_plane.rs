//! Messages about a connection whose stack has a secure Chunnel, and an attacker that sees all of them and can send any.

use crate::keyed::Keyed;
use crate::scene::{A, B, CLIENT, SERVER, bytes, client, echo, server, server_addr, simulate};
use crate::third_party::{
    Seen, connect, endings, learned, pause, still_talk, tell_both, watch, while_receiving,
};
use bertha_core::guarantee::Set;
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, make_stack, select,
};
use bertha_datapath_sim::{Datagram, Network, SimDatapath, Verdict};
use bertha_negotiation::testing::preferred;
use bertha_negotiation::testing::wire::{self, Answer, Confirm, Kind, Offer, Tag, Upgrade, UpgradeStep};
use bertha_negotiation::{Credentials, Negotiate, Pick, Runs, Settings, SharedKey};
use futures_util::future::{Either, join, select as first_of};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn forged_messages_about_a_secured_connection_are_dropped_and_counted() {
    simulate(1, async |network: Network| {
        let seen = watch(&network);
        let (client, server) =
            connect(&network, || make_stack!(Keyed::default()), &Settings::default()).await;
        assert!(client.explain().is_authenticated() && server.explain().is_authenticated());
        let (id, to_server) = learned(&seen);
        for ending in endings(id) {
            tell_both(&network, &to_server, &ending);
        }
        // The observer replays all messages of both ends to both ends.
        let said = seen.lock().unwrap().clone();
        for datagram in said {
            tell_both(&network, &to_server, &datagram.payload);
        }
        still_talk(&network, &client, &server).await;
        assert!(client.forged() > 3 && server.forged() > 3, "{} and {}", client.forged(), server.forged());
    });
}

/// A forged close ends a connection without protection, so the forged messages have the right form.
#[test]
fn the_same_messages_end_a_connection_whose_chunnels_report_no_key() {
    simulate(1, async |network: Network| {
        let seen = watch(&network);
        let (client, server) = connect(&network, || make_stack!(Keyed::mute()), &Settings::default()).await;
        assert!(!client.explain().is_authenticated());
        let (id, to_server) = learned(&seen);
        tell_both(&network, &to_server, &endings(id)[0]);
        let (at_client, at_server) = join(client.recv(), server.recv()).await;
        assert_eq!(at_client.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(at_server.unwrap_err().kind(), ErrorKind::Closed);
    });
}

#[test]
fn a_close_that_is_meant_is_understood() {
    for credentials in [Credentials::default(), Credentials::shared(SharedKey::new([7; 32]))] {
        simulate(2, async |network: Network| {
            let mut settings = Settings::default();
            settings.credentials = credentials.clone();
            let seen = watch(&network);
            let (client, server) = connect(&network, || make_stack!(Keyed::default()), &settings).await;
            let (closed, at_server) = join(client.close(), server.recv()).await;
            closed.unwrap();
            assert_eq!(at_server.unwrap_err().kind(), ErrorKind::Closed);
            assert_eq!((client.forged(), server.forged()), (0, 0));
            pause(&network, Duration::from_millis(500)).await;
            // The server saw the close at once, so the client did not repeat it.
            let closes = |it: &&Datagram| matches!(wire::header(&it.payload), Some((Kind::Close, _)));
            assert_eq!(seen.lock().unwrap().iter().filter(closes).count(), 1);
        });
    }
}

/// Returns the errors with which two ends that can't connect have ended, within a second.
async fn ends_of<S>(network: &Network, stack: impl Fn() -> S) -> (Error, Error)
where
    S: bertha_core::Describe + Send + Sync + 'static,
    SimDatapath: Runs<S>,
    <SimDatapath as Runs<S>>::Out: Connection<Data = Buf>,
{
    let listening = stack();
    let mut incoming = listening.listen(server(network), server_addr()).await.unwrap();
    let connecting = async {
        match stack().connect(client(network), server_addr()).await {
            Ok(connection) => connection.recv().await.unwrap_err(),
            Err(error) => error,
        }
    };
    let serving = async {
        match incoming.next_or_refusal().await.unwrap() {
            Ok(connection) => connection.recv().await.unwrap_err(),
            Err(error) => error,
        }
    };
    let (late, both) = (pin!(pause(network, Duration::from_secs(1))), pin!(join(connecting, serving)));
    match first_of(both, late).await {
        Either::Left((ends, _)) => ends,
        Either::Right(_) => panic!("an end waits for its peer"),
    }
}

/// The server has no key yet with which it could prove its close, and the client has no key to check a proof.
#[test]
fn a_close_of_an_end_whose_handshake_has_failed_is_understood() {
    simulate(3, async |network: Network| {
        let (at_client, at_server) = ends_of(&network, Keyed::failing).await;
        assert_eq!(at_server.kind(), ErrorKind::Unauthenticated);
        assert!(at_client.to_string().contains("a key that nobody trusts"), "{at_client}");
    });
}

/// Fails to start on the end with this role.
#[derive(Debug, Clone, Identity)]
struct Refuses(Role);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Refuses {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        if context.role() == self.0 {
            return Err(Error::new(ErrorKind::Exhausted, "no licence left").at("Refuses"));
        }
        Ok(inner)
    }
}

/// One end has its key, and proves its close with the key; the other end has the key too, or does not have it
/// yet.
#[test]
fn a_close_of_an_end_that_is_secured_is_understood_by_one_that_is_not_yet() {
    for (role, loses_hellos) in [(Role::Client, false), (Role::Server, false), (Role::Server, true)] {
        simulate(4, async |network: Network| {
            network.tap(move |datagram| {
                let is_from_server = datagram.from == server_addr().ip("test").unwrap();
                let is_data = matches!(wire::header(&datagram.payload), Some((Kind::Data, _)));
                if loses_hellos && is_from_server && is_data { Verdict::Drop } else { Verdict::Pass }
            });
            let (at_client, at_server) =
                ends_of(&network, || make_stack!(Refuses(role), Keyed::default())).await;
            for end in [at_client, at_server] {
                assert!(end.to_string().contains("no licence left"), "{role:?}: {end}");
            }
        });
    }
}

/// Offers and confirms in the client's name, as an observer of the client's messages can.
async fn impersonate(network: &Network, seen: &Seen, stack: &[bertha_core::Node], to_server: &Datagram) {
    let id = 0x7777_7777_7777_7777;
    let offer = wire::encode(Kind::Offer, Tag::of(id), &Offer::new(id, stack).unwrap()).unwrap();
    seen.lock().unwrap().clear();
    network.inject(&Datagram { payload: offer, ..to_server.clone() }).unwrap();
    pause(network, Duration::from_millis(100)).await;
    let answered = |it: &Datagram| wire::decode::<Answer>(&it.payload).ok().filter(|answer| answer.id == id);
    let number = seen.lock().unwrap().iter().find_map(answered).and_then(|answer| answer.confirm);
    let number = number.expect("an answer that asks for a confirmation");
    let confirm = wire::encode(Kind::Confirm, Tag::of(id), &Confirm { id, number }).unwrap();
    network.inject(&Datagram { payload: confirm, ..to_server.clone() }).unwrap();
}

#[test]
fn nobody_replaces_a_secured_connection_in_the_name_of_its_client() {
    simulate(4, async |network: Network| {
        use bertha_core::Describe;
        let stack = || make_stack!(Keyed::default());
        let seen = watch(&network);
        let (client, server) = connect(&network, stack, &Settings::default()).await;
        let (_, to_server) = learned(&seen);
        let receiving = async {
            let (at_client, at_server) = join(client.recv(), server.recv()).await;
            panic!("{at_client:?} and {at_server:?}");
        };
        let attacking = async {
            for _ in 0..20 {
                impersonate(&network, &seen, &stack().nodes(), &to_server).await;
                pause(&network, Duration::from_secs(7)).await;
            }
        };
        first_of(pin!(receiving), pin!(attacking)).await;
        still_talk(&network, &client, &server).await;
    });
}

#[test]
fn a_client_that_has_restarted_takes_its_place_once_the_old_one_is_silent() {
    simulate(5, async |network: Network| {
        let listening = make_stack!(Keyed::default());
        let incoming = listening.listen(server(&network), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        let from = || client(&network).from_port(5000);
        let first = make_stack!(Keyed::default()).connect(from(), server_addr()).await.unwrap();
        first.send(bytes(b"first")).await.unwrap();
        assert_eq!(*first.recv().await.unwrap(), *b"first");
        network.restart(CLIENT);
        let reborn = make_stack!(Keyed::default()).connect(from(), server_addr()).await.unwrap();
        reborn.send(bytes(b"reborn")).await.unwrap();
        assert_eq!(*reborn.recv().await.unwrap(), *b"reborn");
        std::mem::forget(first);
    });
}

/// A server that has lost the key can prove no message.
#[test]
fn a_server_that_has_restarted_ends_a_secured_connection_by_its_silence_alone() {
    simulate(6, async |network: Network| {
        let mut settings = Settings::default();
        settings.idle_timeout = Duration::from_secs(6);
        let (client, server) = connect(&network, || make_stack!(Keyed::default()), &settings).await;
        network.restart(SERVER);
        std::mem::forget(server);
        let again = make_stack!(Keyed::default());
        let again = again.listen(crate::scene::server(&network), server_addr()).await.unwrap();
        echo(&network, again, |_| {});
        client.send(bytes(b"is somebody there?")).await.unwrap();
        let ended = client.recv().await.unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::TimedOut, "{ended}");
    });
}

/// Proposes a stack without encryption to both ends, and tells each end that the other has agreed.
async fn take_off(network: &Network, seen: &Seen, plain_first: &[bertha_core::Node]) {
    let (id, to_server) = learned(seen);
    let say = |step| {
        let upgrade = Upgrade { id, round: 1, step };
        tell_both(network, &to_server, &wire::encode(Kind::Upgrade, Tag::of(id), &upgrade).unwrap());
    };
    say(UpgradeStep::Propose { offer: Offer::new(id, plain_first).unwrap() });
    // The second message has to come once the stacks are built, and before an end hears that its peer has
    // proposed nothing.
    for _ in 0..50 {
        say(UpgradeStep::Begin { sent: 0 });
        pause(network, Duration::from_micros(10)).await;
    }
    pause(network, Duration::from_secs(1)).await;
}

/// Returns the stacks in use at both ends after the attack.
fn attacked(keyed: impl Fn() -> Keyed, may_lose: Set) -> [String; 2] {
    let mut stacks = [String::new(), String::new()];
    simulate(7, async |network: Network| {
        use bertha_core::Describe;
        let mut settings = Settings::default();
        settings.may_lose = may_lose;
        let stack = || make_stack!(select!(keyed(), B)).upgradable();
        let seen = watch(&network);
        let (client, server) = connect(&network, stack, &settings).await;
        assert!(client.explain().to_string().starts_with("Keyed"));
        let plain_first = preferred(&Pick::alternative(1), &stack().nodes(), &[0]).unwrap();
        {
            let attacking = pin!(take_off(&network, &seen, &plain_first));
            let receiving = pin!(join(client.recv(), server.recv()));
            if let Either::Right((received, _)) = first_of(attacking, receiving).await {
                panic!("{received:?}");
            }
        }
        still_talk(&network, &client, &server).await;
        stacks = [&client, &server].map(|end| end.explain().chunnels().collect::<String>());
    });
    stacks
}

#[test]
fn a_third_party_takes_no_encryption_off() {
    let delivery = Settings::default().may_lose;
    // Without both defences the attack succeeds.
    assert_eq!(attacked(Keyed::mute, Set::ALL), ["B", "B"]);
    // The attack fails with each defence alone, and with both.
    assert_eq!(attacked(Keyed::mute, delivery), ["Keyed", "Keyed"]);
    assert_eq!(attacked(Keyed::default, Set::ALL), ["Keyed", "Keyed"]);
    assert_eq!(attacked(Keyed::default, delivery), ["Keyed", "Keyed"]);
}

/// Messages that come before a stack is ready wait for it, and must not count as proved messages then.
#[test]
fn a_proposal_that_came_before_the_stack_was_secured_does_not_count() {
    for keyed in [Keyed::mute, Keyed::default] {
        simulate(8, async |network: Network| {
            use bertha_core::Describe;
            let mut settings = Settings::default();
            settings.may_lose = Set::ALL;
            let stack = || make_stack!(select!(keyed(), B)).upgradable();
            let plain_first = preferred(&Pick::alternative(1), &stack().nodes(), &[0]).unwrap();
            // The attacker tells both ends as soon as there is an answer.
            let (injector, replies) = (network.clone(), Arc::new(Mutex::new(0)));
            let count = replies.clone();
            network.tap(move |datagram| {
                if let Ok(answer) = wire::decode::<Answer>(&datagram.payload) {
                    let (id, tag) = (answer.id, Tag::of(answer.id));
                    let to_server = Datagram { from: datagram.to, to: datagram.from, payload: Vec::new() };
                    let step = UpgradeStep::Propose { offer: Offer::new(id, &plain_first).unwrap() };
                    let upgrade = Upgrade { id, round: 1, step };
                    tell_both(&injector, &to_server, &wire::encode(Kind::Upgrade, tag, &upgrade).unwrap());
                }
                let is_upgrade = matches!(wire::header(&datagram.payload), Some((Kind::Upgrade, _)));
                *count.lock().unwrap() += usize::from(is_upgrade);
                Verdict::Pass
            });
            let (client, server) = connect(&network, stack, &settings).await;
            still_talk(&network, &client, &server).await;
            assert_eq!([&client, &server].map(|end| end.explain().round()), [0, 0]);
            let is_deaf = client.explain().is_authenticated();
            assert_eq!(*replies.lock().unwrap() == 0, is_deaf, "a proposal is answered");
        });
    }
}

#[test]
fn a_change_to_a_secure_stack_protects_all_that_follows_and_one_that_fails_nothing() {
    simulate(9, async |network: Network| {
        let refused = || make_stack!(Refuses(Role::Client), Keyed::default());
        let stack = || make_stack!(select!(A, Keyed::default(), refused())).upgradable();
        let seen = watch(&network);
        let (client, server) = connect(&network, stack, &Settings::default()).await;
        assert!(!client.explain().is_authenticated());
        for end in [&client, &server] {
            let upgrading = while_receiving(end.upgrade(Pick::alternative(2)), &client, &server);
            assert!(upgrading.await.unwrap_err().to_string().contains("no licence left"));
        }
        assert!(!client.explain().is_authenticated() && !server.explain().is_authenticated());
        still_talk(&network, &client, &server).await;
        while_receiving(server.upgrade(Pick::alternative(1)), &client, &server).await.unwrap();
        still_talk(&network, &client, &server).await;
        assert!(client.explain().is_authenticated() && server.explain().is_authenticated());
        let (id, to_server) = learned(&seen);
        for ending in endings(id) {
            tell_both(&network, &to_server, &ending);
        }
        still_talk(&network, &client, &server).await;
        // The ends still understand each other: the client asks for the other stack, and the peer has to
        // agree.
        let away = Pick::alternative(0);
        let kept = while_receiving(client.upgrade(away.clone()), &client, &server).await.unwrap_err();
        assert!(kept.to_string().contains("encrypted"), "{kept}");
        let refused = client.upgrade(away.losing(Set::ALL));
        let refused = while_receiving(refused, &client, &server).await.unwrap_err();
        assert!(refused.to_string().contains("guarantees that this end keeps: "), "{refused}");
        let (closed, at_server) = join(client.close(), server.recv()).await;
        closed.unwrap();
        assert_eq!(at_server.unwrap_err().kind(), ErrorKind::Closed);
    });
}
