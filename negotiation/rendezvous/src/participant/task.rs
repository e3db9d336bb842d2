//! The task that runs a participant: it carries requests to the store, and answers back.

use crate::member::{Event, Member, Request};
use crate::settings::RendezvousSettings;
use crate::store::{Name, Outcome, RendezvousStore, Revision, Watch};
use bertha_core::{BoxFuture, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// What the endpoint asks of its participant.
#[derive(Debug)]
pub(super) enum Command {
    Propose(Vec<u8>, oneshot::Sender<Result<(), Error>>),
    Staged(u64),
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
    /// How often the participant says that it is alive.
    interval: Duration,
    patience: Duration,
    request: Option<BoxFuture<'static, Answer>>,
    change: BoxFuture<'static, (Change, Option<S::Watch>)>,
    tick: BoxFuture<'static, ()>,
}

enum Answer {
    Outcome(Result<Outcome, Error>),
    Renewed(Result<Option<Revision>, Error>),
}

enum Change {
    /// The watch is new, so changes before it may have been missed.
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
        let patience = settings.store_timeout;
        let change = Box::pin(next_change(
            store.clone(),
            name.clone(),
            runtime.clone(),
            patience,
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
            patience,
            request: None,
            change,
            tick,
        }
    }

    pub(super) async fn run(mut self) {
        while !self.member.is_gone() {
            self.tell();
            if self.request.is_none() {
                self.request = self.member.poll_request().map(|request| self.send(request));
            }
            if self.member.is_gone() {
                break;
            }
            match poll_fn(|cx| self.poll(cx)).await {
                Input::Answered(answer) => {
                    self.request = None;
                    match answer {
                        Answer::Outcome(outcome) => self.member.handle_outcome(outcome),
                        Answer::Renewed(renewed) => self.member.handle_renewed(renewed),
                    }
                }
                Input::Changed(change, watch) => self.learn(change, watch),
                Input::Asked(Some(command)) => self.obey(command),
                // Nobody listens any more.
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

    /// Hands out events while there is room for them. Otherwise they wait: each tick tries again.
    fn tell(&mut self) {
        while self.events.capacity() > 0
            && let Some(event) = self.member.poll_event()
        {
            tracing::debug!(name = %self.name, participant = self.member.id(), ?event, "rendezvous");
            // There is room; and if nobody listens any more, the task ends soon.
            let _ = self.events.try_send(event);
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Propose(picks, answer) => {
                // Who asked may not want to know any more.
                let _ = answer.send(self.member.propose(&picks));
            }
            Command::Staged(round) => self.member.staged(round),
            Command::Refuse(round, reason) => self.member.refuse(round, reason),
            Command::Leave => self.member.leave(),
        }
    }

    fn learn(&mut self, change: Change, watch: Option<S::Watch>) {
        let mut pause = Duration::ZERO;
        match change {
            Change::Watching => self.member.handle_missed(),
            Change::Reached(revision) => self.member.handle_change(revision),
            Change::Failed(error) => {
                tracing::debug!(name = %self.name, %error, "the watch ended");
                pause = self.interval;
            }
        }
        let (store, name, runtime) = (self.store.clone(), self.name.clone(), self.runtime.clone());
        self.change = Box::pin(next_change(store, name, runtime, self.patience, pause, watch));
    }

    fn send(&self, request: Request) -> BoxFuture<'static, Answer> {
        let (store, name) = (self.store.clone(), self.name.clone());
        let (runtime, patience) = (self.runtime.clone(), self.patience);
        Box::pin(async move {
            match request {
                Request::Transact(transaction) => {
                    Answer::Outcome(in_time(&runtime, patience, store.transact(&name, &transaction)).await)
                }
                Request::Renew { key, ttl } => {
                    Answer::Renewed(in_time(&runtime, patience, store.renew(&name, &key, ttl)).await)
                }
            }
        })
    }
}

/// The next change, from `watch` or, after a pause, from a new one.
async fn next_change<S: RendezvousStore, R: Runtime>(
    store: Arc<S>,
    name: Name,
    runtime: R,
    patience: Duration,
    pause: Duration,
    watch: Option<S::Watch>,
) -> (Change, Option<S::Watch>) {
    let Some(mut watch) = watch else {
        if !pause.is_zero() {
            runtime.sleep_until(runtime.now() + pause).await;
        }
        return match in_time(&runtime, patience, store.watch(&name)).await {
            Ok(watch) => (Change::Watching, Some(watch)),
            Err(error) => (Change::Failed(error), None),
        };
    };
    match watch.changed().await {
        Ok(revision) => (Change::Reached(revision), Some(watch)),
        Err(error) => (Change::Failed(error), None),
    }
}

/// What the store answers, if it does so in time.
async fn in_time<T>(
    runtime: &impl Runtime,
    patience: Duration,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let deadline = pin!(runtime.sleep_until(runtime.now() + patience));
    match select(pin!(call), deadline).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => {
            Err(Error::new(ErrorKind::Unreachable, format!("the store did not answer for {patience:?}")))
        }
    }
}
