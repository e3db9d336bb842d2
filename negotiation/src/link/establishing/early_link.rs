//! The handle by which an early handshake runs, and completes its link.

use super::EarlyHandshake;
use crate::handshake::{FirstFlight, Flight, agreed_idle_timeout};
use crate::link::connection::seal;
use crate::link::{Agreed, End, EpochQueue, Lifecycle, Link, LinkShared, LinkState, Start, watchdog};
use crate::shortage::{Losses, insist};
use crate::wire::{Answer, HEADER, Tag, split_joined};
use crate::{Session, Settings};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Role, Runtime};
use futures_util::future::{Either, select};
use std::collections::VecDeque;
use std::future::{poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The handle of an early handshake to its link: it runs the handshake, and then completes the link.
pub(crate) struct EarlyLink<C: Connection<Data = Buf>> {
    shared: Arc<LinkShared<C>>,
    queue: Arc<EpochQueue>,
}

/// The result of a handshake in which the ends have agreed.
pub(crate) struct Answered<C: Connection<Data = Buf>> {
    pub(crate) answer: Answer,
    /// Time at which the answer arrived.
    pub(crate) received: Instant,
    pub(crate) session: Arc<Session>,
    /// The start of a new link over the same base, if the server agreed to another stack than the stack on
    /// this link. The old link has ended.
    pub(crate) replaced: Option<Box<Start<C>>>,
    pub(crate) link: EarlyLink<C>,
}

/// The messages that an answer leaves to be sent.
struct FollowUp {
    /// The number of the confirmation that the server has asked for.
    confirm: Option<u64>,
    /// The messages of the first flight that the server has not taken.
    untaken: Vec<Vec<u8>>,
}

impl FollowUp {
    fn new(confirm: Option<u64>, untaken: Vec<Vec<u8>>) -> Option<Self> {
        (confirm.is_some() || !untaken.is_empty()).then_some(Self { confirm, untaken })
    }
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// Makes a link for the stack that the server is expected to agree to, within `settings`, with this idle
    /// time-out. The link comes up while [`EarlyLink::run`] runs.
    pub(crate) fn before_answer(
        base: C,
        flight: FirstFlight,
        settings: Arc<Settings>,
        idle_timeout: Duration,
    ) -> (Self, EarlyLink<C>) {
        let mut shared = LinkShared::new(Arc::new(base), flight.id(), Role::Client, settings, idle_timeout);
        shared.lifecycle = Lifecycle::new(LinkState::AwaitingAnswer);
        shared.early_handshake = Some(Box::new(EarlyHandshake::new(flight)));
        let queue = Arc::new(EpochQueue::first(Tag::of(shared.id), VecDeque::new()));
        let link = Self::of(shared, queue);
        let early_link = EarlyLink { shared: link.shared.clone(), queue: link.queue.clone() };
        (link, early_link)
    }
}

impl<C: Connection<Data = Buf>> Clone for EarlyLink<C> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), queue: self.queue.clone() }
    }
}

impl<C: Connection<Data = Buf>> EarlyLink<C> {
    /// Starts the timers of the handshake, which needs none until a message is due for the first time.
    pub(crate) fn start_timers(&self) {
        if let Some(handshake) = &self.shared.early_handshake {
            handshake.start_timers();
        }
    }

    /// Returns the watchdog of the link, for a task that polls it once the link is up.
    pub(crate) fn into_watchdog(self) -> impl Future<Output = ()> + Send + use<C> {
        watchdog::from_first_tick(&self.shared)
    }

    /// Makes the link usable. A link that was closed before could not tell the server then, and tells it once
    /// now, without waiting.
    pub(crate) fn answer_accepted(&self) {
        self.shared.lifecycle.answer_accepted();
        if let Some(handshake) = &self.shared.early_handshake {
            handshake.wake_settled();
        }
        if self.shared.lifecycle.check().is_err() {
            let close_message = pin!(self.shared.send_close(String::new()));
            let _ = close_message.poll(&mut Context::from_waker(Waker::noop()));
        }
    }

