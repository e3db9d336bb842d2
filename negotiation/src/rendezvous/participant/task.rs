//! The task that runs a participant: it carries requests to the store, and answers back.

use crate::rendezvous::member::{Event, Member, Request};
use crate::rendezvous::settings::RendezvousSettings;
use crate::rendezvous::store::{Name, Outcome, RendezvousStore, Revision, Watch};
use bertha_core::log_pause::LogPause;
use bertha_core::{BoxFuture, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Pause between two lines of the log about a store that fails.
const TOLD: Duration = Duration::from_secs(30);

/// A command of the endpoint to its participant.
#[derive(Debug)]
pub(super) enum Command {
    Propose(Vec<u8>, oneshot::Sender<Result<(), Error>>),
    Staged(u64),
    BeginAnew,
    Refuse(u64, String),
    Leave,
}

pub(super) struct Task<S: RendezvousStore, R> {
    store: Arc<S>,
    name: Name,
    runtime: R,
    member: Member,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
    /// The pause between renewals of the lease.
    interval: Duration,
    /// The time limit of each answer of the store.
    store_timeout: Duration,
    request: Option<BoxFuture<'static, Answer>>,
    change: BoxFuture<'static, (Change, Option<S::Watch>)>,
    tick: BoxFuture<'static, ()>,
    /// The failures of the store in a row, if its last answer was none.
    failing: Option<Failing>,
}

/// Failures of the store in a row.
struct Failing {
    since: Instant,
    pause: LogPause,
}

enum Answer {
    Outcome(Result<Outcome, Error>),
    Renewed(Result<Option<Revision>, Error>),
}

impl Answer {
    fn failure(&self) -> Option<&Error> {
        match self {
            Self::Outcome(outcome) => outcome.as_ref().err(),
            Self::Renewed(renewed) => renewed.as_ref().err(),
        }
    }
}

enum Change {
    /// A new watch, before which changes may have been missed.
    Watching,
    Reached(Revision),
    Failed(Error),
}

enum Input<W> {
    Answered(Answer),
    Changed(Change, Option<W>),
    Asked(Option<Command>),
    Tick,
}

impl<S: RendezvousStore, R: Runtime> Task<S, R> {
    pub(super) fn new(
        store: S,
        name: Name,
        runtime: R,
        settings: &RendezvousSettings,
        member: Member,
        commands: mpsc::Receiver<Command>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        let store = Arc::new(store);
        let interval = settings.lease / 3;
        let store_timeout = settings.store_timeout;
        let change = Box::pin(next_change(
            store.clone(),
            name.clone(),
            runtime.clone(),
            store_timeout,
            Duration::ZERO,
            None,
        ));
        let tick = Box::pin(runtime.sleep_until(runtime.now() + interval));
        Self {
            store,
            name,
            runtime,
            member,
            commands,
            events,
            interval,
            store_timeout,
            request: None,
            change,
            tick,
            failing: None,
        }
    }

    pub(super) async fn run(mut self) {
        while !self.member.is_gone() {
            self.emit();
            if self.request.is_none() {
                self.request = self.member.poll_request().map(|request| self.send(request));
            }
            if self.member.is_gone() {
                break;
            }
            match poll_fn(|cx| self.poll(cx)).await {
                Input::Answered(answer) => {
                    self.request = None;
                    self.tell(answer.failure());
                    match answer {
                        Answer::Outcome(outcome) => self.member.handle_outcome(outcome),
                        Answer::Renewed(renewed) => self.member.handle_renewed(renewed),
                    }
                }
                Input::Changed(change, watch) => self.on_change(change, watch),
                Input::Asked(Some(command)) => self.on_command(command),
                // The participant was dropped.
                Input::Asked(None) => return,
                Input::Tick => {
                    self.tick = Box::pin(self.runtime.sleep_until(self.runtime.now() + self.interval));
                    self.member.tick();
                }
            }
        }
        while let Some(event) = self.member.poll_event() {
            if self.events.send(event).await.is_err() {
                return;
            }
        }
    }

    /// Tells the log that the store fails, once in a while, and that it answers again.
    fn tell(&mut self, failure: Option<&Error>) {
        let Some(error) = failure else {
            if let Some(Failing { since, .. }) = self.failing.take() {
                let seconds = self.runtime.now().saturating_duration_since(since).as_secs();
                tracing::info!(target: "bertha::negotiation", name = %self.name, seconds, "the store of a group answers again");
            }
            return;
        };
        let now = self.runtime.now();
        let failing = self.failing.get_or_insert_with(|| Failing { since: now, pause: LogPause::new(TOLD) });
        if failing.pause.is_over(Some(now)) {
            let seconds = now.saturating_duration_since(failing.since).as_secs();
            tracing::warn!(
                target: "bertha::negotiation",
                name = %self.name,
                store = self.store.address(),
                seconds,
                %error,
                "the store of a group fails: its stack stays, and nobody can join or change it; it is tried again"
            );
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Input<S::Watch>> {
        if let Some(request) = &mut self.request
            && let Poll::Ready(answer) = request.as_mut().poll(cx)
        {
            return Poll::Ready(Input::Answered(answer));
        }
        if let Poll::Ready(command) = self.commands.poll_recv(cx) {
            return Poll::Ready(Input::Asked(command));
        }
        if let Poll::Ready((change, watch)) = self.change.as_mut().poll(cx) {
            return Poll::Ready(Input::Changed(change, watch));
        }
        self.tick.as_mut().poll(cx).map(|()| Input::Tick)
    }

    /// Hands out events while there is room for them. Other events wait: each tick tries again.
    fn emit(&mut self) {
        while self.events.capacity() > 0
            && let Some(event) = self.member.poll_event()
        {
            tracing::debug!(target: "bertha::negotiation", name = %self.name, participant = self.member.id(), ?event, "rendezvous");
            // There is room; and if the participant was dropped, the task ends soon.
            let _ = self.events.try_send(event);
        }
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Propose(picks, answer) => {
                // The caller may have given up.
                let _ = answer.send(self.member.propose(&picks));
            }
            Command::Staged(round) => self.member.staged(round),
            Command::BeginAnew => self.member.begin_anew(),
            Command::Refuse(round, reason) => self.member.refuse(round, reason),
            Command::Leave => self.member.leave(),
        }
    }

    fn on_change(&mut self, change: Change, watch: Option<S::Watch>) {
        let mut pause = Duration::ZERO;
        match change {
            Change::Watching => self.member.handle_missed(),
            Change::Reached(revision) => self.member.handle_change(revision),
            Change::Failed(error) => {
                tracing::debug!(target: "bertha::negotiation", name = %self.name, %error, "the watch ended");
                pause = self.interval;
            }
        }
        let store = self.store.clone();
        let name = self.name.clone();
        let runtime = self.runtime.clone();
        self.change = Box::pin(next_change(store, name, runtime, self.store_timeout, pause, watch));
    }

    fn send(&self, request: Request) -> BoxFuture<'static, Answer> {
        let store = self.store.clone();
        let name = self.name.clone();
        let runtime = self.runtime.clone();
        let store_timeout = self.store_timeout;
        Box::pin(async move {
            match request {
                Request::Transact(transaction) => Answer::Outcome(
                    in_time(&runtime, store_timeout, store.transact(&name, &transaction)).await,
                ),
                Request::Renew { key, ttl } => {
                    Answer::Renewed(in_time(&runtime, store_timeout, store.renew(&name, &key, ttl)).await)
                }
            }
        })
    }
}

/// Returns the next change, from `watch` or, after a pause, from a new watch.
async fn next_change<S: RendezvousStore, R: Runtime>(
    store: Arc<S>,
    name: Name,
    runtime: R,
    store_timeout: Duration,
    pause: Duration,
    watch: Option<S::Watch>,
) -> (Change, Option<S::Watch>) {
    let Some(mut watch) = watch else {
        if !pause.is_zero() {
            runtime.sleep_until(runtime.now() + pause).await;
        }
        return match in_time(&runtime, store_timeout, store.watch(&name)).await {
            Ok(watch) => (Change::Watching, Some(watch)),
            Err(error) => (Change::Failed(error), None),
        };
    };
    match watch.changed().await {
        Ok(revision) => (Change::Reached(revision), Some(watch)),
        Err(error) => (Change::Failed(error), None),
    }
}

/// Returns the answer of the store, or an error if there is none in time.
async fn in_time<T>(
    runtime: &impl Runtime,
    store_timeout: Duration,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let deadline = pin!(runtime.sleep_until(runtime.now() + store_timeout));
    match select(pin!(call), deadline).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => {
            Err(Error::new(ErrorKind::Unreachable, format!("the store did not answer for {store_timeout:?}")))
        }
    }
}
