//! Publishers and receivers that share a subscription: a single receiver keeps the order itself, and the
//! service keeps it while there are two receivers.

use crate::multi_endpoint::crowd::Dice;
use crate::multi_endpoint::subscription::{Faults, Subscription};
use bertha_chunnels::{OrderedByKey, ServiceOrdered};
use bertha_core::{Buf, Connection, Error, ErrorKind, NumParticipantsAtMost, Runtime, make_stack, select};
use bertha_datapath_sim::{Schedule, Sim, SimRuntime, SimTask};
use bertha_negotiation::rendezvous::{MemoryStore, MultiEndpoint, Rendezvous, RendezvousSettings};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Number of keys of a publisher.
const KEYS: u32 = 3;

/// A publisher and a number. The key consists of the publisher and the remainder of the number.
type Message = (u32, u32);

fn key(message: &[u8]) -> &[u8] {
    &message[..5]
}

fn to_bytes((publisher, number): Message) -> [u8; 9] {
    let mut bytes = [0; 9];
    bytes[..4].copy_from_slice(&publisher.to_le_bytes());
    bytes[4] = (number % KEYS) as u8;
    bytes[5..].copy_from_slice(&number.to_le_bytes());
    bytes
}

fn of_bytes(bytes: &[u8]) -> Message {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    (number(0), number(5))
}

/// The subscription where publishers and receivers meet, and the history of their messages.
#[derive(Clone)]
struct Scene {
    runtime: SimRuntime,
    subscription: Subscription,
    store: MemoryStore<SimRuntime>,
    settings: RendezvousSettings,
    sent: Arc<Mutex<BTreeSet<Message>>>,
    received: Arc<Mutex<Vec<(u32, Message)>>>,
}

type Endpoint = Box<dyn End>;

/// An end with a stack of any type.
trait End: Send {
    fn stack(&self) -> String;
    fn hush(&self);
    fn receives(&self) -> bool;
    fn leave(self: Box<Self>, scene: Scene) -> bertha_core::BoxFuture<'static, ()>;
    fn crash(self: Box<Self>);
}

struct Member<C: Connection> {
    connection: Arc<MultiEndpoint<C>>,
    receives: bool,
    is_quiet: Arc<AtomicBool>,
    _task: SimTask,
}

impl<C: Connection<Data = Buf>> End for Member<C> {
    fn stack(&self) -> String {
        self.connection
            .explain()
            .chunnels()
            .map(|name| name.rsplit("::").next().unwrap().to_owned())
            .collect()
    }

    fn hush(&self) {
        self.is_quiet.store(true, Ordering::Relaxed);
    }

    fn receives(&self) -> bool {
        self.receives
    }

    fn leave(self: Box<Self>, scene: Scene) -> bertha_core::BoxFuture<'static, ()> {
        self.hush();
        Box::pin(async move {
            // A send under way is finished.
            scene.pause(if self.receives { 0 } else { 6_000_000 }).await;
            let Self { connection, _task, .. } = *self;
            drop(_task);
            connection.close().await.unwrap();
        })
    }

    fn crash(self: Box<Self>) {}
}

impl Scene {
    fn new(runtime: SimRuntime, seed: u64, faults: Faults) -> Self {
        let mut settings = RendezvousSettings::default();
        settings.lease = Duration::from_millis(500);
        settings.staging_timeout = Duration::from_secs(4);
        settings.drain_timeout = Duration::from_millis(50);
        Self {
            subscription: Subscription::new(runtime.clone(), seed, faults),
            store: MemoryStore::new(runtime.clone()),
            runtime,
            settings,
            sent: Arc::default(),
            received: Arc::default(),
        }
    }

    async fn pause(&self, micros: u64) {
        self.runtime.sleep(Duration::from_micros(micros)).await;
    }

    async fn enter(&self, number: u32, receives: bool) -> Result<Endpoint, Error> {
        let stack = make_stack!(select!(
            OrderedByKey::new(key), ServiceOrdered::new(key); prefer 0 if NumParticipantsAtMost(2)
        ));
        let joining = stack.rendezvous(self.subscription.group(receives), self.store.clone(), "billing");
        let connection = Arc::new(joining.settings(self.settings.clone()).await?);
        Ok(self.work(number, receives, connection))
    }

    fn work<C: Connection<Data = Buf>>(
        &self,
        number: u32,
        receives: bool,
        connection: Arc<MultiEndpoint<C>>,
    ) -> Endpoint {
        let is_quiet = Arc::new(AtomicBool::new(false));
        let _task = match receives {
            true => self.runtime.spawn(receive(self.clone(), number, connection.clone())),
            false => self.runtime.spawn(publish(self.clone(), number, connection.clone(), is_quiet.clone())),
        };
        Box::new(Member { connection, receives, is_quiet, _task })
    }

    /// Checks that each sent message was received, and that the messages of a key were received in the order
    /// in which they were sent, repetitions left out.
    fn is_complete_and_in_order(&self) {
        let (sent, received) = (self.sent.lock().unwrap(), self.received.lock().unwrap());
        let (mut seen, mut last) = (BTreeSet::new(), BTreeMap::new());
        for (receiver, message @ (publisher, number)) in received.iter().copied() {
            if seen.insert(message)
                && let Some(before) = last.insert((publisher, number % KEYS), number)
            {
                assert!(before < number, "{receiver} received {number} of {publisher} after {before}");
            }
        }
        let missing: Vec<_> = sent.difference(&seen).collect();
        assert!(missing.is_empty(), "of {} sent are missing: {missing:?}", sent.len());
    }

