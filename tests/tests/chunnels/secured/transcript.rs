//! The transcript that Chunnels see while they are built.

use crate::secured::scene::{SERVER, over_datagrams};
use bertha_chunnels::Serialize;
use bertha_core::{
    Addr, Buf, Carries, Chunnel, ConnectContext, Connection, Error, Identity, Role, Runtime, make_stack,
    select,
};
use bertha_negotiation::{EarlyCache, Negotiate, Pick, Settings};
use futures_util::future::{Either, select as first_of};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The transcripts that layers have seen, each with the role of its end.
type Seen = Arc<Mutex<Vec<(Role, Option<[u8; 32]>)>>>;

/// Records the transcript, and takes no early data.
#[derive(Debug, Clone, Identity)]
#[chunnel(no_early_data)]
struct Binds(Seen);

/// Records the transcript, and takes early data.
#[derive(Debug, Clone, Identity)]
struct Takes(Seen);

/// Opens a further connection as a client, and records no transcript.
#[derive(Debug, Clone, Identity)]
#[chunnel(one_sided)]
struct Opens(Addr);

macro_rules! telling {
    ($($name:ident),*) => {$(
        impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for $name {
            type Connection = Inner;

            async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
                self.0.lock().unwrap().push((context.role(), context.transcript()));
                Ok(inner)
            }
        }
    )*};
}

telling!(Binds, Takes);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Opens {
    type Connection = Inner;

    async fn connect_wrap(&self, _: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        context.connect(self.0.clone()).await
    }
}

/// Takes the transcripts that the client and the server have seen since the last call.
fn taken(seen: &Seen) -> [Option<[u8; 32]>; 2] {
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.sort_by_key(|(role, _)| *role == Role::Server);
    let [(Role::Client, client), (Role::Server, server)] = seen[..] else { panic!("{seen:?}") };
    [client, server]
}

/// Takes the transcript that both ends have seen.
fn common(seen: &Seen) -> [u8; 32] {
    let [client, server] = taken(seen);
    assert_eq!(client, server);
    client.unwrap()
}

#[test]
fn both_ends_see_that_of_their_agreement_and_no_other() {
    over_datagrams(async |hosts| {
        let seen = Seen::default();
        let (here, there) = hosts.connect(Binds(seen.clone()), Binds(seen.clone())).await;
        let first = common(&seen);
        assert_eq!([first; 2], [here.explain().transcript(), there.explain().transcript()]);
        hosts.connect(Binds(seen.clone()), Binds(seen.clone())).await;
        assert_ne!(common(&seen), first);
    });
}

#[test]
fn there_is_none_where_a_client_may_not_wait_for_it() {
    over_datagrams(async |hosts| {
        let seen = Seen::default();
        hosts.connect(Takes(seen.clone()), Takes(seen.clone())).await;
        assert_eq!(taken(&seen), [None; 2]);
        // While a Chunnel waits, all other Chunnels see the transcript.
        let other = Seen::default();
        let stack = || make_stack!(Takes(seen.clone()), Binds(other.clone()));
        hosts.connect(stack(), stack()).await;
        assert_eq!(common(&seen), common(&other));
    });
}

#[test]
fn an_attempt_to_send_early_changes_nothing_of_that() {
    over_datagrams(async |hosts| {
        let [seen, early] = [Seen::default(), Seen::default()];
        let (client, server) = (&hosts.client, &hosts.server);
        let waiting = || make_stack!(Serialize::<String>::new(), Binds(seen.clone()));
        let taking = || make_stack!(Serialize::<String>::new(), Takes(early.clone()));
        let mut settings = Settings::default();
        settings.early_data = true;
        let waits = waiting().listen(server.clone(), (SERVER, 0)).settings(settings.clone());
        let takes = taking().listen(server.clone(), (SERVER, 0)).settings(settings);
        let (mut waits, mut takes) = (waits.await.unwrap(), takes.await.unwrap());
        let (to_waits, to_takes) = (waits.local_addr(), takes.local_addr());
        let cache = EarlyCache::new();
        for _ in 0..2 {
            let connecting = waiting().connect(client.clone(), to_waits.clone()).early(&cache);
            let (here, there) = futures_util::join!(connecting.into_future(), waits.next());
            // The ends are kept, since a server would hear of a client that is gone.
            std::mem::forget((here.unwrap(), there.unwrap()));
            common(&seen);
            let connecting = async {
                let here = taking().connect(client.clone(), to_takes.clone()).early(&cache).await.unwrap();
                here.send("early".into()).await.unwrap();
                here.agreed().await.unwrap();
                here
            };
            let (here, there) = futures_util::join!(connecting, takes.next());
            let there = there.unwrap();
            assert_eq!(there.recv().await.unwrap(), "early");
            std::mem::forget((here, there));
            assert_eq!(taken(&early), [None; 2]);
        }
    });
}

#[test]
fn a_stack_that_takes_anothers_place_has_one_of_its_own() {
    over_datagrams(async |hosts| {
        let [first, second] = [Seen::default(), Seen::default()];
        let stack = || {
            let other = make_stack!(Takes(second.clone()), Binds(first.clone()));
            make_stack!(select!(Binds(first.clone()), other)).upgradable()
        };
        let (here, there) = hosts.connect(stack(), stack()).await;
        let mut known = vec![common(&first)];
        for alternative in [1, 0, 1] {
            let upgrading = pin!(here.upgrade(Pick::alternative(alternative)));
            match first_of(upgrading, pin!(there.recv())).await {
                Either::Left((changed, _)) => drop(changed.unwrap()),
                Either::Right((received, _)) => panic!("{received:?}"),
            }
            let next = common(&first);
            assert!(!known.contains(&next));
            known.push(next);
            if alternative == 1 {
                assert_eq!(common(&second), next);
            }
            // The peer ends the change as well.
            let runtime = hosts.network.runtime();
            let pause = runtime.sleep_until(runtime.now() + Duration::from_secs(1));
            first_of(pin!(there.recv()), pin!(pause)).await;
        }
    });
}

#[test]
fn a_further_connection_has_that_of_its_own_agreement() {
    over_datagrams(async |hosts| {
        let seen = Seen::default();
        let (client, server) = (hosts.client.clone(), hosts.server.clone());
        let mut shard = Binds(seen.clone()).listen(server, (SERVER, 0)).await.unwrap();
        let stack = make_stack!(Opens(shard.local_addr()), Binds(seen.clone()));
        let mut router = Binds(seen.clone()).listen(hosts.server.clone(), (SERVER, 0)).await.unwrap();
        let connecting = stack.connect(client, router.local_addr());
        let (here, routed, there) =
            futures_util::join!(connecting.into_future(), router.next(), shard.next());
        here.unwrap();
        let (routed, there) = (routed.unwrap(), there.unwrap());
        let mut all: Vec<_> =
            seen.lock().unwrap().iter().map(|(_, transcript)| transcript.unwrap()).collect();
        let mut expected = [routed.explain().transcript(), there.explain().transcript()].repeat(2);
        all.sort_unstable();
        expected.sort_unstable();
        assert_eq!(all, expected);
        assert_ne!(expected[0], expected[2]);
    });
}
