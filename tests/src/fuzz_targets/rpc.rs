//! Arbitrary messages of a peer, read by both ends of `Rpc`.

use super::feed::{Feed, Ground, Still};
use super::layers::split;
use bertha_chunnels::Rpc;
use bertha_chunnels::rpc::{Client, Failure, Message, Method, Multiplexer, Postcard};
use bertha_chunnels::rpc::{Reply, Request, Service, decode, encode, serve};
use bertha_core::{BoxFuture, Buf, Runtime, Wrap};
use futures_util::FutureExt;
use std::collections::HashMap;
use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Instant;

/// A method that is answered at once.
pub const NEXT: Method = Method::new("next");
/// A method that is answered with a stream of as many responses as the request says.
pub const COUNT: Method = Method::new("count");
/// A method that is answered with the sum of its requests.
pub const SUM: Method = Method::new("sum");
/// A method that is never answered.
const WAIT: Method = Method::new("wait");

/// The codec of clients that name no other codec.
const CODEC: Postcard = Postcard;

/// Number of parts that a client accepts without granting more.
const WINDOW: u32 = 64;

/// Passes the messages in these bytes, each behind its length of one byte, to a server and to a client. A
/// valid message is written as it was read. The server sends at most one end for each call, and no part of a
/// stream that was not granted; it grants a window of requests beyond those that have come. The client has one
/// outcome for each call, sends no request that was not granted, and no slot stays taken.
pub fn messages(bytes: &[u8]) {
    let messages = split(bytes);
    messages.iter().for_each(|message| check_format(message));
    check_server(split(bytes));
    check_client(messages);
}

/// The kinds of messages, which are their first bytes.
mod kind {
    pub(super) const CALL: u8 = 1;
    pub(super) const RESPONSE: u8 = 2;
    pub(super) const PART: u8 = 3;
    pub(super) const END: u8 = 4;
    pub(super) const CREDIT: u8 = 5;
    pub(super) const CANCEL: u8 = 6;
    pub(super) const FAILURE: u8 = 7;
    pub(super) const TRACED_CALL: u8 = 8;
    /// The bit of a message with metadata.
    pub(super) const WITH_METADATA: u8 = 0x40;
}

fn check_format(bytes: &[u8]) {
    let Some(message) = Message::decode(Buf::copy_of(bytes, 0).unwrap()) else { return };
    assert!(bytes.ends_with(message.body()));
    let written = message.encode(&Ground::new(Still)).unwrap();
    let mut expected = bytes.to_vec();
    // Unknown kinds of failures are read as a known kind; the highest bit says that the call may have run.
    if bytes[0] & !kind::WITH_METADATA == kind::FAILURE && bytes[8] & 0x7f > 8 {
        expected[8] &= 0x80;
    }
    assert_eq!(*written, *expected);
}

/// Returns the name of a call: slot and generation.
fn call(message: &[u8]) -> Option<[u8; 7]> {
    message.get(1..8)?.try_into().ok()
}

fn number(message: &[u8]) -> Option<u32> {
    message.get(8..)?.first_chunk().copied().map(u32::from_le_bytes)
}

/// The requests of a client to a server in a single call, or in several calls with a common name.
#[derive(Default)]
struct Asked {
    calls: usize,
    credits: usize,
    granted: u32,
    /// Number of parts that the server has sent for it.
    parts: usize,
    ends: usize,
    /// Number of requests of streams that have come for it.
    requests: u32,
    /// Number of times that the server takes no further requests.
    refusals: usize,
}

fn check_server(messages: Vec<Buf>) {
    let mut asked: HashMap<[u8; 7], Asked> = HashMap::new();
    for message in &messages {
        if Message::decode(Buf::copy_of(message, 0).unwrap()).is_none() {
            continue;
        }
        let asked = asked.entry(call(message).unwrap()).or_default();
        match message[0] & !kind::WITH_METADATA {
            kind::CALL | kind::TRACED_CALL => asked.calls += 1,
            kind::CREDIT => {
                asked.credits += 1;
                asked.granted = asked.granted.max(number(message).unwrap());
            }
            kind::PART => asked.requests += 1,
            _ => {}
        }
    }
    let feed = Feed::on(Stage::new(), messages);
    let sent = feed.sent();
    let connection = Rpc::new().wrap(feed).now_or_never().unwrap().unwrap();
    let served = serve(connection, Numbers).concurrency(8).into_future().now_or_never();
    // The service is dropped at the end of the connection, with the calls that it has not answered.
    served.unwrap().unwrap();
    for message in sent.lock().unwrap().iter() {
        let Some(asked) = asked.get_mut(&call(message).unwrap()) else { panic!("nobody has called") };
        match message[0] & !kind::WITH_METADATA {
            kind::RESPONSE | kind::END | kind::FAILURE => asked.ends += 1,
            kind::PART => {
                asked.parts += 1;
                assert!(number(message).unwrap() < asked.granted.max(WINDOW));
            }
            kind::CREDIT => assert!(number(message).unwrap() <= WINDOW + asked.requests),
            kind::CANCEL => asked.refusals += 1,
            other => panic!("a server sends no message of the kind {other}"),
        }
        assert!(asked.ends <= asked.calls, "a call was answered twice");
        assert!(asked.refusals <= asked.calls, "requests were refused twice");
        // The bound holds for any number that is granted at once.
        assert!(asked.parts <= WINDOW as usize * (asked.calls + asked.credits));
    }
}

