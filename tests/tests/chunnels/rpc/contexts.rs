//! Handlers that see their caller and its metadata, and give metadata back.

use crate::rpc::service::{End, SecuredEnd, ends, ends_with_tls};
use bertha_chunnels::rpc::{
    Caller, Client, Context, Failure, FailureKind, Message, Metadata, Method, Multiplexer, Postcard, Reply,
    Request, Serve, Service, encode, handler_with_context, serve,
};
use bertha_core::{Base, Connection, PeerIdentity, Runtime, forward};
use bertha_datapath_sim::{Network, Sim};
use futures_util::stream::{StreamExt, iter};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CODEC: Postcard = Postcard;
const MS: Duration = Duration::from_millis(1);

/// Answers with the number, and gives the metadata of the caller back.
const ECHO: Method = Method::new("echo");
/// Counts to the number, and gives the metadata back at the end.
const COUNT: Method = Method::new("count");
/// Denies the call, and gives the metadata back.
const DENY: Method = Method::new("deny");
/// Counts to two, and fails then.
const BREAK: Method = Method::new("break");
/// Gives much metadata back, and answers, ends a stream, or fails by the number.
const MUCH: Method = Method::new("much");
/// Never answers.
const NEVER: Method = Method::new("never");

/// Gives metadata back, and keeps the contexts of its calls.
#[derive(Clone, Default)]
struct Returning {
    contexts: Arc<Mutex<Vec<Context>>>,
}

impl Returning {
    fn last(&self) -> Context {
        self.contexts.lock().unwrap().last().unwrap().clone()
    }
}

impl Service for Returning {
    type Response = u64;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, u64>, Failure> {
        let context = request.context();
        self.contexts.lock().unwrap().push(context.clone());
        assert_eq!(request.metadata(), request.context().metadata());
        for (key, value) in context.metadata().iter() {
            context.add_trailer(key, value)?;
        }
        let number = request.decode(&CODEC)?;
        if request.is(ECHO) {
            return Ok(Reply::One(number));
        }
        if request.is(COUNT) {
            // A response before the last adds to the trailers, too.
            let numbers = iter(0..number).map(move |at| context.add_trailer("at", [at as u8]).map(|()| at));
            return Ok(Reply::each_until(numbers, |number| number));
        }
        if request.is(BREAK) {
            let numbers = iter([Ok(0), Ok(1), Err(Failure::of(FailureKind::Denied, "no more"))]);
            return Ok(Reply::Several(numbers.boxed()));
        }
        if request.is(MUCH) {
            context.add_trailer("much", [7; 4_000])?;
            return match number {
                0 => Ok(Reply::One(0)),
                1 => Ok(Reply::Several(iter([]).boxed())),
                _ => Err(Failure::new("as it was told")),
            };
        }
        if request.is(NEVER) {
            std::future::pending::<()>().await;
        }
        Err(Failure::of(FailureKind::Denied, "nobody may"))
    }

    fn encode(&self, response: &u64, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        encode(&CODEC, response, into)
    }
}

/// A connection with small messages.
struct Narrow(End);

impl Connection for Narrow {
    type Data = Message;
    type Base = <End as Connection>::Base;

    forward!(self.0 => base, send, recv, send_batch, recv_batch, drain, close);

    fn mtu(&self) -> usize {
        2_000
    }
}

type Calling<C> = Client<Multiplexer<C>>;

/// Runs `test` with a client of the service, over a connection that `ends` makes.
fn with_ends<C: Connection<Data = Message>>(
    ends: impl AsyncFnOnce(&Network) -> [C; 2],
    change: impl FnOnce(Serve<C, Returning>) -> Serve<C, Returning>,
    test: impl AsyncFnOnce(&Calling<C>, &Returning, &Network),
) {
    let mut sim = Sim::new(17);
    let network = sim.network().clone();
    sim.run(async {
        let [here, there] = ends(&network).await;
        let service = Returning::default();
        let serving = change(serve(there, service.clone())).into_future();
        let _server = network.runtime().spawn(async move { serving.await.unwrap() });
        test(&Client::new(here), &service, &network).await;
    });
}

