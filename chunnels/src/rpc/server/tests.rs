//! A service that panics, that answers with a lot, and clients that do not read.

mod counts;
mod partial;
mod requests;

use super::{Reply, Request, ServedCalls, Service, serve};
use crate::Rpc;
use crate::rpc::message::{CallId, Content};
use crate::rpc::{
    Caller, Client, Encode, Failure, FailureKind, Message, Metadata, Method, Multiplexer, ResponseParts,
    RpcConnection,
};
use bertha_core::{Buf, Connection, Runtime, Wrap};
use bertha_datapath_sim::{PairConnection, Sim, SimRuntime, pair, pair_of};
use futures_util::future::{Either, join_all, select};
use futures_util::{StreamExt, stream};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Answers with as many bytes as the request says.
const LENGTH: Method = Method::new("length");
/// Answers without an end, each time with as many bytes as the request says.
const STREAM: Method = Method::new("stream");
/// Never answers.
const NEVER: Method = Method::new("never");
/// Answers after a while.
const SLOWLY: Method = Method::new("slowly");
/// Panics while the future is made, in the future, in a stream, while the response is encoded, and when the future is dropped.
const PANICS: [Method; 5] = [
    Method::new("at once"),
    Method::new("later"),
    Method::new("in the stream"),
    Method::new("in the codec"),
    Method::new("at its end"),
];

/// The longest queue of a pair.
const QUEUE: usize = 1024;

#[derive(Clone)]
struct Lengths {
    runtime: SimRuntime,
    made: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    /// The most that ran at a time.
    most: Arc<AtomicUsize>,
}

impl Lengths {
    fn new(runtime: SimRuntime) -> Self {
        let (made, running, most) = Default::default();
        Self { runtime, made, running, most }
    }
}

struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

struct PanicsAtItsEnd;

impl Drop for PanicsAtItsEnd {
    fn drop(&mut self) {
        panic!("at its end");
    }
}

/// The length that makes the codec panic.
const UNLUCKY: usize = 13;

impl Service for Lengths {
    type Response = Vec<u8>;

