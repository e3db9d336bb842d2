//! A server's work for a client.

use super::admission::Admissions;
use super::outcome::{Entering, Outcome, Unconfirmed};
use super::overload::{Lack, OverloadCount};
use super::progress::Progress;
use super::replies::{BUSY, reply_with, turn_away, turn_away_within};
use super::stages::TELLING;
use super::statistics::{ClientCount, IncomingStatistics};
use crate::auth::HandshakeNonce;
use crate::auth::{NonceByOffer, offer_hash, seed};
use crate::connections::{Connections, Room};
use crate::deadline::{NOT_READY, within};
use crate::handshake::CurrentAgreement;
use crate::handshake::{
    Accepted, Admission, AmplificationLimit, Decision, DecisionCache, EarlyData, Freshness, Requirements,
    Terms, Tickets, agreed_idle_timeout, decide_hashed, is_flight, path,
};
use crate::link::{AcceptedConnector, LinkConnector};
use crate::link::{
    AddressChallenge, Agreed, AnswerTask, CandidateSlot, Evictable, FromLink, MovableLinks, Setup, Start,
};
use crate::wire;
use crate::{Agreement, Link, Negotiated, Runs, Settings, ZeroRtt, span};
use bertha_core::{
    Base, Buf, ConnectContext, Connection, Error, ErrorKind, Listener, Network, Node, NotePlace, Picks, Role,
    Runtime,
};
use futures_util::future::{Either, FutureExt, select};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio::sync::mpsc;
use tracing::Instrument;

/// Maximum number of messages that are read behind a message that made no connection.
const MOST_BEHIND: usize = 64;

/// Number of parts of a client's time for its offer. A part begins when the server has seen the end of the
/// part before, so a server that is held up itself takes at most a single part off the client's time.
const PARTS: u32 = 4;

/// Maximum length of the first message of a stream, in bytes. It is twice the maximum of an offer, and more
/// than the maximum of a first flight.
pub(super) const LARGEST_FIRST: usize = 16 << 10;

pub(super) struct Server<S, D: Runs<S>> {
    pub(super) stack: S,
    nodes: Vec<Node>,
    decisions: DecisionCache,
    connector: Arc<LinkConnector<D>>,
    pub(super) listener: D::Listener,
    pub(super) admissions: Admissions,
    /// The tickets, made at their first use.
    tickets: OnceLock<Tickets>,
    pub(super) settings: Arc<Settings>,
    answer_task: AnswerTask<D::Connection>,
    pub(super) to_listener: mpsc::Sender<FromLink<D::Connection>>,
    /// True if the stack may follow its clients to other addresses.
    pub(super) follows: bool,
    pub(super) movable: MovableLinks<D::Connection>,
    pub(super) connections: Connections,
    pub(super) overload: OverloadCount,
    pub(super) clients: ClientCount,
    dropped: AtomicU64,
}

impl<S, D: Runs<S>> Server<S, D> {
    /// Makes a server for the clients of `listener`. Messages of its links for the listener go to
    /// `to_listener`.
    pub(super) fn new(
        stack: S,
        nodes: Vec<Node>,
        datapath: D,
        listener: D::Listener,
        settings: Arc<Settings>,
        to_listener: mpsc::Sender<FromLink<D::Connection>>,
    ) -> Self {
        // A quarter of what the system allows is left to handshakes and to the application.
        let capacity = listener.capacity().map_or(usize::MAX, |capacity| capacity - capacity / 4);
        Self {
            follows: !D::roaming(&stack).is_empty(),
            movable: MovableLinks::new(),
            stack,
            nodes,
            decisions: DecisionCache::default(),
            tickets: OnceLock::new(),
            connector: Arc::new(LinkConnector { datapath, settings: settings.clone() }),
            listener,
            admissions: Admissions::new(&settings),
            connections: Connections::new(settings.connections.min(capacity)),
            settings,
            answer_task: AnswerTask::new(),
            to_listener,
            overload: OverloadCount::default(),
            clients: ClientCount::default(),
            dropped: AtomicU64::new(0),
        }
    }

    /// The runtime, if the datapath tells it before there is a client.
    pub(super) fn runtime(&self) -> Option<<<D::Connection as Connection>::Base as Base>::Runtime> {
        self.connector.datapath.runtime()
    }

