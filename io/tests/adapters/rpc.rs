//! Calls through layers of tower's.

use bertha_chunnels::Rpc;
use bertha_chunnels::rpc::{
    Answer, Client, Failure, FailureKind, Method, Multiplexer, Postcard, decode, encode, handler, serve,
};
use bertha_core::{Buf, Wrap, make_stack};
use bertha_datapath_sim::pair;
use bertha_io::rpc::{CallService, Ejecting, EncodedCall, EncodedRequest, ServiceCaller, ServiceServer};
use bertha_runtime::tokio::TokioRuntime;
use futures_util::future::{Ready, join_all, ready};
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::balance::p2c::Balance;
use tower::buffer::Buffer;
use tower::discover::ServiceList;
use tower::hedge::Hedge;
use tower::load::{CompleteOnResponse, PendingRequests};
use tower::retry::{Policy, RetryLayer};
use tower::{Service, ServiceBuilder, service_fn};

const DOUBLE: Method = Method::new("double").idempotent();
const SEND: Method = Method::new("send");
const CODEC: Postcard = Postcard;

/// Returns an address that answers with a service of tower, and counts calls. Calls fail if it is `broken`.
async fn address(
    calls: Arc<AtomicUsize>,
    broken: bool,
) -> Multiplexer<impl bertha_core::Connection<Data = bertha_chunnels::rpc::Message>> {
    let (here, there) = pair(TokioRuntime);
    let there = make_stack!(Rpc::new()).wrap(there).await.unwrap();
    let service = service_fn(move |request: EncodedRequest| {
        calls.fetch_add(1, SeqCst);
        ready(answer(&request, broken))
    });
    tokio::spawn(serve(there, ServiceServer::new(service)).into_future());
    Multiplexer::new(make_stack!(Rpc::new()).wrap(here).await.unwrap())
}

fn answer(request: &EncodedRequest, broken: bool) -> Result<Buf, Failure> {
    if broken {
        return Err(Failure::of(FailureKind::Overloaded, "broken"));
    }
    let number: u64 = decode(&CODEC, &request.body)?;
    let mut bytes = [0; 10];
    let written = encode(&CODEC, &(2 * number), &mut bytes)?.unwrap();
    Buf::copy_of(&bytes[..written], 0).map_err(|error| Failure::new(error.to_string()))
}

/// A policy that repeats calls that may be repeated, three times.
#[derive(Clone)]
struct Repeat(usize);

impl Policy<EncodedCall, Answer, Failure> for Repeat {
    type Future = Ready<()>;

    fn retry(&mut self, call: &mut EncodedCall, outcome: &mut Result<Answer, Failure>) -> Option<Ready<()>> {
        let failure = outcome.as_ref().err()?;
        self.0 = self.0.checked_sub(1)?;
        call.may_be_repeated(failure).then(|| ready(()))
    }

    fn clone_request(&mut self, call: &EncodedCall) -> Option<EncodedCall> {
        Some(call.clone())
    }
}

#[tokio::test]
async fn an_address_that_fails_is_passed_over() {
    let counts = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let mut services = Vec::new();
    for (number, count) in counts.iter().enumerate() {
        let calls = CallService::new(address(count.clone(), number == 0).await);
        let ejecting = Ejecting::new(calls, TokioRuntime);
        services.push(PendingRequests::new(ejecting, CompleteOnResponse::default()));
    }
    let balance = Balance::<_, EncodedCall>::new(ServiceList::new(services));
    let client = Client::over(ServiceCaller::new(Buffer::new(balance, 1024)));
    let outcomes = join_all((0..100_u64).map(|number| {
        let client = client.clone();
        async move {
            client.call::<u64, u64>(DOUBLE, &number).await.map(|doubled| assert_eq!(doubled, 2 * number))
        }
    }))
    .await;
    let before = counts[0].load(SeqCst);
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), before);
    for number in 0..200_u64 {
        assert_eq!(client.call::<u64, u64>(DOUBLE, &number).await.ok().unwrap_or(2 * number), 2 * number);
    }
    // There are at least five failures, and none while the address is out, for half a second.
    assert!(before >= 5 || counts[0].load(SeqCst) >= 5, "{counts:?}");
    let before = counts[0].load(SeqCst);
    for number in 0..100_u64 {
        assert_eq!(client.call::<u64, u64>(DOUBLE, &number).await.unwrap(), 2 * number);
    }
    assert_eq!(counts[0].load(SeqCst), before);
    assert!(counts[1].load(SeqCst) > 50 && counts[2].load(SeqCst) > 50, "{counts:?}");
}

/// A service that fails some calls as a lost connection does, after they have run.
#[derive(Clone)]
struct Losing<S> {
    service: S,
    left: Arc<AtomicUsize>,
}

impl<S: Service<EncodedCall, Response = Answer, Error = Failure, Future: Send + 'static>> Service<EncodedCall>
    for Losing<S>
{
    type Response = Answer;
    type Error = Failure;
    type Future = bertha_core::BoxFuture<'static, Result<Answer, Failure>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, call: EncodedCall) -> Self::Future {
        let (calling, left) = (self.service.call(call), self.left.clone());
        Box::pin(async move {
            let answer = calling.await?;
            match left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Err(Failure::of(FailureKind::TimedOut, "lost")),
                Err(_) => Ok(answer),
            }
        })
    }
}