    fn has_no_repetitions(&self) {
        let received = self.received.lock().unwrap();
        let all: BTreeSet<_> = received.iter().map(|(_, message)| *message).collect();
        assert_eq!(all.len(), received.len());
    }
}

async fn publish<C: Connection<Data = Buf>>(
    scene: Scene,
    publisher: u32,
    connection: Arc<MultiEndpoint<C>>,
    is_quiet: Arc<AtomicBool>,
) {
    let mut dice = Dice::new(scene.runtime.random());
    let mut number = 0;
    while !is_quiet.load(Ordering::Relaxed) {
        let message = Buf::copy_of(&to_bytes((publisher, number)), 40).unwrap();
        match connection.send(message).await {
            Ok(()) => {
                scene.sent.lock().unwrap().insert((publisher, number));
                number += 1;
            }
            // The message was not sent, as the text of the error says.
            Err(error) if error.kind() == ErrorKind::Unavailable => {}
            Err(_) => return,
        }
        scene.pause(dice.roll(3000)).await;
    }
}

async fn receive<C: Connection<Data = Buf>>(scene: Scene, number: u32, connection: Arc<MultiEndpoint<C>>) {
    let mut dice = Dice::new(scene.runtime.random());
    while let Ok(message) = connection.recv().await {
        scene.received.lock().unwrap().push((number, of_bytes(&message)));
        if dice.roll(4) == 0 {
            scene.pause(dice.roll(2000)).await;
        }
        drop(message);
    }
}

/// Plays with each seed. For a third of the seeds tasks run in the order in which they are woken, for the
/// other seeds in a random order.
fn with_seeds(usual: u64, faults: Faults, play: impl AsyncFn(&Scene, u64)) {
    bertha_tests::with_seeds(usual, |seed| {
        let schedule = if seed % 3 == 0 { Schedule::Fifo } else { Schedule::Random };
        let mut sim = Sim::new(seed).schedule(schedule).step_limit(5_000_000);
        let scene = Scene::new(sim.runtime(), seed, faults);
        sim.run(play(&scene, seed));
    });
}

#[test]
fn the_order_is_the_services_while_there_are_two_receivers_and_else_the_receivers() {
    with_seeds(40, Faults::default(), async |scene, seed| {
        let publisher_first = seed % 2 == 0;
        let first = scene.enter(0, !publisher_first).await.unwrap();
        assert_eq!(first.stack(), "OrderedByKey");
        scene.pause(10_000).await;
        let second = scene.enter(1, publisher_first).await.unwrap();
        let (publisher, receiver) = if publisher_first { (first, second) } else { (second, first) };
        scene.pause(60_000).await;
        assert_eq!((publisher.stack(), receiver.stack()), ("OrderedByKey".into(), "OrderedByKey".into()));
        let before = scene.received.lock().unwrap().len();
        assert!(before > 5, "{before}");
        let other = scene.enter(2, true).await.unwrap();
        scene.pause(100_000).await;
        for end in [&publisher, &receiver, &other] {
            assert_eq!(end.stack(), "ServiceOrdered");
        }
        other.leave(scene.clone()).await;
        scene.pause(800_000).await;
        assert_eq!((publisher.stack(), receiver.stack()), ("OrderedByKey".into(), "OrderedByKey".into()));
        publisher.hush();
        scene.pause(2_000_000).await;
        scene.is_complete_and_in_order();
        scene.has_no_repetitions();
        assert_eq!(scene.subscription.kept(), 0);
    });
}

/// Publishers and receivers come, leave and crash, at random.
async fn bustle(scene: &Scene, seed: u64, may_crash: bool) {
    let mut dice = Dice::new(seed);
    let mut members = vec![scene.enter(0, true).await.unwrap()];
    let mut next = 1;
    for _ in 0..6 + dice.roll(6) {
        let who = dice.roll(members.len() as u64) as usize;
        let event = dice.roll(6);
        let is_last = members.iter().filter(|member| member.receives()).count() == 1;
        if matches!(event, 3 | 4) && members[who].receives() && is_last {
            // The end does not leave in the middle of a change: no end would be left to decode the rest of
            // the old round.
            scene.pause(8_000_000).await;
        }
        match event {
            0..=2 if members.len() < 5 => {
                // Without a receiver no other participant is let in.
                let receives = !members.iter().any(|member| member.receives()) || dice.roll(2) == 0;
                members.push(scene.enter(next, receives).await.unwrap());
                next += 1;
            }
            3 if members.len() > 1 => members.swap_remove(who).leave(scene.clone()).await,
            4 if may_crash && members.len() > 1 => members.swap_remove(who).crash(),
            _ => {}
        }
        scene.pause(dice.roll(60_000)).await;
    }
    if !members.iter().any(|member| member.receives()) {
        members.push(scene.enter(next, true).await.unwrap());
    }
    members.iter().for_each(|member| member.hush());
    scene.pause(30_000_000).await;
}

#[test]
fn whoever_comes_and_leaves_nothing_is_lost_or_swapped() {
    // The last messages that a change waits for come almost as late as the messages of a receiver that has
    // gone.
    for faults in [Faults::default(), Faults { paused: 300_000, ..Faults::default() }] {
        with_seeds(30, faults, async |scene, seed| {
            bustle(scene, seed, false).await;
            scene.is_complete_and_in_order();
            assert_eq!(scene.subscription.kept(), 0);
        });
    }
}

#[test]
fn what_the_service_repeats_and_whoever_is_killed_nothing_is_lost_or_swapped() {
    with_seeds(30, Faults { repeated: 5, ..Faults::default() }, async |scene, seed| {
        bustle(scene, seed, true).await;
        scene.is_complete_and_in_order();
    });
}
