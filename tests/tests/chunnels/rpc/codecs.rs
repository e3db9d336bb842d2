//! Ends whose calls have different codecs, and ends of which one has its calls as bytes.

use crate::rpc::service::{End, ends};
use bertha_chunnels::rpc::{
    Bincode, Caller, Client, Encode, Failure, Json, Metadata, Method, Multiplexer, Reply, Request,
    ResponseParts, Service, handler, serve,
};
use bertha_chunnels::serialize::Encoding;
use bertha_chunnels::{Cbor, MessagePack, Reliable, Rpc};
use bertha_core::{ErrorKind, Runtime, make_stack};
use bertha_datapath_sim::Sim;
use bertha_negotiation::Negotiate;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use std::future::poll_fn;

const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 4242);

#[test]
fn ends_with_different_codecs_do_not_agree() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let stack = |rpc| make_stack!(rpc, Reliable::new());
        let codec: Bincode = Bincode;
        let binary = || Rpc::new().codec(&codec);
        let mut incoming = stack(binary()).listen(network.host(SERVER.0), SERVER).await.unwrap();
        let serving = async move {
            let mut accepted = Vec::new();
            loop {
                accepted.push(incoming.next_or_refusal().await);
            }
        };
        let _server = network.runtime().spawn(serving);
        let client = network.host([10, 0, 0, 1]);
        for (rpc, name) in [
            (Rpc::new(), "postcard"),
            (Rpc::new().codec(&Cbor), "cbor"),
            (Rpc::new().codec(&Json), "json"),
            (Rpc::new().encoding(Encoding::named("mine")), "mine"),
        ] {
            let refused = stack(rpc).connect(client.clone(), SERVER).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Refused);
            let reason = format!("codec of calls: the server has bincode, the client {name}");
            assert!(refused.to_string().contains(&reason), "{refused}");
        }
        stack(binary()).connect(client.clone(), SERVER).await.unwrap();
        // An end may know the codec by its parts alone.
        let named = Rpc::new().encoding(Encoding::of::<(), _>(&codec));
        stack(named).connect(client, SERVER).await.unwrap();
    });
}

const LENGTH: Method = Method::new("length");
const LETTERS: Method = Method::new("letters");

#[derive(Debug, Serialize, Deserialize)]
struct Asked {
    text: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Told {
    letters: u64,
}

/// Runs `test` with a connection of a client, while `service` answers it.
fn with_service<S: Service>(service: S, test: impl AsyncFnOnce(End)) {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let [client, server] = ends(&network).await;
        let serving = async move { drop(serve(server, service).await) };
        let _server = network.runtime().spawn(serving);
        test(client).await;
    });
}

#[test]
fn a_client_of_bytes_calls_a_typed_service() {
    let length = || handler(LENGTH, async |Asked { text }| Ok(Told { letters: text.len() as u64 }));
    let ask = async |connection: End, request: &[u8], expected: &[u8]| {
        let caller = Multiplexer::new(connection);
        let method = Method::named(&["len", "gth"].concat());
        let answer = caller.ask(method, None, &Metadata::new(), request).await.unwrap();
        assert_eq!(*answer.response, *expected);
        let malformed = caller.ask(method, None, &Metadata::new(), &b"\xff"[..]).await.unwrap_err();
        assert!(malformed.text().contains("another type"), "{malformed}");
    };
    with_service(length().codec(Cbor), async |connection| {
        ask(connection, b"\xa1\x64text\x65hello", b"\xa1\x67letters\x05").await;
    });
    with_service(length().codec(MessagePack), async |connection| {
        ask(connection, b"\x81\xa4text\xa5hello", b"\x81\xa7letters\x05").await;
    });
    with_service(length().codec(Json), async |connection| {
        ask(connection, br#"{"text": "hello"}"#, br#"{"letters":5}"#).await;
    });
}

/// Answers encoded requests by encoded responses: the last byte of a request, once or as often as it says.
struct OfBytes;

impl Service for OfBytes {
    type Response = Vec<u8>;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, Vec<u8>>, Failure> {
        if !request.is(Method::named("length")) && !request.is(Method::named("letters")) {
            return Err(request.unknown());
        }
        let is_stream = request.is(Method::named("letters"));
        let body = request.into_body();
        let letters = *body.last().unwrap_or(&0);
        let told = [b"\xa1\x67letters", &[letters][..]].concat();
        if is_stream {
            let responses = stream::iter(std::iter::repeat_n(told, letters.into()));
            return Ok(Reply::each(responses, |response| response));
        }
        Ok(Reply::One(told))
    }

    fn encode(&self, response: &Vec<u8>, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        response.as_slice().encode(into)
    }
}

#[test]
fn a_typed_client_calls_a_service_of_bytes() {
    with_service(OfBytes, async |connection| {
        let client = Client::new(connection).codec(Cbor);
        let told: Told = client.call(LENGTH, &vec![9, 7]).await.unwrap();
        assert_eq!(told, Told { letters: 7 });
        let responses = client.call::<_, Told>(LETTERS, &vec![3]).responses().await.unwrap();
        let told: Vec<_> = responses.map(Result::unwrap).collect().await;
        assert_eq!(told, [Told { letters: 3 }, Told { letters: 3 }, Told { letters: 3 }]);
        let unknown = client.call::<_, Told>(Method::new("other"), &1).await.unwrap_err();
        assert!(unknown.to_string().contains("no method"), "{unknown}");
    });
    // The same as bytes.
    with_service(OfBytes, async |connection| {
        let caller = Multiplexer::new(connection);
        let method = Method::named("letters");
        let mut parts = caller.open(method, None, &Metadata::new(), &[2][..]).await.unwrap();
        let mut count = 0;
        while let Some(part) = poll_fn(|cx| parts.poll_part(cx)).await {
            assert_eq!(*part.unwrap(), *b"\xa1\x67letters\x02");
            count += 1;
        }
        assert_eq!(count, 2);
    });
}
