//! The observer while connections are made, further connections included: it sends first in any end's name,
//! with everything that it has seen of earlier connections, and keeps no message from arriving.

use crate::attacker::{Attacker, Habits};
use crate::scene::{A, B, bytes, client, server, server_addr, simulate};
use bertha_chunnels::{ClientShard, Keyed, Serialize, ShardMap};
use bertha_core::{Addr, Connection, Runtime, make_stack, select};
use bertha_datapath_sim::{Network, SimDatapath};
use bertha_negotiation::{
    Credentials, IdentityKey, Incoming, Negotiate, Negotiated, Runs, Settings, SharedKey,
};
use bertha_tests::with_seeds;
use futures_util::future::{Either, join, select as first_of};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HABITS: Habits = Habits { drop: 0, hold: 0, replay: 30, edit: 0, invent: 40 };

/// Time within which a connection is made without the observer's help, with one repetition or two.
const SOON: Duration = Duration::from_secs(1);

/// Returns the settings of both ends.
fn settings(seed: u64) -> [Settings; 2] {
    let shared = || Credentials::shared(SharedKey::new([7; 32]));
    let (ours, theirs) = (IdentityKey::from_seed([1; 32]), IdentityKey::from_seed([2; 32]));
    let credentials = match seed % 8 {
        0 => [Credentials::default().trusting([theirs.public()]), Credentials::default().identity(theirs)],
        1 => [
            shared().trusting([theirs.public()]).identity(ours.clone()),
            shared().identity(theirs).trusting([ours.public()]),
        ],
        _ => [shared(), shared()],
    };
    credentials.map(|credentials| {
        let mut settings = Settings::default();
        settings.credentials = credentials;
        // The server asks for cookies in a third of all runs.
        settings.unvalidated_clients = if seed.is_multiple_of(3) { 0 } else { 256 };
        settings
    })
}

/// The connections that a server has accepted, in order.
type Accepted<C> = Arc<Mutex<VecDeque<Negotiated<C>>>>;

/// Accepts connections all the while. Clients that get no connection, such as the observer, are left out.
fn accept<S>(
    network: &Network,
    mut incoming: Incoming<S, SimDatapath>,
) -> Accepted<<SimDatapath as Runs<S>>::Out>
where
    S: Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Send>,
{
    let accepted = Accepted::default();
    let push = accepted.clone();
    std::mem::forget(network.runtime().spawn(async move {
        while let Some(next) = incoming.next_or_refusal().await {
            push.lock().unwrap().extend(next);
        }
    }));
    accepted
}

#[test]
fn an_observer_keeps_no_connection_from_being_made() {
    with_seeds(400, |seed| {
        simulate(seed, async |network: Network| {
            let attacker = Attacker::tap(&network, seed, HABITS);
            attacker.lock().unwrap().spare_data();
            let [at_client, at_server] = settings(seed);
            let stack = || make_stack!(select!(A, B));
            let listening = stack().listen(server(&network), server_addr()).settings(at_server);
            let accepted = accept(&network, listening.await.unwrap());
            let runtime = network.runtime();
            for (turn, port) in [5000, 5000, 5001, 5000].into_iter().enumerate() {
                attacker.lock().unwrap().attack(turn > 0);
                let (connecting, from, before) = (stack(), client(&network).from_port(port), runtime.now());
                let connected = connecting.connect(from, server_addr()).settings(at_client.clone()).await;
                let connected = connected.unwrap_or_else(|error| panic!("seed {seed}, turn {turn}: {error}"));
                let took = runtime.now() - before;
                assert!(took < SOON, "seed {seed}, turn {turn}: {took:?}");
                connected.send(bytes(&[turn as u8])).await.unwrap();
                runtime.sleep(SOON).await;
                let served = accepted.lock().unwrap().pop_front();
                let served = served.unwrap_or_else(|| panic!("seed {seed}, turn {turn}: not accepted"));
                assert_eq!(*served.recv().await.unwrap(), [turn as u8], "seed {seed}");
                let [here, there] = [connected.explain(), served.explain()];
                assert_eq!(here.transcript(), there.transcript(), "seed {seed}, turn {turn}");
                assert!(here.to_string().starts_with("A,") && here.is_authenticated(), "seed {seed}: {here}");
                let (closed, at_server) = join(connected.close(), served.recv()).await;
                closed.unwrap();
                at_server.unwrap_err();
                drop((connected, served));
                // A task holds the port until the server has seen the close.
                runtime.sleep(SOON).await;
            }
            assert_eq!(accepted.lock().unwrap().len(), 0, "seed {seed}: connections that nobody has made");
        });
    });
}