#[tokio::test]
async fn only_an_idempotent_call_is_repeated_if_it_may_have_run() {
    for (method, lost, expected, runs) in
        [(DOUBLE, 2, Ok(10), 3), (SEND, 2, Err(FailureKind::TimedOut), 1), (SEND, 0, Ok(10), 1)]
    {
        let count = Arc::new(AtomicUsize::new(0));
        let service = CallService::new(address(count.clone(), false).await);
        let service = Losing { service, left: Arc::new(AtomicUsize::new(lost)) };
        let service = ServiceBuilder::new().layer(RetryLayer::new(Repeat(3))).service(service);
        let client = Client::over(ServiceCaller::new(service));
        let outcome = client.call::<u64, u64>(method, &5).await;
        assert_eq!((outcome.map_err(|failure| failure.kind()), count.load(SeqCst)), (expected, runs));
    }
}

/// A service that never answers its first call, and records when that call is dropped.
#[derive(Clone)]
struct Stalling<S> {
    service: S,
    calls: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl<S: Service<EncodedCall, Response = Answer, Error = Failure, Future: Send + 'static>> Service<EncodedCall>
    for Stalling<S>
{
    type Response = Answer;
    type Error = Failure;
    type Future = bertha_core::BoxFuture<'static, Result<Answer, Failure>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, call: EncodedCall) -> Self::Future {
        if self.calls.fetch_add(1, SeqCst) > 0 {
            return Box::pin(self.service.call(call));
        }
        let counted = CountedDrop(self.dropped.clone());
        let waited = call.deadline();
        Box::pin(async move {
            let _counted = counted;
            match waited {
                Some(time) => tokio::time::sleep(time).await,
                None => pending().await,
            }
            Err(Failure::of(FailureKind::TimedOut, "stalled"))
        })
    }
}

/// Three calls at a time are one too many for two places.
#[tokio::test]
async fn a_service_without_room_is_not_ready_and_becomes_ready() {
    let (here, there) = pair(TokioRuntime);
    let there = make_stack!(Rpc::new()).wrap(there).await.unwrap();
    let (release, released) = tokio::sync::watch::channel(false);
    let double = handler(DOUBLE, move |number: u64| {
        let mut released = released.clone();
        async move {
            released.wait_for(|it| *it).await.unwrap();
            Ok(2 * number)
        }
    });
    tokio::spawn(serve(there, double).into_future());
    let calls = Multiplexer::with_limit(make_stack!(Rpc::new()).wrap(here).await.unwrap(), 2);
    let mut service = CallService::new(calls.clone());
    let client = Client::over(ServiceCaller::new(service.clone()).deadlines(TokioRuntime));
    let call = |number: u64| {
        let client = client.clone();
        tokio::spawn(async move { client.call::<u64, u64>(DOUBLE, &number).await })
    };
    assert!(poll_fn(|cx| Poll::Ready(service.poll_ready(cx).is_ready())).await);
    let under_way = [call(1), call(2)];
    while calls.in_flight() < 2 {
        tokio::task::yield_now().await;
    }
    assert!(poll_fn(|cx| Poll::Ready(service.poll_ready(cx).is_pending())).await);
    // The deadline holds while the service is not ready, and the call did not run.
    let late = client.call::<u64, u64>(DOUBLE, &3).deadline(Duration::from_millis(5)).await.unwrap_err();
    assert_eq!((late.kind(), late.may_have_run()), (FailureKind::TimedOut, false));
    let waiting = call(4);
    release.send_replace(true);
    poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
    for (call, expected) in under_way.into_iter().chain([waiting]).zip([2, 4, 8]) {
        assert_eq!(call.await.unwrap().unwrap(), expected);
    }
}

struct CountedDrop(Arc<AtomicUsize>);

impl Drop for CountedDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A policy that hedges calls that may run twice.
#[derive(Clone)]
struct Idempotent;

impl tower::hedge::Policy<EncodedCall> for Idempotent {
    fn clone_request(&self, call: &EncodedCall) -> Option<EncodedCall> {
        call.method().is_idempotent().then(|| call.clone())
    }

    fn can_retry(&self, _: &EncodedCall) -> bool {
        true
    }
}

#[tokio::test]
async fn only_an_idempotent_call_is_hedged_and_the_slower_one_is_dropped() {
    for (method, expected, calls) in [(DOUBLE, Ok(10), 2), (SEND, Err(FailureKind::TimedOut), 1)] {
        let (runs, made, dropped) = <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let service = CallService::new(address(runs.clone(), false).await);
        let service = Stalling { service, calls: made.clone(), dropped: dropped.clone() };
        let measured = [1; 20];
        let hedge =
            Hedge::new_with_mock_latencies(service, Idempotent, 10, 0.9, Duration::from_secs(60), &measured);
        let client = Client::over(ServiceCaller::new(Buffer::new(hedge, 8)));
        let deadline = (method == SEND).then_some(Duration::from_millis(50));
        let mut call = client.call::<u64, u64>(method, &5);
        if let Some(deadline) = deadline {
            call = call.deadline(deadline);
        }
        assert_eq!(call.await.map_err(|failure| failure.kind()), expected, "{method:?}");
        assert_eq!((made.load(SeqCst), dropped.load(SeqCst)), (calls, 1), "{method:?}");
        assert_eq!(runs.load(SeqCst), calls - 1, "{method:?}");
    }
}
