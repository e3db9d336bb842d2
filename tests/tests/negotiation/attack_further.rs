//! Attacks on a further connection: a connection that a Chunnel of a stack opens to another server after its
//! own connection is agreed on.

use crate::keyed::Keyed;
use crate::scene::{client, server, server_addr, simulate};
use crate::third_party::{endings, learned, pause, still_talk, tell_both, watch};
use bertha_core::{
    Addr, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, make_stack,
};
use bertha_datapath_sim::{Datagram, Network, SimDatapath, Verdict};
use bertha_negotiation::testing::wire::{self, Answer, Kind};
use bertha_negotiation::{Credentials, IdentityKey, Negotiate, Negotiated, Runs, Settings, SharedKey};
use futures_util::future::{Either, join, join3, select as first_of};
use std::pin::pin;
use std::time::Duration;

/// The host of the second server.
const OTHER: [u8; 4] = [10, 0, 0, 3];

fn other_addr() -> Addr {
    (OTHER, 4242).into()
}

fn is_of_other(datagram: &Datagram) -> bool {
    let other = other_addr().ip("test").unwrap();
    datagram.from == other || datagram.to == other
}

/// Talks to the second server in place of the server to which the client has connected.
#[derive(Debug, Clone, Identity)]
#[chunnel(one_sided)]
struct Elsewhere;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Elsewhere {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        let elsewhere = context.connect(other_addr()).await?;
        // The first connection has served its purpose.
        drop(inner);
        Ok(elsewhere)
    }
}

type Served = Negotiated<<SimDatapath as Runs<Keyed>>::Out>;

/// Connects a client to the first server, and through [`Elsewhere`] to the second server. Returns the
/// client's connection and the second server's, or their errors. The settings belong to the client, the first
/// server and the second server.
async fn meet(
    network: &Network,
    below: impl Fn() -> Keyed,
    [ours, first, other]: [Settings; 3],
) -> (Result<impl Connection<Data = Buf>, Error>, Option<Result<Served, Error>>) {
    let listening = below().listen(network.host(OTHER), other_addr()).settings(other);
    let mut at_other = listening.await.unwrap();
    let listening = below().listen(server(network), server_addr()).settings(first);
    let mut at_first = listening.await.unwrap();
    let stack = make_stack!(Elsewhere, below());
    let connecting = stack.connect(client(network).from_port(5000), server_addr()).settings(ours);
    let accepting = async {
        let late = pin!(pause(network, Duration::from_secs(15)));
        match first_of(pin!(at_other.next_or_refusal()), late).await {
            Either::Left((accepted, _)) => accepted,
            Either::Right(_) => None,
        }
    };
    let (connected, _, accepted) =
        join3(connecting.into_future(), at_first.next_or_refusal(), accepting).await;
    (connected, accepted)
}

fn defaults() -> [Settings; 3] {
    [Settings::default(), Settings::default(), Settings::default()]
}

/// Shortens the idle time in the second server's answer. Nothing depends on that time.
fn alter(datagram: &mut Datagram) {
    if let (Some((kind @ Kind::Answer, tag)), Ok(mut said)) =
        (wire::header(&datagram.payload), wire::decode::<Answer>(&datagram.payload))
        && is_of_other(datagram)
    {
        said.idle_ms -= 1;
        datagram.payload = wire::encode(kind, tag, &said).unwrap();
    }
}

#[test]
fn an_altered_agreement_of_a_further_connection_is_no_connection() {
    for is_altered in [false, true] {
        simulate(1, async |network: Network| {
            network.tap(move |datagram| {
                if is_altered {
                    alter(datagram);
                }
                Verdict::Pass
            });
            let (connected, accepted) = meet(&network, Keyed::default, defaults()).await;
            match (connected, accepted) {
                (Ok(client), Some(Ok(other))) if !is_altered => still_talk(&network, &client, &other).await,
                (Err(_), None | Some(Err(_))) if is_altered => {}
                (client, other) => panic!("{:?} and {:?}", client.err(), other.map(Result::err)),
            }
        });
    }
}

/// The attacker sends forged and recorded messages.
#[test]
fn forged_messages_about_a_further_connection_are_dropped() {
    for keyed in [Keyed::default, Keyed::mute] {
        simulate(2, async |network: Network| {
            let seen = watch(&network);
            let (client, other) = meet(&network, keyed, defaults()).await;
            let (client, other) = (client.unwrap(), other.unwrap().unwrap());
            seen.lock().unwrap().retain(is_of_other);
            let (id, to_other) = learned(&seen);
            if !other.explain().is_authenticated() {
                // The connection is not protected, and a forged message ends it. So the forged messages have
                // the right form.
                tell_both(&network, &to_other, &endings(id)[0]);
                let (at_client, at_other) = join(client.recv(), other.recv()).await;
                assert_eq!(at_client.unwrap_err().kind(), ErrorKind::Closed);
                assert_eq!(at_other.unwrap_err().kind(), ErrorKind::Closed);
                return;
            }
            let said: Vec<_> = seen.lock().unwrap().iter().map(|it| it.payload.clone()).collect();
            for message in endings(id).into_iter().chain(said) {
                tell_both(&network, &to_other, &message);
            }
            still_talk(&network, &client, &other).await;
        });
    }
}

/// The client knows the second server's address. The second server has to prove its identity, as the first
/// server has.
#[test]
fn an_impostor_in_the_place_of_the_other_server_is_refused() {
    let shared = |byte| Credentials::shared(SharedKey::new([byte; 32]));
    let key = |byte| IdentityKey::from_seed([byte; 32]);
    let trusting = |byte| Credentials::default().trusting([key(byte).public()]);
    let with = |credentials| {
        let mut settings = Settings::default();
        settings.credentials = credentials;
        settings.handshake_timeout = Duration::from_secs(5);
        settings
    };
    let identified = |byte| Credentials::default().identity(key(byte));
    for (at_client, genuine, impostors) in [
        (shared(1), shared(1), [shared(2), Credentials::default()]),
        (trusting(1), identified(1), [identified(2), Credentials::default()]),
    ] {
        for (is_genuine, other) in [(true, &genuine), (false, &impostors[0]), (false, &impostors[1])] {
            simulate(3, async |network: Network| {
                let settings = [with(at_client.clone()), with(genuine.clone()), with(other.clone())];
                let (connected, accepted) = meet(&network, Keyed::default, settings).await;
                match connected {
                    Ok(_) => assert!(is_genuine && accepted.unwrap().is_ok()),
                    Err(error) => {
                        assert!(!is_genuine, "{error}");
                        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
                    }
                }
            });
        }
    }
}