    /// Tells the server why there is no stack. The server has agreed meanwhile, and the close at the link's
    /// end came too early for it.
    pub(crate) async fn failed(&self, failure: &Error) {
        self.shared.send_close(failure.to_string()).await;
    }

    /// Sends and repeats the offer until there is an answer. After that either
    /// [`answer_accepted`](Self::answer_accepted) makes the link usable, or the link has ended. May be
    /// cancelled only if the link is not used any more.
    ///
    /// # Errors
    /// The server's refusal, or the reason why there is no answer. The link has ended.
    pub(crate) async fn run(self) -> Result<Answered<C>, Error> {
        let Some(handshake) = &self.shared.early_handshake else {
            return Err(self.shared.lifecycle.check().err().unwrap_or_else(given_up));
        };
        let answered = self.followed_up(self.handshake(handshake).await).await;
        if let Err(error) = &answered {
            self.shared.lifecycle.not_agreed(error);
        }
        if !self.shared.lifecycle.is(LinkState::AwaitingAnswer) {
            handshake.wake_settled();
        }
        answered
    }

    /// Waits for the answer. Returns it with the messages that it leaves to be sent.
    async fn handshake(&self, handshake: &EarlyHandshake) -> Result<(Answered<C>, Option<FollowUp>), Error> {
        let shared = &*self.shared;
        let runtime = shared.base.base().runtime();
        // Data that has arrived before or with the answer.
        let mut early = VecDeque::new();
        // Data behind an answer in the message that was received last.
        let mut joined_data = None;
        let mut is_asked = false;
        let mut losses = Losses::default();
        loop {
            let has_timers = handshake.has_timers();
            if has_timers || std::mem::take(&mut is_asked) {
                let due = handshake.flight().poll_transmit(runtime.now());
                let due = due.map_err(|error| losses.explain(error))?;
                if let Some(message) = due {
                    // Boxed, here and below, since a call that sends has mostly sent the offer too.
                    losses.or_lost(Box::pin(shared.base.send(Buf::copy_of(&message, 0)?)).await)?;
                }
            }
            let timer = has_timers.then(|| runtime.sleep_until(handshake.flight().poll_timeout()));
            let mut message = match joined_data.take() {
                Some(data) => data,
                None => {
                    let mut timer = pin!(timer);
                    let due = poll_fn(|cx| match timer.as_mut().as_pin_mut() {
                        Some(timer) => timer.poll(cx),
                        // The timers have been started: look for a message that is due.
                        None if handshake.has_timers() => Poll::Ready(()),
                        None => Poll::Pending,
                    });
                    let arrival = pin!(shared.base.recv());
                    let Either::Left((arrived, due)) = select(arrival, due).await else { continue };
                    let Some(arrived) = losses.or_lost(arrived)? else {
                        due.await;
                        continue;
                    };
                    let (message, data) = split_joined(arrived);
                    joined_data = data;
                    message
                }
            };
            let flight = handshake.flight().handle(&message)?;
            if matches!(flight, Flight::Confirmed { .. } | Flight::Replaced(..))
                && let Some(mut data) = joined_data.take()
            {
                data.advance(HEADER)?;
                early.push_back(data);
            }
            match flight {
                Flight::Confirmed { answer, session, rest } => {
                    session.add_not_sent(losses.count());
                    let follow_up = FollowUp::new(answer.confirm, rest);
                    return Ok((self.confirmed(answer, session, &message, early), follow_up));
                }
                Flight::Replaced(answer, session) => {
                    session.add_not_sent(losses.count());
                    return Ok((self.replaced(answer, session, &message, early), None));
                }
                Flight::Again => is_asked = true,
                Flight::Early if early.len() < shared.settings.early_messages => {
                    message.advance(HEADER)?;
                    early.push_back(message);
                }
                Flight::Early | Flight::Ignored => shared.count_dropped(),
            }
        }
    }