    /// Returns the numbers of clients so far, and the state at this moment.
    pub(super) fn statistics(&self) -> IncomingStatistics {
        self.clients.get(self.overload.get(), self.dropped(), self.connections.count())
    }

    /// Returns the number of dropped messages of unknown senders.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// A client that is let in, at once or once it has confirmed.
pub(super) struct Admitted {
    pub(super) accepted: Box<Accepted>,
    /// The anti-amplification limit of its address, before the answer.
    pub(super) amplification_limit: AmplificationLimit,
    /// True if its stack is built before it confirms.
    is_on_its_word: bool,
}

impl Admitted {
    /// Returns true if the reply may wait for the server's first message: a client that has sent messages
    /// with its offer waits for that message rather than for the reply.
    fn may_wait(&self) -> bool {
        self.accepted.answer.early > 0 && self.is_on_its_word
    }
}

impl<S, D> Server<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    /// Handles a new base connection, by its first message. A client that is given up before it has sent a
    /// message is told so.
    pub(super) async fn meet(
        self: Arc<Self>,
        base: Arc<D::Connection>,
        progress: Progress,
    ) -> Outcome<D::Connection, D::Out> {
        let first = match self.first_message(&base, &progress).await {
            Some(Ok(first)) => first,
            Some(Err(error)) => return Outcome::Failed(error),
            None => {
                turn_away_within(&*base, TELLING).await;
                return Outcome::Nothing;
            }
        };
        // Before the answer, since the client's first large message may follow its confirmation in one piece. What a client
        // sends before it has confirmed is dropped message by message, and the datapath bounds the memory of unfinished messages.
        base.base().limit_received(usize::MAX);
        match self.clone().greet(base.clone(), first).await {
            vain @ (Outcome::Nothing | Outcome::Refused { .. }) => {
                Box::pin(self.greet_behind(base, vain)).await
            }
            outcome => outcome,
        }
    }

    /// Receives the first message on a base connection. Returns `None` if the client is given up.
    async fn first_message(&self, base: &D::Connection, progress: &Progress) -> Option<Result<Buf, Error>> {
        let part = self.settings.handshake_timeout / PARTS;
        let what = "the client connected and sent no offer";
        let mut given_up = pin!(progress.given_up());
        let mut parts = 1;
        loop {
            let received = pin!(base.recv());
            let received = pin!(within(base.base().runtime(), part, || what, received));
            match select(received, given_up.as_mut()).await {
                Either::Left((Err(error), _)) if error.kind() == ErrorKind::TimedOut && parts < PARTS => {
                    parts += 1;
                }
                Either::Left((received, _)) => return Some(received),
                Either::Right(_) => return None,
            }
        }
    }

    /// Handles the messages that have arrived behind a message that made no connection, before they are
    /// dropped with the base: an attacker may have sent that message in the name of a client whose offer is
    /// behind it.
    async fn greet_behind(
        self: Arc<Self>,
        base: Arc<D::Connection>,
        mut outcome: Outcome<D::Connection, D::Out>,
    ) -> Outcome<D::Connection, D::Out> {
        for _ in 0..MOST_BEHIND {
            let Some(Ok(message)) = base.recv().now_or_never() else { break };
            match self.clone().greet(base.clone(), message).await {
                Outcome::Nothing => {}
                refused @ Outcome::Refused { .. } => outcome = refused,
                outcome => return outcome,
            }
        }
        outcome
    }

    /// Handles the first message on a base connection.
    async fn greet(
        self: Arc<Self>,
        base: Arc<D::Connection>,
        message: Buf,
    ) -> Outcome<D::Connection, D::Out> {
        if let Some(outcome) = self.roamed(&base, &message).await {
            return outcome;
        }
        let now = base.base().runtime().now();
        let fresh = NonceByOffer::default();
        let random = || base.base().runtime().random();
        let admitted =
            match self.decide(now, &base, &message, false, |hash| fresh.of(hash, now, random)).await {
                Ok(Some(admitted)) => admitted,
                Ok(None) => return Outcome::Nothing,
                Err((id, error)) => return Outcome::Refused { id, error },
            };
        let has_to_answer = admitted.may_wait();
        let Admitted { accepted, mut amplification_limit, is_on_its_word } = admitted;
        if !has_to_answer {
            amplification_limit.spend(accepted.reply.len());
            reply_with(&*base, &accepted.reply).await;
        }
        match is_on_its_word {
            true => {
                let overtaken = VecDeque::new();
                Outcome::Entering(Entering { base, accepted, overtaken, amplification_limit, has_to_answer })
            }
            false => Outcome::Unconfirmed(Unconfirmed { base, accepted, amplification_limit, fresh }),
        }
    }