    fn call(&self, request: Request<'_>) -> impl Future<Output = Result<Reply<'_, Vec<u8>>, Failure>> + Send {
        assert!(!request.is(PANICS[0]), "at once");
        async move {
            let running = Running(self.running.clone());
            self.most.fetch_max(self.running.fetch_add(1, SeqCst) + 1, SeqCst);
            let length = request.body().first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
            let response = move || {
                self.made.fetch_add(1, SeqCst);
                vec![7; length]
            };
            if request.is(NEVER) {
                std::future::pending::<()>().await;
            }
            if request.is(SLOWLY) {
                self.runtime.sleep_until(self.runtime.now() + 10 * MS).await;
            }
            if request.is(STREAM) {
                let responses = stream::repeat_with(move || {
                    let _ = &running;
                    Ok(response())
                });
                return Ok(Reply::Several(responses.boxed()));
            }
            assert!(!request.is(PANICS[1]), "later");
            if request.is(PANICS[2]) {
                let responses = stream::iter(0..).map(|at| {
                    assert!(at < 2, "in the stream");
                    Ok(vec![at])
                });
                return Ok(Reply::Several(responses.boxed()));
            }
            if request.is(PANICS[3]) {
                return Ok(Reply::One(vec![0; UNLUCKY]));
            }
            if request.is(PANICS[4]) {
                let _end = PanicsAtItsEnd;
                std::future::pending::<()>().await;
            }
            Ok(Reply::One(response()))
        }
    }

    fn encode(&self, response: &Vec<u8>, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        assert_ne!(response.len(), UNLUCKY, "in the codec");
        response.as_slice().encode(into)
    }
}

fn call(slot: u32, method: Method, length: u32, milliseconds: u32) -> Message {
    let content = Content::Call { method: method.id(), milliseconds, is_traced: false };
    let body = Buf::copy_of(&length.to_le_bytes(), 64).unwrap();
    Message { call: CallId { slot, generation: 0 }, content, has_metadata: false, body: Some(body) }
}

fn signal(slot: u32, content: Content) -> Message {
    Message::signal(CallId { slot, generation: 0 }, content)
}

/// Runs `test` with the service and a connection to it whose messages the test makes itself.
fn with_raw_client(test: impl AsyncFnOnce(&Lengths, &PairConnection<SimRuntime, Message>)) {
    let mut sim = Sim::new(3);
    let runtime = sim.runtime();
    sim.run(async {
        let (here, there) = pair_of(runtime.clone());
        let service = Lengths::new(runtime.clone());
        let serving = serve(there, service.clone()).into_future();
        let _server = runtime.spawn(async move { serving.await.unwrap() });
        test(&service, &here).await;
    });
}

/// Runs `test` with a client of the service.
fn with_client(
    concurrency: Option<usize>,
    test: impl AsyncFnOnce(&Lengths, &Client<Multiplexer<RpcConnection<PairConnection<SimRuntime>>>>),
) {
    let mut sim = Sim::new(4);
    let runtime = sim.runtime();
    sim.run(async {
        let (here, there) = pair(runtime.clone());
        let (here, there) = (Rpc::new().wrap(here).await.unwrap(), Rpc::new().wrap(there).await.unwrap());
        let service = Lengths::new(runtime.clone());
        let serving = serve(there, service.clone());
        let serving = match concurrency {
            Some(calls) => serving.concurrency(calls),
            None => serving,
        };
        let serving = serving.into_future();
        let _server = runtime.spawn(async move { serving.await.unwrap() });
        test(&service, &Client::new(here)).await;
    });
}

async fn ask(
    caller: &impl Caller,
    method: Method,
    length: u32,
    deadline: Option<Duration>,
) -> Result<Buf, Failure> {
    caller
        .ask(method, deadline, &Metadata::new(), &length.to_le_bytes()[..])
        .await
        .map(|answer| answer.response)
}

#[test]
fn streams_that_begin_together_are_sent_as_they_grow() {
    with_raw_client(async |service, client| {
        client.send_batch((0..64).map(|slot| call(slot, STREAM, 60_000, 0))).await.unwrap();
        service.runtime.sleep_until(service.runtime.now() + 100 * MS).await;
        // A burst of 256 KiB is under way, the next one waits, and the client has read nothing.
        let made = service.made.load(SeqCst);
        assert!((QUEUE..=QUEUE + 12).contains(&made), "{made}");
    });
}

#[test]
fn streams_take_turns() {
    with_raw_client(async |_, client| {
        client.send_batch((0..3).map(|slot| call(slot, STREAM, 60_000, 0))).await.unwrap();
        let mut first = Vec::new();
        for _ in 0..9 {
            first.push(client.recv().await.unwrap().call.slot);
        }
        assert!((0..3).all(|slot| first.iter().filter(|of| **of == slot).count() == 3), "{first:?}");
    });
}

#[test]
fn deadlines_and_cancellations_are_heard_while_the_client_does_not_read() {
    with_raw_client(async |service, client| {
        let running = || service.running.load(SeqCst);
        let pause = async |time| service.runtime.sleep_until(service.runtime.now() + time).await;
        let calls = [call(0, NEVER, 0, 0), call(1, NEVER, 0, 200)];
        client
            .send_batch(calls.into_iter().chain((10..50).map(|slot| call(slot, STREAM, 10, 0))))
            .await
            .unwrap();
        pause(100 * MS).await;
        assert_eq!(running(), 42);
        assert!((QUEUE..40 * 64).contains(&service.made.load(SeqCst)));
        client.send(signal(0, Content::Cancel)).await.unwrap();
        client.send_batch((10..20).map(|slot| signal(slot, Content::Cancel))).await.unwrap();
        pause(MS).await;
        assert_eq!(running(), 31);
        pause(200 * MS).await;
        assert_eq!(running(), 30);
        // Neither a call that is cancelled nor one whose deadline passes before its turn runs later.
        client.send_batch([call(70, NEVER, 0, 0), call(71, NEVER, 0, 50)].into_iter()).await.unwrap();
        client
            .send_batch(
                [signal(70, Content::Cancel), call(72, NEVER, 0, 0), call(72, NEVER, 0, 0)].into_iter(),
            )
            .await
            .unwrap();
        pause(100 * MS).await;
        // A call begins, and the client gets all that waits once it reads.
        client.send(call(60, LENGTH, 5, 0)).await.unwrap();
        loop {
            let message = client.recv().await.unwrap();
            if message.call.slot == 60 {
                assert_eq!(message.body().len(), 5);
                break;
            }
        }
        assert_eq!(running(), 31, "the streams, and one call of two with the same number");
    });
}

/// A client that makes calls and never reads an answer takes a bounded number of messages from its server.
#[test]
fn refusals_that_nobody_reads_are_bounded() {
    with_raw_client(async |service, client| {
        let mut sent = 0_usize;
        let sending = async {
            for slot in 0..20_000 {
                client.send(call(slot, NEVER, 0, 0)).await.unwrap();
                sent += 1;
            }
        };
        let pause = service.runtime.sleep_until(service.runtime.now() + 1_000 * MS);
        select(std::pin::pin!(sending), std::pin::pin!(pause)).await;
        assert!(sent < 5_000, "{sent}");
        assert_eq!(service.running.load(SeqCst), 1024);
        // Each of the others is refused once the client reads.
        let refused = async {
            let mut refused = 0_usize;
            while refused < sent.saturating_sub(1024) {
                assert!(matches!(client.recv().await.unwrap().content, Content::Full { calls: 1024 }));
                refused += 1;
            }
            refused
        };
        let pause = service.runtime.sleep_until(service.runtime.now() + 1_000 * MS);
        let refused = std::pin::pin!(refused);
        let pause = std::pin::pin!(pause);
        assert!(matches!(select(refused, pause).await, Either::Left(_)));
    });
}

#[test]
fn a_panic_fails_its_own_call_alone() {
    with_client(None, async |service, client| {
        let client = client.caller();
        let slow = join_all([ask(client, SLOWLY, 3, None), ask(client, SLOWLY, 4, None)]);
        let panicking = async {
            for method in &PANICS[..4] {
                let failure = match *method {
                    in_stream if in_stream == PANICS[2] => {
                        let mut parts =
                            client.open(in_stream, None, &Metadata::new(), &[][..]).await.unwrap();
                        let mut next = async || poll_fn(|cx| parts.poll_part(cx)).await;
                        assert_eq!(next().await.unwrap().unwrap().len(), 1);
                        assert_eq!(next().await.unwrap().unwrap().len(), 1);
                        next().await.unwrap().unwrap_err()
                    }
                    method => ask(client, method, 0, None).await.unwrap_err(),
                };
                assert_eq!(
                    (failure.kind(), failure.may_have_run()),
                    (FailureKind::Failed, true),
                    "{method:?}"
                );
                assert_eq!(failure.text(), "the service has panicked");
            }
            // Its handler is dropped at the deadline.
            let failure = ask(client, PANICS[4], 0, Some(5 * MS)).await.unwrap_err();
            assert_eq!(failure.kind(), FailureKind::TimedOut);
        };
        let (slow, ()) = futures_util::join!(slow, panicking);
        assert_eq!(slow.into_iter().map(|answer| answer.unwrap().len()).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(ask(client, LENGTH, 6, None).await.unwrap().len(), 6);
        assert_eq!(service.running.load(SeqCst), 0);
    });
}

#[test]
fn a_call_may_have_run_whose_response_is_too_large() {
    with_client(None, async |_, client| {
        let failure = ask(client.caller(), LENGTH, 100_000, None).await.unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::TooLarge, true));
        let request = vec![0; 100_000];
        let failure =
            client.caller().ask(LENGTH, None, &Metadata::new(), request.as_slice()).await.unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::TooLarge, false));
    });
}

