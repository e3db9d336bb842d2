//! A party with one service: an application that is attached, or another daemon.

use crate::failures::details::{self, Details};
use crate::failures::text::{details_of, text_in, text_of};
use crate::messages::from_party::Sends;
use crate::messages::interpreter_view::Lending;
use crate::messages::memory::common::Common;
use crate::messages::memory::mappings::Mapped;
use crate::messages::memory::numbered_frames::Numbered;
use crate::messages::outbox::{self, News, Outbox, Told};
use crate::messages::rows::outgoing::Sender;
use crate::messages::rows::sending::Sending;
use crate::messages::to_party::{Lends, Waiting};
use crate::parties::calls_given::Given;
use crate::parties::calls_made::Calls;
use crate::parties::origin::{Origin, Peer};
use crate::schemas::typed::Typed;
use bertha_chunnels::rpc::FailureKind;
use bertha_core::{Base, Buf, Error, ErrorKind, Runtime};
use bertha_managed::attach::{Hello, Role};
use bertha_managed::heap::{Foreign, Lent, Region};
use bertha_managed::{Burst, Chain, Descriptor, Done, InHeap, Message, Refusal, Signal, Spare};
use bertha_runtime::tokio::TokioRuntime;
use bertha_schemas::{Digest, Fault, Memory, PrivateMemory, Schema};
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// Number of descriptors that wait to be heard, besides calls, above which nothing more is taken of a caller.
const UNHEARD: usize = 1024;

/// The number for a server is larger than that of notices about answers to all requests for which it has places. A server that answers its
/// calls one after another does not listen while its queue is full, and hears such a notice behind its calls.
const UNHEARD_BY_SERVER: usize = 1 << 16;

/// The lowest address of a send heap. All addresses of copies that engines read are lower, so that each address of a request is in one of both.
const LOWEST: u64 = 1 << 32;

/// A party with one service, which it calls or serves.
#[derive(Debug)]
pub(crate) struct Link {
    /// The name of the party, as operators see it.
    pub(crate) application: Arc<str>,
    pub(crate) service: String,
    pub(crate) role: Role,
    pub(crate) typed: Arc<Typed>,
    /// The peer of another machine that calls.
    peer: Option<Peer>,
    /// The mappings of an application. Other parties have none.
    mapped: Option<Mapped>,
    /// The place among applications. It is free when nobody holds the memory any more: a message may still be sent when its application has gone.
    place: OnceLock<OwnedSemaphorePermit>,
    /// Number of bytes that its messages may take, in each direction.
    pub(crate) heap: usize,
    pub(crate) sends: Sends,
    outbox: Mutex<Outbox>,
    /// The signal that there are news.
    waits: Notify,
    /// The signal that messages are needed no more, of which the party hears with other news.
    unhurried: Notify,
    /// The signal that the news were taken.
    heard: Notify,
    /// The signal that engines have work beside the party's messages. They hold it too, to tell each other.
    pub(crate) changed: Arc<Signal>,
    /// The signal that the application has no place any more.
    detached: Notify,
    /// The calls that the application makes. Who holds this lock may take that of an outbox, and not the other way round.
    pub(crate) caller: Mutex<Caller>,
    /// The calls that the application has to answer.
    pub(crate) given: Mutex<Given<Arc<Link>>>,
    /// The difference from another schema, the last that was looked for: it takes as long as the schemas are.
    difference: Mutex<Option<(Digest, Arc<str>)>>,
}

/// The calls of an application, and the engines that they pass.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) open: Open,
    pub(crate) requests: Burst,
    /// Requests and cancellations that have passed the engines.
    pub(crate) passed: VecDeque<Message>,
}

/// The open calls of an application, and the engines that their outcomes pass.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) chain: Chain,
    pub(crate) calls: Calls<Arc<Link>>,
    pub(crate) outcomes: Burst,
    /// Memories for copies of requests that engines read.
    pub(crate) spare: Spare,
    /// The calls of such copies that are new, with their bytes; else empty.
    pub(crate) copies: Vec<(u64, usize)>,
}