    /// Waits until a client has confirmed. The datapath tells a client that is given up here that the
    /// connection has ended.
    pub(super) async fn confirm(
        self: Arc<Self>,
        Unconfirmed { base, accepted, amplification_limit, fresh }: Unconfirmed<D::Connection>,
        progress: Progress,
    ) -> Outcome<D::Connection, D::Out> {
        let confirmation = pin!(self.confirmation(&base, *accepted, amplification_limit, &fresh));
        let given_up = pin!(progress.given_up());
        match select(confirmation, given_up).await {
            Either::Left((Some((accepted, overtaken)), _)) => {
                Outcome::Entering(Entering::confirmed(base.clone(), Box::new(accepted), overtaken))
            }
            Either::Left((None, _)) | Either::Right(_) => Outcome::Nothing,
        }
    }

    /// Lets a client in: the messages that came with its offer first, then the messages that overtook its
    /// confirmation.
    pub(super) async fn enter(
        self: Arc<Self>,
        mut entering: Entering<D::Connection>,
        progress: Progress,
    ) -> Outcome<D::Connection, D::Out> {
        let now = entering.base.base().runtime().now();
        let accepted = &mut entering.accepted;
        if accepted.is_flight && self.settings.early_data {
            let memory = self.admissions.insert(now, accepted.offer);
            if memory == Freshness::Spent || (memory == Freshness::Full && !accepted.early.is_empty()) {
                // The same offer was let in from another address meanwhile, or so many were that this one
                // can't be remembered. The answer says that its messages were taken, so nothing else can
                // become of them.
                self.count_dropped();
                match memory {
                    Freshness::Spent => self.clients.replayed_flight(),
                    _ => self.clients.flight(false),
                }
                return Outcome::Nothing;
            }
        }
        if accepted.is_flight {
            self.clients.flight(!accepted.early.is_empty());
        }
        accepted.early.append(&mut entering.overtaken);
        let span = span::accepting(entering.base.base());
        let accepted = self.accept(now, entering, progress).instrument(span.clone()).await;
        span::ended(&span, accepted.as_ref().map(Negotiated::explain));
        accepted.into()
    }

    /// Answers an offer on a base connection that is in use, and asks the client to confirm.
    pub(super) async fn reoffered(
        self: Arc<Self>,
        base: Arc<D::Connection>,
        offer: Buf,
        fresh: HandshakeNonce,
        slot: Arc<CandidateSlot>,
    ) -> Outcome<D::Connection, D::Out> {
        match self.decide(base.base().runtime().now(), &base, &offer, true, |_| fresh).await {
            Ok(Some(Admitted { accepted, mut amplification_limit, .. })) => {
                amplification_limit.spend(accepted.reply.len());
                let reply = slot.take(accepted, amplification_limit);
                reply_with(&*base, &reply).await;
                Outcome::Nothing
            }
            Ok(None) => Outcome::Nothing,
            Err((id, error)) => Outcome::Refused { id, error },
        }
    }

