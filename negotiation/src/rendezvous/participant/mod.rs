//! An endpoint of a connection with any number of endpoints.

mod task;

use crate::rendezvous::member::{Event, InForce, Member, MemberSettings, OwnStack};
use crate::rendezvous::settings::RendezvousSettings;
use crate::rendezvous::store::{Name, RendezvousStore};
use bertha_core::{Describe, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use task::{Command, Task};
use tokio::sync::{mpsc, oneshot};

/// Maximum length of the queue of events. Further events wait in the participant, which then only renews its
/// lease.
const EVENTS: usize = 64;

/// Maximum length of the queue of commands.
const COMMANDS: usize = 16;

/// An endpoint's part in the agreement with other endpoints on a stack, through a store.
///
/// Its [`Event`]s tell the endpoint its next step, and have to be taken with [`next`](Self::next): an
/// endpoint that does not answer an [`Event::Stage`] in time prevents an upgrade. A store that fails stops
/// newcomers, and no participant that has joined: the stack in force stays, and once the store is back the
/// participant joins it anew, whether or not the store lost its data.
///
/// One task runs the participant. Dropping the participant ends the task, and the other participants take it
/// for gone when its lease has expired; [`leave`](Self::leave) tells them at once.
pub struct Participant<R: Runtime> {
    commands: mpsc::Sender<Command>,
    events: mpsc::Receiver<Event>,
    joined: InForce,
    runtime: R,
    settings: RendezvousSettings,
    _task: R::Task,
}

impl<R: Runtime> Participant<R> {
    /// Joins the connection `name` with `stack`: adopts the stack in force if `stack` has alternatives that
    /// make it; makes the connection if it has no participant; else proposes its preferred alternatives, and
    /// joins if all other participants can run them.
    ///
    /// Joining takes two round trips to the store, and waits for an upgrade that is under way. A proposal
    /// that a participant was late to answer is not decided, and is made again.
    ///
    /// Dropping the future gives up; entries that it wrote expire.
    ///
    /// # Errors
    /// * [`Refused`](ErrorKind::Refused): `stack` can't run the stack in force, and a participant refused the
    ///   proposed stack.
    /// * [`TimedOut`](ErrorKind::TimedOut): an upgrade, or the answers to the proposal, took longer than
    ///   `join_timeout`.
    /// * [`Exhausted`](ErrorKind::Exhausted): there are too many participants.
    /// * [`Invalid`](ErrorKind::Invalid), [`TooLarge`](ErrorKind::TooLarge): the stack can't be described.
    /// * The errors of the store.
    pub async fn join<S: RendezvousStore>(
        store: S,
        name: Name,
        stack: &(impl Describe + ?Sized),
        runtime: R,
        settings: RendezvousSettings,
    ) -> Result<Self, Error> {
        let own = OwnStack::new(stack.nodes())?;
        let member_settings = MemberSettings {
            lease: settings.lease,
            staging: settings.staging_timeout,
            participants: settings.participants,
            renews: settings.renews,
        };
        let member = Member::new(own, member_settings, runtime.random());
        let (commands, requested) = mpsc::channel(COMMANDS);
        let (to_owner, mut events) = mpsc::channel(EVENTS);
        let task = Task::new(store, name, runtime.clone(), &settings, member, requested, to_owner);
        let task = runtime.spawn(task.run());
        let deadline = pin!(runtime.sleep_until(runtime.now() + settings.join_timeout));
        let joined = match select(pin!(joined(&mut events, &commands)), deadline).await {
            Either::Left((joined, _)) => joined?,
            Either::Right(_) => {
                let what = "was not let in: an upgrade is under way, somebody is late with an answer, or the store does not answer";
                return Err(Error::new(ErrorKind::TimedOut, what).at("rendezvous"));
            }
        };
        Ok(Self { commands, events, joined, runtime, settings, _task: task })
    }

    /// Returns the stack that was in force when this participant joined. Later stacks come as events.
    pub fn joined(&self) -> &InForce {
        &self.joined
    }

    /// Returns the next event; `None` once the participant has left: after [`Event::Left`] or
    /// [`Event::Failed`].
    ///
    /// Cancellation-safe.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Returns true if an event can be taken now.
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Proposes to use these alternatives of the participant's own stack, in pre-order. The outcome comes as an event:
    /// [`Event::Commit`] or [`Event::Refused`].
    ///
    /// Cancellation-safe: if the future is dropped, the proposal is made or not.
    ///
    /// # Errors
    /// [`Exhausted`](ErrorKind::Exhausted) while a proposal of this participant, or of its policies, is under
    /// way; [`Invalid`](ErrorKind::Invalid) if the stack has no such alternatives or they are in force, or if
    /// the participant has expired and has not joined again; [`Closed`](ErrorKind::Closed) if the participant
    /// has left.
    pub async fn propose(&self, picks: impl Into<Vec<u8>>) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        self.command(Command::Propose(picks.into(), answer)).await?;
        answered.await.unwrap_or_else(|_| Err(out()))
    }

    /// Answers [`Event::Stage`]: this end is ready to switch to the stack of this round.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) if the participant has left.
    pub async fn staged(&self, round: u64) -> Result<(), Error> {
        self.command(Command::Staged(round)).await
    }

    /// Answers [`Event::Stage`]: this end can't run the stack after all. The proposer gets the reason.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) if the participant has left.
    pub async fn refuse(&self, round: u64, reason: impl Into<String>) -> Result<(), Error> {
        self.command(Command::Refuse(round, reason.into())).await
    }

    /// Proposes another round, as [`Member::begin_anew`](crate::rendezvous::member::Member::begin_anew) says.
    pub(crate) async fn begin_anew(&self) -> Result<(), Error> {
        self.command(Command::BeginAnew).await
    }

    /// Leaves the connection. The other participants go on with the stack in force.
    ///
    /// # Errors
    /// The errors of the store; the participant has left nevertheless, and the other participants notice when
    /// its lease has expired.
    pub async fn leave(mut self) -> Result<(), Error> {
        self.part().await
    }

    /// Leaves the connection, as [`leave`](Self::leave) does; later commands fail.
    pub(crate) async fn part(&mut self) -> Result<(), Error> {
        // Earlier reports that the store was lost say nothing about leaving.
        while self.events.try_recv().is_ok() {}
        self.command(Command::Leave).await?;
        let deadline = pin!(self.runtime.sleep_until(self.runtime.now() + self.settings.store_timeout));
        let left = async {
            while let Some(event) = self.events.recv().await {
                match event {
                    Event::StoreLost { kind, reason } => {
                        return Err(Error::new(kind, reason).at("rendezvous"));
                    }
                    Event::Left => return Ok(()),
                    _ => {}
                }
            }
            Ok(())
        };
        match select(pin!(left), deadline).await {
            Either::Left((left, _)) => left,
            Either::Right(_) => {
                Err(Error::new(ErrorKind::TimedOut, "the store did not hear that it leaves").at("rendezvous"))
            }
        }
    }

    async fn command(&self, command: Command) -> Result<(), Error> {
        self.commands.send(command).await.map_err(|_| out())
    }
}

/// Waits until the participant has joined.
async fn joined(
    events: &mut mpsc::Receiver<Event>,
    commands: &mpsc::Sender<Command>,
) -> Result<InForce, Error> {
    while let Some(event) = events.recv().await {
        match event {
            Event::Joined(stack) => return Ok(stack),
            Event::Failed { kind, reason } | Event::StoreLost { kind, reason } => {
                return Err(Error::new(kind, reason).at("rendezvous"));
            }
            // The participant's own proposal. No stack is in use yet that would have to switch. If the task
            // has ended, its last event gives the reason.
            Event::Stage { round, .. } => {
                let _ = commands.send(Command::Staged(round)).await;
            }
            _ => {}
        }
    }
    Err(out())
}

fn out() -> Error {
    Error::new(ErrorKind::Closed, "the participant is out").at("rendezvous")
}

bertha_core::debug_fields!(Participant<R: Runtime> { joined });