impl Link {
    /// Makes the party that an application is, which has said hello.
    pub(crate) fn application(
        hello: Hello,
        typed: Arc<Typed>,
        heap: usize,
        common: &Common,
    ) -> Result<Arc<Self>, Error> {
        let mapped = common.mappings().attach().ok_or_else(|| {
            let what = "the daemon has no mappings of memory for another application (vm.max_map_count)";
            Error::new(ErrorKind::Exhausted, what)
        })?;
        if hello.send_heap < LOWEST {
            return Err(Error::new(
                ErrorKind::Invalid,
                "a send heap begins above the first 4 GiB of addresses",
            ));
        }
        let sends = Sends::Heap(RwLock::new(Foreign::new(hello.send_heap, heap)?));
        let lends = Lends::Heap(Lent::new(hello.receive_heap, heap)?);
        let Hello { application, service, role, .. } = hello;
        let mut link = Self::new((application, None), service, role, typed, heap, (sends, lends), common);
        link.mapped = Some(mapped);
        Ok(Arc::new(link))
    }

    /// Makes the party that another daemon or a stranger is, which calls or serves a service. One that calls has the address of a peer.
    pub(crate) fn daemon(
        (name, peer): (String, Option<Peer>),
        service: String,
        role: Role,
        typed: Arc<Typed>,
        heap: usize,
        common: &Common,
    ) -> Arc<Self> {
        let sends = Sends::Frames(Mutex::new(Numbered::new(common.clone())));
        let ways = (sends, Lends::Frames(Waiting::new(heap, common.clone())));
        Arc::new(Self::new((name, peer), service, role, typed, heap, ways, common))
    }

    fn new(
        (application, peer): (String, Option<Peer>),
        service: String,
        role: Role,
        typed: Arc<Typed>,
        heap: usize,
        (sends, lends): (Sends, Lends),
        common: &Common,
    ) -> Self {
        let changed = Arc::new(Signal::default());
        let waker = Waker::from(Arc::clone(&changed));
        let chain = Chain::new(typed.binding(without_port(&application), &service, common, waker));
        Self {
            application: application.into(),
            service,
            role,
            peer,
            mapped: None,
            place: OnceLock::new(),
            heap,
            sends,
            outbox: Mutex::new(Outbox::new(lends)),
            waits: Notify::new(),
            unhurried: Notify::new(),
            heard: Notify::new(),
            changed,
            detached: Notify::new(),
            caller: Mutex::new(Caller::new(chain)),
            given: Mutex::new(Given::new(heap)),
            difference: Mutex::default(),
            typed,
        }
    }

    /// Keeps the place of an application as long as its memory.
    pub(crate) fn keep_place(&self, place: OwnedSemaphorePermit) {
        // It has one.
        let _ = self.place.set(place);
    }

    /// Returns true for an application, whose messages lie in heaps.
    pub(crate) fn has_heap(&self) -> bool {
        matches!(self.sends, Sends::Heap(_))
    }

    /// Reads what has come from the party. Returns `None` if it does not follow the protocol.
    pub(crate) fn read(&self, bytes: Buf) -> Option<Descriptor> {
        let (head, rest) = bytes.split_first_chunk()?;
        let descriptor = Descriptor::read(head).ok()?;
        let Sends::Frames(_) = &self.sends else { return rest.is_empty().then_some(descriptor) };
        match descriptor {
            Descriptor::Done(_) | Descriptor::Grown { .. } => None,
            _ if descriptor.message().at == 0 => Some(descriptor.with_number(0)),
            _ => Some(descriptor.with_number(self.keep(bytes))),
        }
    }

    /// Returns true for another daemon or a stranger, whose messages are frames.
    pub(crate) fn has_frames(&self) -> bool {
        matches!(self.sends, Sends::Frames(_))
    }