    /// Decides about a message, and replies to it unless it is accepted. A refused client comes with its id.
    /// If it `confirms`, its stack is built after that, else only if need be. `fresh` gives the numbers for
    /// an offer.
    pub(super) async fn decide(
        &self,
        now: Instant,
        base: &D::Connection,
        message: &[u8],
        confirms: bool,
        fresh: impl FnOnce(&[u8; 32]) -> HandshakeNonce + Send,
    ) -> Result<Option<Admitted>, (u64, Error)> {
        let hash = wire::offer_in(message).map(|(offer, _)| offer_hash(offer));
        let is_offer = hash.is_some();
        let amplification_limit = match is_offer.then(|| self.admissions.admit(now, base, message)) {
            None => AmplificationLimit::of(message.len()),
            Some(Admission::Admit(amplification_limit)) => amplification_limit,
            Some(other) => return Box::pin(self.turn_away(base, other)).await,
        };
        let is_unproven = amplification_limit != AmplificationLimit::UNLIMITED;
        let may_be_anybody = is_unproven && self.admissions.builds_after_confirmation();
        let confirms_first = confirms || may_be_anybody || self.settings.credentials.is_some();
        let fresh = hash.as_ref().filter(|_| confirms_first || is_unproven).map(fresh);
        let early_data = match &hash {
            Some(hash) if self.settings.early_data && is_flight(message) => {
                match self.admissions.remembered(now, hash) {
                    Freshness::New if confirms || may_be_anybody => EarlyData::Confirmed,
                    Freshness::New => EarlyData::AtOnce,
                    Freshness::Full => EarlyData::Refused,
                    Freshness::Spent => EarlyData::Spent,
                }
            }
            _ => EarlyData::Refused,
        };
        // Replies are boxed, here and below, so that the future of an accepted client has no room for them.
        let path = path(&base.base().local_addr(), &base.base().peer_addr());
        let terms = Terms {
            idle_timeout: self.settings.idle_timeout,
            credentials: &self.settings.credentials,
            fresh: fresh.as_ref(),
            requirements: Requirements::new(self.settings.floor, base.base().properties()),
            path: &path,
            early_data,
            tickets: self.tickets(now, base),
            now,
            amplification_limit,
        };
        match decide_hashed(message, hash, &self.nodes, &self.decisions, &terms) {
            Decision::Ignore => Box::pin(self.turn_away(base, Admission::Drop)).await,
            Decision::Retry => {
                Box::pin(self.turn_away(base, self.admissions.retry(now, base, message))).await
            }
            Decision::Unknown { reply } => {
                self.count_dropped();
                Box::pin(reply_with(base, &reply)).await;
                Ok(None)
            }
            Decision::Refuse { id, reply, error } => {
                let peer = base.base().peer_addr();
                tracing::debug!(target: "bertha::negotiation", %peer, %error, "refused an offer");
                Box::pin(reply_with(base, &reply)).await;
                if early_data == EarlyData::Spent {
                    // A late duplicate, which is not reported.
                    self.count_dropped();
                    self.clients.replayed_flight();
                    return Ok(None);
                }
                Err((id, error))
            }
            Decision::Accept(accepted) if !confirms && !self.has_room(base, now) => {
                Err(Box::pin(self.refuse(base, accepted.id, now)).await)
            }
            Decision::Accept(accepted) => {
                if accepted.is_flight && accepted.early.is_empty() {
                    self.count_dropped();
                }
                let is_taken_at_once = early_data == EarlyData::AtOnce && accepted.answer.early > 0;
                Ok(Some(Admitted {
                    accepted,
                    amplification_limit,
                    is_on_its_word: is_taken_at_once || !confirms_first,
                }))
            }
        }
    }

    /// Returns true if there may be a connection with another client. An unused connection may have to go for
    /// it.
    fn has_room(&self, base: &D::Connection, now: Instant) -> bool {
        match self.connections.room(Network::of(&base.base().peer_addr()), now) {
            Room::Free => true,
            Room::InPlaceOf(connection) => {
                self.evict(&*connection, now);
                true
            }
            Room::None => false,
        }
    }

    /// Gives an unused connection up for others.
    pub(super) fn evict(&self, connection: &dyn Evictable, now: Instant) {
        connection.evict("the server gave the connection up for others, since it was not used");
        self.overload.count(Lack::Connection, None, now);
    }

    /// Refuses the client with this id, since there are as many connections as may be.
    async fn refuse(&self, base: &D::Connection, id: u64, now: Instant) -> (u64, Error) {
        let peer = base.base().peer_addr();
        self.overload.count(Lack::Refused, Some(&peer), now);
        turn_away(base, id).await;
        let what =
            format!("{peer} was refused: there are as many connections as `Settings::connections` allows");
        (id, Error::new(ErrorKind::Exhausted, what).at("negotiation"))
    }

    /// The tickets of this server, if it takes early data. The first client brings clock and randomness
    /// along.
    fn tickets(&self, now: Instant, base: &D::Connection) -> Option<&Tickets> {
        let secret = || *seed(|| base.base().runtime().random()).bytes();
        self.settings.early_data.then(|| self.tickets.get_or_init(|| Tickets::new(secret(), now)))
    }

    async fn turn_away<T>(
        &self,
        base: &D::Connection,
        admission: Admission,
    ) -> Result<Option<T>, (u64, Error)> {
        match admission {
            Admission::Retry(reply) => reply_with(base, &reply).await,
            _ => self.count_dropped(),
        }
        Ok(None)
    }

