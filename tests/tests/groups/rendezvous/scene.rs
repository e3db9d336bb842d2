//! The stacks and participants of these tests, and the messages that the participants send.

use super::counting::Counting;
use bertha_core::{Error, Identity, Runtime, make_stack, select};
use bertha_datapath_sim::{Schedule, Sim, SimRuntime};
use bertha_negotiation::rendezvous::{
    Event, InForce, MemoryStore, Name, Participant, RendezvousSettings, RendezvousStore,
};
use bertha_tests::with_seeds;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

#[derive(Identity)]
pub(crate) struct X;
#[derive(Identity)]
pub(crate) struct Y;
#[derive(Identity)]
pub(crate) struct Z;

/// The alternatives of a participant, of which it runs one.
pub(crate) type Stack = Box<dyn bertha_core::Describe + Send + Sync>;

pub(crate) fn xyz() -> Stack {
    Box::new(make_stack!(select!(X, Y, Z)))
}

pub(crate) fn xy() -> Stack {
    Box::new(make_stack!(select!(X, Y)))
}

pub(crate) fn z() -> Stack {
    Box::new(make_stack!(Z))
}

/// A connection in a store, and a runtime whose clock runs like the store's.
pub(crate) struct Scene<S, R> {
    pub(crate) store: Counting<S>,
    pub(crate) runtime: R,
    pub(crate) name: Name,
    pub(crate) settings: RendezvousSettings,
}

/// Runs `play` over a store in memory, in virtual time, with many seeds and orders of tasks.
pub(crate) fn everywhere(
    play: impl AsyncFn(&Scene<MemoryStore<SimRuntime>, SimRuntime>, &MemoryStore<SimRuntime>),
) {
    with_seeds(50, |seed| {
        for schedule in [Schedule::Random, Schedule::Fifo] {
            let mut sim = Sim::new(seed).schedule(schedule);
            let runtime = sim.runtime();
            let memory = MemoryStore::new(runtime.clone());
            let scene = Scene::new(memory.clone(), runtime);
            sim.run(play(&scene, &memory));
        }
    });
}

impl<S: RendezvousStore, R: Runtime> Scene<S, R> {
    pub(crate) fn new(store: S, runtime: R) -> Self {
        let name = Name::new(format!("scene-{:016x}", runtime.random())).unwrap();
        let mut settings = RendezvousSettings::default();
        settings.lease = Duration::from_secs(1);
        settings.staging_timeout = Duration::from_secs(4);
        Self { store: Counting::new(Arc::new(store)), runtime, name, settings }
    }

    pub(crate) async fn try_join(&self, stack: &Stack) -> Result<Endpoint<R>, Error> {
        self.try_join_with(self.store.another(), stack, self.settings.clone()).await
    }

    pub(crate) async fn try_join_with(
        &self,
        store: impl RendezvousStore,
        stack: &Stack,
        settings: RendezvousSettings,
    ) -> Result<Endpoint<R>, Error> {
        let participant =
            Participant::join(store, self.name.clone(), &**stack, self.runtime.clone(), settings).await?;
        Ok(Endpoint { active: participant.joined().clone(), participant, seen: Vec::new() })
    }

    pub(crate) async fn join(&self, stack: &Stack) -> Endpoint<R> {
        self.try_join(stack).await.unwrap()
    }

    pub(crate) async fn pause(&self, duration: Duration) {
        self.runtime.sleep_until(self.runtime.now() + duration).await;
    }
}

/// An endpoint that stages every stack that it is asked to stage.
pub(crate) struct Endpoint<R: Runtime> {
    pub(crate) participant: Participant<R>,
    pub(crate) active: InForce,
    pub(crate) seen: Vec<Event>,
}

impl<R: Runtime> Endpoint<R> {
    /// Goes on until an event that `wanted` accepts.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = self.participant.next().await.unwrap_or_else(|| panic!("out, after {:?}", self.seen));
            self.seen.push(event.clone());
            match &event {
                Event::Stage { round, .. } => self.participant.staged(*round).await.unwrap(),
                Event::Joined(stack) | Event::Commit(stack) => self.active = stack.clone(),
                _ => {}
            }
            if wanted(&event) {
                return event;
            }
        }
    }

    /// Goes on until this stack is in force.
    pub(crate) async fn uses(&mut self, stack: &str) {
        while self.active.stack.to_string() != stack {
            self.until(|event| matches!(event, Event::Commit(_) | Event::Joined(_))).await;
        }
    }

    /// Goes on until the endpoint knows of this number of participants.
    pub(crate) async fn knows_of(&mut self, participants: usize) {
        self.until(|event| matches!(event, Event::Participants(all) if all.len() == participants)).await;
    }
}

impl<R: Runtime> Endpoint<R> {
    /// Goes on until the endpoint is asked to stage a stack, and does not answer.
    pub(crate) async fn until_asked(&mut self) -> Event {
        loop {
            let event = self.participant.next().await.unwrap_or_else(|| panic!("out, after {:?}", self.seen));
            self.seen.push(event.clone());
            if let Event::Stage { .. } = event {
                return event;
            }
        }
    }

    /// Refuses every stack that the endpoint is asked to stage, as for lack of memory.
    pub(crate) async fn refuses(&mut self) -> Infallible {
        loop {
            let Event::Stage { round, .. } = self.until_asked().await else { unreachable!() };
            self.participant.refuse(round, "no memory left for it").await.unwrap();
        }
    }
}