    /// Waits until the party has to hear something.
    pub(crate) async fn has_news(&self) {
        let due = self.outbox.lock().due();
        let later = async {
            match due {
                Some(due) => TokioRuntime.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.waits.notified() => {}
            () = later => {}
        }
    }

    /// Waits until a message is needed no more, and some time has passed in which other news could have told of it.
    pub(crate) async fn has_waited(&self) {
        self.unhurried.notified().await;
        TokioRuntime.sleep_until(TokioRuntime.now() + Done::PATIENCE).await;
    }

    /// Puts the descriptors that the party has to hear into a buffer that is empty.
    pub(crate) fn news(&self, descriptors: &mut Vec<Descriptor>) -> News {
        self.heard.notify_one();
        let mut outbox = self.outbox.lock();
        let news = outbox.take(descriptors, TokioRuntime.now());
        if outbox.has_more() {
            self.waits.notify_one();
        }
        news
    }

    /// Returns what tells the party of a descriptor.
    pub(crate) fn told_of(&self, descriptor: Descriptor, base: &impl Base) -> Result<Told, Error> {
        match self.sends {
            // The message lies in memory that is shared, and the descriptor is all.
            Sends::Heap(_) => outbox::bytes_of(descriptor, base).map(Told::Whole),
            Sends::Frames(_) => self.outbox.lock().told_of(descriptor, base),
        }
    }

    /// Notes that the connection to another daemon takes messages whose rows were left where they are, or that it does not.
    pub(crate) fn takes_rows(&self, takes_rows: bool) {
        self.change_waiting(|waiting| waiting.takes_rows(takes_rows));
    }

    /// Changes the way of large rows to another daemon, from the next message on.
    pub(crate) fn send_by(&self, sending: Sending) {
        self.change_waiting(|waiting| waiting.send_by(sending));
    }

    fn change_waiting(&self, change: impl FnOnce(&mut Waiting)) {
        if let Lends::Frames(waiting) = &mut self.outbox.lock().lends {
            change(waiting);
        }
    }

    /// Waits until the party has heard most of the answers to what it said: one that does not listen has nothing to say. Calls that a server
    /// has to hear do not count: it may answer one before it hears the next.
    pub(crate) async fn is_heard(&self) {
        let most = match self.role {
            Role::Caller => UNHEARD,
            Role::Server => UNHEARD_BY_SERVER,
        };
        while self.outbox.lock().answers() > most {
            self.heard.notified().await;
        }
    }

    /// Returns what distinguishes the schema of the application from another.
    #[cold]
    pub(crate) fn difference_from(&self, other: &Schema) -> Arc<str> {
        let mut last = self.difference.lock();
        match &*last {
            Some((digest, difference)) if *digest == other.digest() => Arc::clone(difference),
            _ => {
                let difference = self.typed.schema.difference(other.lines());
                let difference: Arc<str> =
                    difference.map_or_else(String::new, |difference| difference.to_string()).into();
                *last = Some((other.digest(), Arc::clone(&difference)));
                difference
            }
        }
    }

    /// Adds a region to the send heap of an application.
    ///
    /// # Errors
    /// Fails if the heap is full, if the process has no mapping left for applications, and for other parties.
    pub(crate) fn grow(&self, region: &Region) -> io::Result<()> {
        match (&self.sends, &self.mapped) {
            (Sends::Heap(heap), Some(mapped)) => mapped.grow(|| heap.write().add(region)),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Returns the origin of the party's calls.
    pub(crate) fn origin(self: &Arc<Self>) -> Origin {
        // A server holds the parties of its calls, so that no other comes to lie at the address of one.
        self.peer.map_or_else(|| Origin::Link(Arc::as_ptr(self).addr()), Origin::Peer)
    }

    /// Makes the task of the application end.
    pub(crate) fn detach(&self) {
        self.detached.notify_one();
    }

    /// Waits until the party has to be detached.
    pub(crate) async fn is_detached(&self) {
        loop {
            self.detached.notified().await;
            // A call that was on its way to a server when the server had none keeps it.
            if self.role == Role::Caller || self.given.lock().is_over() {
                return;
            }
        }
    }

    /// Makes the connection to a server end with the last of its calls, since later ones go elsewhere.
    pub(crate) fn retire(&self) {
        let mut given = self.given.lock();
        given.retire();
        if given.is_over() {
            self.detach();
        }
    }

    /// Takes a call away from a server, and returns its caller with the caller's number. Returns `None` if the server does not have it.
    pub(crate) fn take_given(&self, call: u64) -> Option<(Arc<Self>, u64)> {
        let mut given = self.given.lock();
        let taken = given.take(call);
        if given.is_over() {
            self.detach();
        }
        drop(given);
        if taken.is_some() && self.outbox.lock().ended(call) {
            self.waits.notify_one();
        }
        taken
    }

    /// Makes the task of the application look for what is due.
    pub(crate) fn look(&self) {
        self.changed.tell();
    }

    /// Tells the party something.
    pub(crate) fn tell(&self, descriptor: Descriptor) {
        self.outbox.lock().push(descriptor);
        self.waits.notify_one();
    }

    /// Takes back the request of a call that the server does not have any more, or tells the server if it has heard of the request.
    pub(crate) fn cancel(&self, call: u64) {
        let is_news = self.outbox.lock().cancel(call);
        if is_news {
            self.waits.notify_one();
        }
    }

    /// Tells the party of a message that `sender` has sent under this number. Returns true if the sender's message is needed until it has been
    /// [passed on](crate::messages::rows::outgoing::Held), which tells the sender then.
    pub(crate) fn tell_from(&self, descriptor: Descriptor, (sender, number): (&Arc<Self>, u32)) -> bool {
        let mut outbox = self.outbox.lock();
        let is_held = outbox.lends.hold(descriptor.message().number, sender, number);
        outbox.push(descriptor);
        drop(outbox);
        self.waits.notify_one();
        is_held
    }

    /// Keeps a message of the party until it is given up twice: by the connection that sends it, and with its call. A frame is never needed by
    /// a connection.
    pub(crate) fn keep_sent(&self, message: u32) {
        if self.has_heap() {
            self.outbox.lock().keep(message);
        }
    }

    /// Gives up a message of the party that is needed no more.
    pub(crate) fn done(&self, message: u32) {
        match &self.sends {
            Sends::Heap(_) => {
                let is_urgent = self.outbox.lock().done(message);
                if is_urgent { &self.waits } else { &self.unhurried }.notify_one();
            }
            Sends::Frames(frames) => drop(frames.lock().take(message)),
        }
    }

    /// Takes the frame of a descriptor that waits for the party.
    pub(crate) fn waiting(&self, descriptor: &Descriptor) -> Option<PrivateMemory> {
        let message = self.outbox.lock().waiting(descriptor);
        message?.whole()
    }

    /// Keeps a frame that the party has sent, and returns its number.
    pub(crate) fn keep(&self, frame: Buf) -> u32 {
        let Sends::Frames(frames) = &self.sends else { return 0 };
        let len = frame.len();
        frames.lock().add(frame, len)
    }

    /// Takes back messages that the party needs no more. Numbers that it does not have change nothing.
    pub(crate) fn take_back(&self, numbers: &[u32]) {
        let mut outbox = self.outbox.lock();
        for number in numbers {
            outbox.lends.take_back(*number);
        }
    }

    /// Lends a message of about so many bytes to the party. The message has the place that `write` returns.
    pub(crate) fn lend(
        &self,
        hint: u32,
        write: impl FnOnce(&mut Lending<'_, '_>) -> Result<u64, Fault>,
    ) -> Result<InHeap, Fault> {
        self.outbox.lock().lends.lend(hint, write)
    }

    /// Tells the party of the failure of a call. An application has the details in words.
    pub(crate) fn tell_failure(&self, call: u64, refusal: &Refusal, details: &Details, may_have_run: bool) {
        let own = match details {
            Details::OfDaemon if self.has_frames() => details::own(refusal, &self.service),
            _ => None,
        };
        let details = details.stated().or(own.as_deref()).unwrap_or_default();
        // A failure without its text is better than none.
        let told = |text: &str, details| {
            self.lend(64, |room| Ok(text_in(room, text.as_bytes(), details)?)).unwrap_or_default()
        };
        let reason = match self.has_frames() || details.is_empty() {
            true => told(&refusal.reason, details),
            false => told(&format!("{}{}", refusal.reason, details::in_words(details)), &[]),
        };
        self.tell(Descriptor::Failure { call, kind: refusal.kind, may_have_run, reason });
    }

    /// Returns the failure that the party has sent.
    pub(crate) fn failure(&self, kind: FailureKind, reason: InHeap) -> (Refusal, Details) {
        self.sends.read(reason.number, |sent| {
            let text = text_of(sent, reason.at).unwrap_or_default();
            let details =
                if self.has_frames() { details_of(sent, reason.at) } else { Details::OfServer(None) };
            (Refusal { kind, reason: text.into() }, details)
        })
    }
}

impl Sender for Link {
    fn read(&self, number: u32, at: u64, into: &mut [u8]) -> bool {
        self.sends.read(number, |sent| sent.read(at, into).is_ok())
    }

    fn done(&self, number: u32) {
        Self::done(self, number);
    }
}

impl Caller {
    fn new(chain: Chain) -> Self {
        let open = Open {
            chain,
            calls: Calls::default(),
            outcomes: Burst::new(),
            spare: Spare::default(),
            copies: Vec::new(),
        };
        Self { open, requests: Burst::new(), passed: VecDeque::new() }
    }
}

/// Returns the name of a party without the port from which it came: each connection has another.
pub(crate) fn without_port(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((party, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => party,
        _ => name,
    }
}