    pub(super) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Builds the stack. The answer is on its way, since a Chunnel may have to talk to its counterpart to
    /// start; or it goes with the first that is sent.
    async fn accept(
        &self,
        now: Instant,
        Entering { base, accepted, amplification_limit, has_to_answer, .. }: Entering<D::Connection>,
        progress: Progress,
    ) -> Result<Negotiated<D::Out>, Error> {
        let Accepted { id, offer, reply, answer, session, capabilities, early, .. } = *accepted;
        let runtime = base.base().runtime().clone();
        let session = Arc::new(session);
        let listener = Some(self.to_listener.clone());
        let network = Network::of(&base.base().peer_addr());
        let link = Link::new(Start {
            base,
            id,
            role: Role::Server,
            early,
            has_to_answer,
            session: session.clone(),
            agreed: Agreed::Server { offer, answer: reply },
            listener,
            address_challenge: answer
                .confirm
                .filter(|_| amplification_limit != AmplificationLimit::UNLIMITED)
                .map(|number| AddressChallenge {
                    number,
                    amplification_limit,
                    counted: self.admissions.unvalidated.take(),
                }),
            settings: self.settings.clone(),
            idle_timeout: agreed_idle_timeout(self.settings.idle_timeout, answer.idle_ms),
            now,
        });
        if has_to_answer {
            self.answer_task.add(&link);
        }
        if self.follows {
            self.movable.add(&link);
        }
        let place = self.connections.add(network, link.evictable(), now);
        let dropped = link.dropped();
        let mut setup = Cancelled(Some(link.setup()));
        let evictable = link.evictable();
        let zero_rtt = (answer.early > 0).then(|| ZeroRtt::Taken(answer.early.into()));
        let agreement = Agreement::new(Role::Server, &self.nodes, answer, session.clone()).with(zero_rtt);
        let picks = agreement.picks().to_vec();
        let transcript = agreement.binding();
        let peer = agreement.peer_layers(capabilities);
        let current_agreement = CurrentAgreement::new(agreement);
        link.stand(current_agreement.clone(), self.connector.clone());
        let secured = session.secured().clone();
        let counters = session.clone();
        let notes = NotePlace::default();
        let connector = AcceptedConnector {
            connector: &*self.connector,
            listener: &self.listener,
            link: link.sibling_links(),
        };
        let context = ConnectContext::new(&connector, Role::Server)
            .with_transcript(transcript)
            .with_peer(Some(&peer))
            .with_secured(&secured)
            .with_registry(counters.registry())
            .with_notes(&notes);
        let built = D::instantiate(&self.stack, link, Picks::new(&picks), context);
        let arrivals = || evictable.upgrade().map(|link| link.arrivals());
        let built = pin!(progress.observe(&runtime, arrivals, built));
        let built = pin!(within(&runtime, self.settings.handshake_timeout, || NOT_READY, built));
        let given_up = pin!(progress.given_up());
        let built = match select(built, given_up).await {
            Either::Left((built, _)) => built,
            Either::Right(_) => Err(Error::new(ErrorKind::Exhausted, BUSY)),
        };
        let setup = setup.0.take();
        match built {
            Ok(connection) => {
                setup.into_iter().for_each(Setup::done);
                current_agreement.note(notes.take());
                tracing::debug!(target: "bertha::negotiation", agreement = %current_agreement.get(), peer = %connection.base().peer_addr(), "accepted");
                Ok(Negotiated::new(connection, current_agreement, session, dropped).in_place(place))
            }
            Err(error) => {
                if let Some(setup) = setup {
                    Box::pin(setup.failed(&error)).await;
                }
                Err(error)
            }
        }
    }
}

/// The building of a stack, of which the client hears if it is given up.
struct Cancelled<C: Connection<Data = Buf>>(Option<Setup<C>>);

impl<C: Connection<Data = Buf>> Drop for Cancelled<C> {
    fn drop(&mut self) {
        if let Some(setup) = self.0.take() {
            let reason = if std::thread::panicking() { "a Chunnel of the server panicked" } else { BUSY };
            // Once, if the datapath takes it at once: nothing can be waited for here.
            let _ = setup.failed(&Error::new(ErrorKind::Exhausted, reason)).now_or_never();
        }
    }
}