fn check_client(messages: Vec<Buf>) {
    let (stage, count) = (Stage::new(), messages.len() as u64);
    let credits = messages.iter().filter(|message| message.first() == Some(&kind::CREDIT)).count();
    let feed = Feed::on(stage.clone(), messages);
    let sent = feed.sent();
    let connection = Rpc::new().wrap(feed).now_or_never().unwrap().unwrap();
    let client = Client::over(Multiplexer::with_limit(connection, 4));
    let mut calls: Vec<_> = (0..2).map(|_| Box::pin(client.call::<u64, u64>(NEXT, &7).response())).collect();
    let mut opening = Box::pin(client.call::<u64, u64>(COUNT, &7).responses());
    // The call's slot is used again, in another generation.
    let given_up = pin!(client.call::<u64, u64>(NEXT, &7).response()).now_or_never();
    assert!(given_up.is_none(), "an answer before anything was received");
    assert!(calls.iter_mut().all(|call| call.as_mut().now_or_never().is_none()));
    let mut responses = opening.as_mut().now_or_never().map(Result::unwrap);
    assert!(responses.is_some(), "a stream is open once its call is queued");
    let numbers = client.call::<u64, u64>(SUM, &7).requests(futures_util::stream::iter(0..1_000));
    let mut sum = Box::pin(numbers.response());
    assert!(sum.as_mut().now_or_never().is_none());
    stage.run();
    let requests = sent.lock().unwrap().iter().filter(|message| message[0] == kind::PART).count();
    assert!(requests <= WINDOW as usize * credits, "{requests} requests by {credits} grants");
    assert!(sum.now_or_never().is_some(), "a call with requests has no outcome");
    // The connection has ended, and so have all calls.
    for call in calls {
        assert!(call.now_or_never().is_some(), "a call has no outcome");
    }
    let mut taken = 0;
    if let Some(responses) = &mut responses {
        while let Some(response) = pin!(responses.next()).now_or_never().unwrap() {
            taken += 1;
            if response.is_err() {
                break;
            }
        }
    }
    assert!(taken <= count + 1, "{taken} responses in {count} messages");
    drop((opening, responses));
    assert_eq!(client.caller().in_flight(), 0);
    stage.clear();
}

/// A service that answers with numbers.
struct Numbers;

impl Service for Numbers {
    type Response = u64;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, u64>, Failure> {
        let number: u64 = decode(&CODEC, request.body())?;
        // The metadata goes back with the outcome.
        for (key, value) in request.metadata().iter() {
            request.context().add_trailer(key, value)?;
        }
        if request.is(NEXT) {
            return Ok(Reply::One(number.wrapping_add(1)));
        }
        if request.is(COUNT) {
            return Ok(Reply::each(futures_util::stream::iter(0..number), |number| number));
        }
        if request.is(SUM) {
            let (mut sum, mut requests) = (number, request.requests::<u64, _>(&CODEC));
            while let Some(number) = requests.next().await {
                sum = sum.wrapping_add(number?);
            }
            return Ok(Reply::One(sum));
        }
        if request.is(WAIT) {
            pending::<()>().await;
        }
        Err(request.unknown())
    }

    fn encode(&self, response: &u64, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        encode(&CODEC, response, into)
    }
}

/// A runtime whose tasks run only by [`run`](Self::run), and whose time stands still.
#[derive(Clone)]
struct Stage {
    start: Instant,
    tasks: Arc<Mutex<Vec<BoxFuture<'static, ()>>>>,
}

impl Stage {
    fn new() -> Self {
        Self { start: Instant::now(), tasks: Arc::default() }
    }

    /// Runs all tasks as far as they go. Everything that could wake a task is on this stage, so a few rounds
    /// are enough.
    fn run(&self) {
        for _ in 0..8 {
            let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap());
            let mut cx = Context::from_waker(Waker::noop());
            tasks.retain_mut(|task| task.as_mut().poll(&mut cx).is_pending());
            self.tasks.lock().unwrap().append(&mut tasks);
        }
    }

    /// Drops the tasks, which hold the connection that holds this runtime.
    fn clear(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap());
        drop(tasks);
    }
}

impl Runtime for Stage {
    type Task = ();

    fn now(&self) -> Instant {
        self.start
    }

    fn sleep_until(&self, _: Instant) -> impl Future<Output = ()> + Send + 'static {
        pending()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.lock().unwrap().push(Box::pin(task));
    }

    fn random(&self) -> u64 {
        0
    }
}