fn with_server(test: impl AsyncFnOnce(&Calling<End>, &Returning, &Network)) {
    with_ends(async |network| ends(network).await, |serving| serving, test);
}

fn entries(metadata: &Metadata) -> Vec<(&str, &[u8])> {
    metadata.iter().collect()
}

#[test]
fn metadata_goes_with_a_call_and_back_with_each_kind_of_outcome() {
    with_server(async |client, service, _| {
        let client = client.clone().metadata("token", "secret");
        let expected = [("token", &b"secret"[..]), ("trace-id", &[0, 255][..])];
        let call = client.call::<u64, u64>(ECHO, &7).metadata("trace-id", [0, 255]);
        let (number, trailers) = call.response_and_trailers().await.unwrap();
        assert_eq!((number, entries(&trailers)), (7, expected.to_vec()));
        assert_eq!(entries(service.last().metadata()), expected);
        // The entry of a call is that of the call alone.
        let (_, trailers) = client.call::<u64, u64>(ECHO, &7).response_and_trailers().await.unwrap();
        assert_eq!(entries(&trailers), expected[..1]);

        let failure = client.call::<u64, u64>(DENY, &7).metadata("trace-id", [0, 255]).await.unwrap_err();
        assert_eq!((failure.kind(), failure.text()), (FailureKind::Denied, "nobody may"));
        assert_eq!(entries(failure.trailers()), expected);

        let mut numbers = client.call::<u64, u64>(COUNT, &2).responses().await.unwrap();
        for number in 0..2 {
            assert_eq!(numbers.next().await.unwrap().unwrap(), number);
            assert!(numbers.trailers().is_empty(), "before the end");
        }
        assert!(numbers.next().await.is_none());
        assert_eq!(entries(numbers.trailers()), [expected[0], ("at", &[0]), ("at", &[1])]);

        let mut numbers = client.call::<u64, u64>(BREAK, &2).responses().await.unwrap();
        let failure = loop {
            if let Err(failure) = numbers.next().await.unwrap() {
                break failure;
            }
        };
        assert_eq!((failure.kind(), failure.text()), (FailureKind::Denied, "no more"));
        assert_eq!(entries(failure.trailers()), expected[..1]);
    });
}

#[test]
fn a_call_without_metadata_has_none() {
    with_server(async |client, service, _| {
        let (_, trailers) = client.call::<u64, u64>(ECHO, &7).response_and_trailers().await.unwrap();
        assert!(trailers.is_empty() && service.last().metadata().is_empty());
        assert!(service.last().deadline().is_none());
    });
}

#[test]
fn an_entry_beyond_a_limit_fails_the_call_before_it_is_sent() {
    with_server(async |client, service, _| {
        for (key, length, kind) in
            [("k", Metadata::MAX_BYTES, FailureKind::TooLarge), ("Key", 0, FailureKind::Malformed)]
        {
            let value = vec![0; length];
            let failure = client.call::<u64, u64>(ECHO, &7).metadata(key, &value).await.unwrap_err();
            assert_eq!((failure.kind(), failure.may_have_run()), (kind, false));
            // The failure stays, whatever is added behind it.
            let client = client.clone().metadata(key, &value).metadata("k", "v");
            let failure = client.call::<u64, u64>(COUNT, &7).responses().await.unwrap_err();
            assert_eq!((failure.kind(), failure.may_have_run()), (kind, false));
        }
        assert!(service.contexts.lock().unwrap().is_empty());
    });
}

/// Trailers that make an answer larger than a message fail the call, and a failure goes without them.
#[test]
fn trailers_that_fit_into_no_message_fail_the_call() {
    let ends = async |network: &Network| ends(network).await.map(Narrow);
    with_ends(
        ends,
        |serving| serving,
        async |client, _, _| {
            assert!(client.caller().connection().mtu() < 4_000);
            for (number, kind) in [(0, FailureKind::TooLarge), (2, FailureKind::Failed)] {
                let failure = client.call::<u64, u64>(MUCH, &number).await.unwrap_err();
                assert_eq!((failure.kind(), failure.may_have_run()), (kind, true));
                assert!(failure.trailers().is_empty());
            }
            let mut none = client.call::<u64, u64>(MUCH, &1).responses().await.unwrap();
            assert_eq!(none.next().await.unwrap().unwrap_err().kind(), FailureKind::TooLarge);
        },
    );
}