#[test]
fn ten_thousand_calls_at_once_wait_for_room() {
    with_client(None, async |service, client| {
        let outcomes = join_all((0..10_000).map(|_| ask(client.caller(), SLOWLY, 1, None))).await;
        assert!(outcomes.iter().all(Result::is_ok));
        assert_eq!(service.most.load(SeqCst), 1024);
    });
}

#[test]
fn a_client_keeps_to_the_smaller_limit_of_its_server() {
    with_client(Some(10), async |service, client| {
        let outcomes = join_all((0..1_000).map(|_| ask(client.caller(), SLOWLY, 1, None))).await;
        assert!(outcomes.iter().all(Result::is_ok));
        assert_eq!((service.most.load(SeqCst), service.made.load(SeqCst)), (10, 1_000));
        assert_eq!(client.caller().in_flight(), 0);
    });
}

#[test]
fn a_call_that_has_no_room_before_its_deadline_did_not_run() {
    with_client(Some(1), async |service, client| {
        let client = client.caller();
        let never = ask(client, NEVER, 0, Some(300 * MS));
        let late = async {
            service.runtime.sleep_until(service.runtime.now() + MS).await;
            ask(client, LENGTH, 1, Some(100 * MS)).await.unwrap_err()
        };
        let (never, late) = futures_util::join!(never, late);
        assert_eq!((late.kind(), late.may_have_run()), (FailureKind::TimedOut, false));
        assert!(never.unwrap_err().may_have_run());
        assert_eq!(ask(client, LENGTH, 1, None).await.unwrap().len(), 1);
    });
}