/// A request, by which shards are chosen.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Request {
    key: String,
    /// The shard that answers.
    shard: u8,
}

impl Keyed for Request {
    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }
}

const SHARDS: [[u8; 4]; 2] = [[10, 0, 0, 3], [10, 0, 0, 4]];

/// Runs a shard that answers all requests with its number. The transcripts of its connections go into `made`.
async fn shard(network: &Network, number: u8, settings: Settings, made: &Arc<Mutex<Vec<[u8; 32]>>>) {
    let at = (SHARDS[usize::from(number)], 4242);
    let stack = make_stack!(Serialize::<Request>::new());
    let mut incoming =
        stack.listen(network.host(SHARDS[usize::from(number)]), at).settings(settings).await.unwrap();
    let (runtime, made) = (network.runtime().clone(), made.clone());
    std::mem::forget(runtime.clone().spawn(async move {
        while let Some(client) = incoming.next().await {
            made.lock().unwrap().push(client.explain().transcript());
            std::mem::forget(runtime.spawn(async move {
                while let Ok(request) = client.recv().await {
                    if client.send(Request { shard: number, ..request }).await.is_err() {
                        return;
                    }
                }
            }));
        }
    }));
}

#[test]
fn an_observer_ends_and_bends_no_further_connections() {
    with_seeds(200, |seed| {
        simulate(seed, async |network: Network| {
            let attacker = Attacker::tap(&network, seed, HABITS);
            attacker.lock().unwrap().spare_data();
            let [at_client, at_server] = settings(seed);
            let made = Arc::new(Mutex::new(Vec::new()));
            for number in [0, 1] {
                shard(&network, number, at_server.clone(), &made).await;
            }
            let map = ShardMap::new(SHARDS.map(|ip| Addr::from((ip, 4242)))).unwrap();
            let stack = || make_stack!(ClientShard::new(map.clone()), Serialize::<Request>::new());
            let listening = stack().listen(server(&network), server_addr()).settings(at_server);
            let accepted = accept(&network, listening.await.unwrap());
            let runtime = network.runtime();
            for turn in 0..3 {
                attacker.lock().unwrap().attack(turn > 0);
                let (connecting, before) = (stack(), runtime.now());
                let connecting = connecting.connect(client(&network), server_addr());
                let connected = connecting.settings(at_client.clone()).await;
                let connected = connected.unwrap_or_else(|error| panic!("seed {seed}, turn {turn}: {error}"));
                let took = runtime.now() - before;
                assert!(took < 2 * SOON, "seed {seed}, turn {turn}: {took:?}");
                for number in 0..20 {
                    let request = Request { key: format!("key {number}"), shard: 255 };
                    connected.send(request.clone()).await.unwrap();
                    let late = pin!(runtime.sleep(SOON));
                    let Either::Left((reply, _)) = first_of(pin!(connected.recv()), late).await else {
                        panic!("seed {seed}, turn {turn}: no reply");
                    };
                    let reply = reply.unwrap_or_else(|error| panic!("seed {seed}, turn {turn}: {error}"));
                    let shard = map.shard_of(request.key.as_bytes()) as u8;
                    assert_eq!(reply, Request { shard, ..request }, "seed {seed}");
                    runtime.sleep(Duration::from_millis(20)).await;
                }
                connected.close().await.unwrap();
                assert_eq!(accepted.lock().unwrap().drain(..).count(), 1, "seed {seed}");
            }
            let made = made.lock().unwrap();
            let unlike = made.iter().enumerate().all(|(at, one)| !made[..at].contains(one));
            assert!(made.len() == 6 && unlike, "seed {seed}: {} connections", made.len());
        });
    });
}