#[test]
fn the_context_has_the_deadline_and_the_address_and_calls_that_are_given_up_leave_nothing() {
    with_server(async |client, service, network| {
        let now = network.runtime().now();
        let call = client.call::<u64, u64>(NEVER, &7).metadata("k", "v").deadline(50 * MS);
        let failure = call.await.unwrap_err();
        assert_eq!((failure.kind(), failure.trailers().is_empty()), (FailureKind::TimedOut, true));
        let context = service.last();
        let left = context.deadline().unwrap() - now;
        assert!((50 * MS..80 * MS).contains(&left), "{left:?}");
        assert!(context.peer().is_none());
        assert_eq!(*context.peer_addr(), client.caller().connection().base().local_addr());
        let given_up = client.clone();
        let call = network.runtime().spawn(async move {
            let _ = given_up.call::<u64, u64>(NEVER, &7).await;
        });
        network.runtime().sleep(20 * MS).await;
        drop((context, call));
        network.runtime().sleep(20 * MS).await;
        // The service alone holds them.
        let contexts = std::mem::take(&mut *service.contexts.lock().unwrap());
        assert_eq!(contexts.len(), 2);
        for context in contexts {
            context.add_trailer("late", "nobody gets it").unwrap();
        }
        let (_, trailers) = client.call::<u64, u64>(ECHO, &7).response_and_trailers().await.unwrap();
        assert!(trailers.is_empty());
    });
}

#[test]
fn the_identity_of_the_peer_is_that_of_the_connection_or_the_one_that_the_server_names() {
    let named = PeerIdentity::NoiseKey([7; 32]);
    let expected = named.clone();
    with_ends(
        async |network| ends(network).await,
        |serving| serving.peer(named),
        async |client, service, _| {
            client.call::<u64, u64>(ECHO, &7).await.unwrap();
            assert_eq!(service.last().peer(), Some(&expected));
        },
    );
}

/// The single Chunnel for calls and TLS writes metadata as the two Chunnels do.
#[test]
fn metadata_goes_over_tls_by_one_chunnel_or_two() {
    for seed in 0..4 {
        with_ends(
            async |network| ends_with_tls(network, seed).await,
            |serving| serving,
            async |client: &Calling<SecuredEnd>, _, _| {
                let client = client.clone().metadata("token", "secret");
                let call = client.call::<u64, u64>(ECHO, &7).response_and_trailers().await.unwrap();
                assert_eq!(entries(&call.1), [("token", &b"secret"[..])]);
                let failure = client.call::<u64, u64>(DENY, &7).await.unwrap_err();
                assert_eq!(entries(failure.trailers()), [("token", &b"secret"[..])]);
            },
        );
    }
}

#[test]
fn a_function_gets_the_context() {
    let mut sim = Sim::new(18);
    let network = sim.network().clone();
    sim.run(async {
        let [here, there] = ends(&network).await;
        let answer = async |context: Context, number: u64| {
            context.add_trailer("seen", context.metadata().get("token").unwrap_or_default())?;
            Ok(2 * number)
        };
        let serving = serve(there, handler_with_context(ECHO, answer)).into_future();
        let _server = network.runtime().spawn(async move { serving.await.unwrap() });
        let client = Client::new(here);
        let call = client.call::<u64, u64>(ECHO, &7).metadata("token", "secret");
        let (doubled, trailers) = call.response_and_trailers().await.unwrap();
        assert_eq!((doubled, entries(&trailers)), (14, vec![("seen", &b"secret"[..])]));
        let unknown = client.call::<u64, u64>(DENY, &7).await.unwrap_err();
        assert_eq!(unknown.kind(), FailureKind::UnknownMethod);
        let raw = client.caller().ask(ECHO, None, &Metadata::new(), &[][..]).await.unwrap_err();
        assert_eq!((raw.kind(), raw.may_have_run()), (FailureKind::Malformed, false));
    });
}