    /// Returns the result of a handshake after which the stack stays.
    fn confirmed(
        &self,
        answer: Answer,
        session: Arc<Session>,
        encoded: &[u8],
        early: VecDeque<Buf>,
    ) -> Answered<C> {
        let shared = &*self.shared;
        let agreed = self.agreed(&answer, &session, encoded);
        let _ = shared.session.set(session.clone());
        let _ = shared.agreed.set(agreed);
        for message in early {
            if self.queue.put(message, shared.base.base().properties().reliable).is_err() {
                shared.count_dropped();
            }
        }
        let received = shared.base.base().runtime().now();
        Answered { answer, received, session, replaced: None, link: self.clone() }
    }

    /// Completes a handshake by sending the messages that the answer has left. Boxed, since there rarely are
    /// any.
    fn followed_up(
        &self,
        answered: Result<(Answered<C>, Option<FollowUp>), Error>,
    ) -> impl Future<Output = Result<Answered<C>, Error>> + Send {
        match answered {
            Ok((answered, Some(follow_up))) => Either::Left(Box::pin(self.follow_up(answered, follow_up))),
            Ok((answered, None)) => Either::Right(ready(Ok(answered))),
            Err(error) => Either::Right(ready(Err(error))),
        }
    }

    /// Confirms, if the server has asked for it, and sends the messages that the server has not taken.
    async fn follow_up(
        &self,
        answered: Answered<C>,
        FollowUp { confirm, untaken }: FollowUp,
    ) -> Result<Answered<C>, Error> {
        let shared = &*self.shared;
        if let Some(number) = confirm {
            shared.send_confirm(number).await;
        }
        let runtime = shared.base.base().runtime();
        let limit = shared.settings.handshake_timeout;
        for message in untaken {
            let send = || async {
                let message = seal(Buf::copy_of(&message, HEADER)?, self.queue.header)?;
                shared.base.send(message).await
            };
            insist(runtime, limit, send).await?;
        }
        Ok(answered)
    }

    /// Ends the link, and returns the result of a handshake after which a new stack takes over the base.
    fn replaced(
        &self,
        answer: Answer,
        session: Arc<Session>,
        encoded: &[u8],
        early: VecDeque<Buf>,
    ) -> Answered<C> {
        let shared = &*self.shared;
        let agreed = self.agreed(&answer, &session, encoded);
        shared.lifecycle.end(End::Replaced);
        let received = shared.base.base().runtime().now();
        let start = Start {
            base: shared.base.clone(),
            id: shared.id,
            role: Role::Client,
            early,
            has_to_answer: false,
            session: session.clone(),
            agreed,
            listener: None,
            address_challenge: None,
            settings: shared.settings.clone(),
            idle_timeout: agreed_idle_timeout(shared.settings.idle_timeout, answer.idle_ms),
            now: received,
        };
        Answered { answer, received, session, replaced: Some(Box::new(start)), link: self.clone() }
    }

    /// Returns the messages to repeat, and counts the forged messages of the handshake.
    fn agreed(&self, answer: &Answer, session: &Session, encoded: &[u8]) -> Agreed {
        let handshake = self.shared.early_handshake.as_ref();
        if let Some(handshake) = handshake {
            session.add_forged(handshake.flight().forged());
        }
        let encoded = if session.has_credentials() { encoded.to_vec() } else { Vec::new() };
        let is_kept = session.has_credentials() && answer.early == 0;
        let offer = handshake.filter(|_| is_kept).map(|handshake| handshake.flight().offer().to_vec());
        let offer = offer.unwrap_or_default();
        Agreed::Client { offer, answer: encoded, confirm: answer.confirm, early: answer.early }
    }
}

/// Returns the error of a connection that its application has given up.
pub(crate) fn given_up() -> Error {
    Error::new(ErrorKind::Closed, "the connection was given up").at("negotiation")
}
