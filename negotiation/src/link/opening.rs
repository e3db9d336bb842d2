//! A link on which a stack stands before the server has answered.

use super::connection::seal;
use super::{Agreed, End, EpochQueue, Link, Shared, Start, watchdog};
use crate::handshake::{FirstFlight, Flight, agreed_idle_timeout};
use crate::shortage::{insist, or_lost};
use crate::wire::{Answer, COOKIE, HEADER, Tag, parted};
use crate::{Session, Settings};
use bertha_core::{Base, Buf, Connection, Error, Role, Runtime};
use futures_util::future::{Either, select};
use std::collections::VecDeque;
use std::future::{poll_fn, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The state of a link until there is an answer.
pub(super) struct Opening {
    flight: Mutex<FirstFlight>,
    /// Whether the handshake keeps the time. Before, nothing is due.
    keeps_time: AtomicBool,
    /// Told once the link is open, or never will be.
    over: Notify,
}

/// Brings the handshake of such a link to its end.
pub(crate) struct Opener<C: Connection<Data = Buf>>(Arc<Shared<C>>, Arc<EpochQueue>);

/// The task of such a link, which has no watchdog of its own.
pub(crate) struct LinkTask<C: Connection<Data = Buf>>(Arc<Shared<C>>);

/// How a handshake ended well.
pub(crate) struct Connected<C: Connection<Data = Buf>> {
    /// The answer.
    pub(crate) answer: Answer,
    /// When it arrived.
    pub(crate) received: Instant,
    /// Its session.
    pub(crate) session: Arc<Session>,
    /// The start of a new link over the same base, if the server agreed to another stack than the one on this link. The
    /// old link has ended.
    pub(crate) replaced: Option<Box<Start<C>>>,
    /// The link, if it stays.
    pub(crate) link: Kept<C>,
}

/// The work that is left after an answer.
struct Owed {
    /// The confirmation that the server has asked for.
    confirm: Option<u64>,
    /// The messages that it has not taken.
    rest: Vec<Vec<u8>>,
}

impl Owed {
    fn new(confirm: Option<u64>, rest: Vec<Vec<u8>>) -> Option<Self> {
        (confirm.is_some() || !rest.is_empty()).then_some(Self { confirm, rest })
    }
}

/// A link whose stack the server agreed to.
pub(crate) struct Kept<C: Connection<Data = Buf>>(Arc<Shared<C>>);

impl<C: Connection<Data = Buf>> Link<C> {
    /// A link for the stack that the server is expected to agree to, within `settings`, with that idle time-out. It comes to life while the opener
    /// runs.
    pub(crate) fn opening(
        base: C,
        flight: FirstFlight,
        settings: Arc<Settings>,
        idle_timeout: Duration,
    ) -> (Self, Opener<C>) {
        let settings = (settings, idle_timeout);
        let mut shared = Shared::new(Arc::new(base), flight.id(), Role::Client, settings);
        shared.liveness = super::Liveness::opening();
        shared.opening = Some(Box::new(Opening::new(flight)));
        let queue = Arc::new(EpochQueue::first(Tag::of(shared.id), VecDeque::new()));
        let link = Self::of(shared, queue);
        let opener = Opener(link.shared.clone(), link.queue.clone());
        (link, opener)
    }
}

impl Opening {
    fn new(flight: FirstFlight) -> Self {
        let (flight, keeps_time) = (Mutex::new(flight), AtomicBool::new(false));
        Self { flight, keeps_time, over: Notify::new() }
    }

    fn keeps_time(&self) -> bool {
        self.keeps_time.load(Ordering::Relaxed)
    }

    fn flight(&self) -> MutexGuard<'_, FirstFlight> {
        self.flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Connection<Data = Buf>> Shared<C> {
    /// The opening of a link that can't be used yet; nothing if it can. An error if it never will.
    fn opening(&self) -> Result<Option<&Opening>, Error> {
        match self.opening.as_deref().filter(|_| self.liveness.is_opening()) {
            None => self.liveness.check().map(|()| None),
            opening => Ok(opening),
        }
    }

    /// Waits until the link can be used, and has the offer sent at once.
    #[cold]
    pub(super) async fn opened(&self) -> Result<(), Error> {
        let Some(opening) = self.opening()? else { return Ok(()) };
        let is_due = opening.flight().hurry();
        if is_due {
            self.transmit(opening).await;
        }
        self.over(opening).await
    }

    /// Waits until the link can be used, or is known not to.
    async fn over(&self, opening: &Opening) -> Result<(), Error> {
        loop {
            let over = opening.over.notified();
            if !self.liveness.is_opening() {
                return self.liveness.check();
            }
            over.await;
        }
    }

    /// The offer of the link with the messages that the server has taken, as it was sent, or with this cookie.
    pub(super) fn flight_again(&self, cookie: Option<&[u8; COOKIE]>) -> Option<Vec<u8>> {
        self.opening.as_ref()?.flight().again(cookie)
    }

    /// Closes a link that can't be used yet. Whether it was one. The base stays the handshake's, which reads it, and may need it for
    /// another stack; and the server is told when it has agreed to this one.
    pub(super) fn close_unopened(&self) -> bool {
        let was = self.liveness.end_unopened(End::Closed);
        if let Some(opening) = self.opening.as_deref().filter(|_| was) {
            opening.over.notify_waiters();
        }
        was
    }

    /// Sends a message with the offer, or waits until the link can be used and gives it back.
    #[cold]
    pub(super) async fn send_opening(&self, message: Buf) -> Result<Option<Buf>, Error> {
        let mut messages = [message].into_iter();
        let left = self.send_batch_opening(&mut messages).await?;
        Ok(left.or_else(|| messages.next()))
    }

    /// Sends as many of `messages` with the offer as fit. If there are more it waits until the link can be used and gives
    /// the next one back. Takes none if the link can be used already.
    #[cold]
    pub(super) async fn send_batch_opening(
        &self,
        messages: &mut (impl Iterator<Item = Buf> + Send),
    ) -> Result<Option<Buf>, Error> {
        let Some(opening) = self.opening()? else { return Ok(None) };
        let left = messages.find(|message| !opening.flight().push(message));
        self.transmit(opening).await;
        if left.is_some() {
            self.over(opening).await?;
        }
        Ok(left)
    }

    /// Sends the message that is due. A failure is not reported: the message is repeated, and a receiving call meets
    /// the same failure.
    async fn transmit(&self, opening: &Opening) {
        let now = self.base.base().runtime().now();
        let due = opening.flight().poll_transmit(now);
        if let Ok(Some(message)) = due
            && let Ok(message) = Buf::copy_of(&message, 0)
        {
            let _ = self.base.send(message).await;
        }
    }
}

impl<C: Connection<Data = Buf>> Kept<C> {
    /// From now on the link can be used. A link that was closed before could not tell the server then, and does so once
    /// now, without waiting.
    pub(crate) fn open(&self) {
        self.0.liveness.open();
        if let Some(opening) = &self.0.opening {
            opening.over.notify_waiters();
        }
        if self.0.liveness.check().is_err() {
            let close_message = pin!(self.0.send_close(String::new()));
            let _ = close_message.poll(&mut Context::from_waker(Waker::noop()));
        }
    }

    /// Tells the server why there is no stack. The server has agreed meanwhile, and the close at the link's end came
    /// too early for it.
    pub(crate) async fn failed(&self, failure: &Error) {
        self.0.send_close(failure.to_string()).await;
    }
}

impl<C: Connection<Data = Buf>> LinkTask<C> {
    /// Has the handshake keep the time from now on: up to when something is due for the first time, it needs no timer.
    pub(crate) fn keep_time(&self) {
        if let Some(opening) = &self.0.opening {
            opening.keeps_time.store(true, Ordering::Relaxed);
        }
    }

    /// Watches over the link once it can be used.
    pub(crate) fn watch(self) -> impl Future<Output = ()> + Send + use<C> {
        watchdog::later(&self.0)
    }
}

impl<C: Connection<Data = Buf>> Opener<C> {
    /// For the task that runs beside the link.
    pub(crate) fn link_task(&self) -> LinkTask<C> {
        LinkTask(self.0.clone())
    }

    /// Sends and repeats the offer until there is an answer. The link can be [opened](Kept::open) then, or has ended.
    /// May be cancelled only if the link is not used any more.
    ///
    /// # Errors
    /// The server's refusal, or the reason why there is no answer. The link has ended.
    pub(crate) async fn run(self) -> Result<Connected<C>, Error> {
        let Some(opening) = &self.0.opening else {
            return Err(self.0.liveness.check().err().unwrap_or_else(gone));
        };
        let opened = self.caught_up(self.handshake(opening).await).await;
        if let Err(error) = &opened {
            self.0.liveness.not_agreed(error);
        }
        if !self.0.liveness.is_opening() {
            opening.over.notify_waiters();
        }
        opened
    }

    /// Waits for the answer. Returns with it the confirmation and the messages that are yet to be sent, if any.
    async fn handshake(&self, opening: &Opening) -> Result<(Connected<C>, Option<Owed>), Error> {
        let shared = &*self.0;
        let runtime = shared.base.base().runtime();
        let (mut early, mut behind, mut is_asked) = (VecDeque::new(), None, false);
        loop {
            let keeps_time = opening.keeps_time();
            if keeps_time || std::mem::take(&mut is_asked) {
                let due = opening.flight().poll_transmit(runtime.now())?;
                if let Some(message) = due {
                    // Boxed, here and below, since a call that sends has mostly sent the offer too.
                    or_lost(Box::pin(shared.base.send(Buf::copy_of(&message, 0)?)).await)?;
                }
            }
            let timer = keeps_time.then(|| runtime.sleep_until(opening.flight().poll_timeout()));
            let mut message = match behind.take() {
                Some(data) => data,
                None => {
                    let mut timer = pin!(timer);
                    let due = poll_fn(|cx| match timer.as_mut().as_pin_mut() {
                        Some(timer) => timer.poll(cx),
                        // The handshake keeps the time now: look for a message that is due.
                        None if opening.keeps_time() => Poll::Ready(()),
                        None => Poll::Pending,
                    });
                    let arrival = pin!(shared.base.recv());
                    let Either::Left((arrived, due)) = select(arrival, due).await else { continue };
                    let Some(arrived) = or_lost(arrived)? else {
                        due.await;
                        continue;
                    };
                    let (message, data) = parted(arrived);
                    behind = data;
                    message
                }
            };
            let flight = opening.flight().handle(&message)?;
            if matches!(flight, Flight::Confirmed { .. } | Flight::Replaced(..))
                && let Some(mut data) = behind.take()
            {
                data.advance(HEADER)?;
                early.push_back(data);
            }
            match flight {
                Flight::Confirmed { answer, session, rest } => {
                    let owed = Owed::new(answer.confirm, rest);
                    return Ok((self.confirmed((answer, session, &message), early), owed));
                }
                Flight::Replaced(answer, session) => {
                    return Ok((self.replaced((answer, session, &message), early), None));
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

    /// The stack stays: the messages that the server has not taken are to be sent.
    fn confirmed(
        &self,
        (answer, session, encoded): (Answer, Arc<Session>, &[u8]),
        early: VecDeque<Buf>,
    ) -> Connected<C> {
        let shared = &*self.0;
        let (session, agreed) = self.agreed(&answer, session, encoded);
        let _ = (shared.session.set(session.clone()), shared.agreed.set(agreed));
        for message in early {
            if self.1.put(message, shared.base.base().properties().reliable).is_err() {
                shared.count_dropped();
            }
        }
        let received = shared.base.base().runtime().now();
        Connected { answer, received, session, replaced: None, link: Kept(self.0.clone()) }
    }

    /// The end of a handshake, when all that the answer asks for is done. Boxed, since that is rarely anything.
    fn caught_up(
        &self,
        answered: Result<(Connected<C>, Option<Owed>), Error>,
    ) -> impl Future<Output = Result<Connected<C>, Error>> + Send {
        match answered {
            Ok((opened, Some(owed))) => Either::Left(Box::pin(self.catch_up(opened, owed))),
            Ok((opened, None)) => Either::Right(ready(Ok(opened))),
            Err(error) => Either::Right(ready(Err(error))),
        }
    }

    /// Confirms, if the server has asked for it, and sends what it has not taken.
    async fn catch_up(
        &self,
        opened: Connected<C>,
        Owed { confirm, rest }: Owed,
    ) -> Result<Connected<C>, Error> {
        let shared = &*self.0;
        if let Some(number) = confirm {
            shared.send_confirm(number).await;
        }
        let (runtime, limit) = (shared.base.base().runtime(), shared.settings.handshake_timeout);
        for message in rest {
            let send = || async {
                let message = seal(Buf::copy_of(&message, HEADER)?, self.1.header)?;
                shared.base.send(message).await
            };
            insist(runtime, limit, send).await?;
        }
        Ok(opened)
    }

    /// The stack goes, and a new one takes over the base.
    fn replaced(
        &self,
        (answer, session, encoded): (Answer, Arc<Session>, &[u8]),
        early: VecDeque<Buf>,
    ) -> Connected<C> {
        let shared = &*self.0;
        let (session, agreed) = self.agreed(&answer, session, encoded);
        shared.liveness.end(End::Replaced);
        let received = shared.base.base().runtime().now();
        let replaced = Start {
            base: shared.base.clone(),
            id: shared.id,
            role: Role::Client,
            early,
            has_to_answer: false,
            session: session.clone(),
            agreed,
            listener: None,
            unproven: None,
            settings: shared.settings.clone(),
            idle_timeout: agreed_idle_timeout(shared.settings.idle_timeout, answer.idle_ms),
            now: received,
        };
        let (replaced, link) = (Some(Box::new(replaced)), Kept(self.0.clone()));
        Connected { answer, received, session, replaced, link }
    }

    fn agreed(&self, answer: &Answer, session: Arc<Session>, encoded: &[u8]) -> (Arc<Session>, Agreed) {
        if let Some(opening) = &self.0.opening {
            session.add_forged(opening.flight().forged());
        }
        let encoded = if session.has_credentials() { encoded.to_vec() } else { Vec::new() };
        let is_kept = session.has_credentials() && answer.early == 0;
        let opening = self.0.opening.as_ref().filter(|_| is_kept);
        let offer = opening.map(|opening| opening.flight().offer().to_vec()).unwrap_or_default();
        (session, Agreed::Client { offer, answer: encoded, confirm: answer.confirm, early: answer.early })
    }
}

pub(crate) fn gone() -> Error {
    Error::new(bertha_core::ErrorKind::Closed, "the connection was given up").at("negotiation")
}
