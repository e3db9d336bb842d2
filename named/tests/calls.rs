//! Calls over datapaths and stacks by name.

#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha::ErrorKind;
use bertha::chunnels::Rpc;
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha::rpc::{Failure, FailureKind, Metadata, handler, serve};
use bertha_named::{
    AnyCall, AnyCaller, AnyServer, ArrivedCall, Calling, Options, Serving, Transport, method, requests,
};
use std::sync::Arc;
use std::time::Duration;

/// Long enough for any machine, and short enough for a test that fails.
const SOON: Duration = Duration::from_secs(30);

fn options(settings: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    settings.iter().for_each(|(name, value)| options.set(name, value).unwrap());
    options
}

async fn server(over: Transport, stack: &str, address: &str, settings: &[(&str, &str)]) -> AnyServer {
    over.run(Serving::new(stack.parse().unwrap(), address, options(settings))).await.unwrap()
}

async fn caller(over: Transport, stack: &str, server: &AnyServer) -> Arc<dyn AnyCaller> {
    let to = server.local_address().to_string();
    over.run(Calling::new(stack.parse().unwrap(), &to, Options::default())).await.unwrap()
}

fn call(name: &str, request: &[u8]) -> AnyCall {
    AnyCall::new(method(name).unwrap(), request.to_vec())
}

/// Answers the calls of a server by a function, each in a task of its own.
fn answer<F: Future<Output = ()> + Send>(
    mut server: AnyServer,
    answer: impl Fn(ArrivedCall) -> F + Clone + Send + 'static,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        while let Some(call) = server.next().await {
            let answer = answer.clone();
            tokio::spawn(async move { answer(call).await });
        }
    })
}

/// Returns the request backwards, as of three methods.
async fn reverse(mut call: ArrivedCall) {
    let mut request = call.take_request();
    request.reverse();
    match call.method() {
        id if id == method("reverse").unwrap().id() => assert!(call.answer(request)),
        id if id == method("letters").unwrap().id() => {
            for letter in request {
                if !call.respond(vec![letter]).await {
                    return;
                }
            }
            assert!(call.end());
        }
        id if id == method("join").unwrap().id() => {
            let mut more = call.requests().await.unwrap();
            while let Some(part) = more.next().await {
                request.extend(part.unwrap());
            }
            assert!(call.answer(request));
        }
        _ => assert!(call.fail(Failure::of(FailureKind::UnknownMethod, "no such method"))),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_has_its_response_over_each_datapath() {
    let folder = std::env::temp_dir();
    for (over, stack) in [
        (Transport::Tcp, "checksum"),
        (Transport::Udp, "at-most-once,reliable"),
        (Transport::Shm, ""),
        (Transport::UnixStream, "nothing"),
    ] {
        let address = match over {
            Transport::Tcp | Transport::Udp => "127.0.0.1:0".to_owned(),
            _ => format!("unix:{}", folder.join(format!("calls-{over}-{}", std::process::id())).display()),
        };
        let server = server(over, stack, &address, &[]).await;
        let caller = caller(over, stack, &server).await;
        answer(server, reverse);
        let answer = caller.ask(call("reverse", b"abc")).await.unwrap();
        assert_eq!(&answer.response[..], b"cba", "{over}");
        assert!(caller.explain().contains("Rpc"), "{}", caller.explain());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_go_both_ways() {
    let server = server(Transport::Tcp, "", "127.0.0.1:0", &[]).await;
    let caller = caller(Transport::Tcp, "", &server).await;
    answer(server, reverse);
    let long: Vec<u8> = (0..1_000).map(|number: u32| number as u8).collect();
    let mut letters = caller.open(call("letters", &long)).await.unwrap();
    let mut received = Vec::new();
    while let Some(letter) = letters.next().await {
        received.extend_from_slice(&letter.unwrap());
    }
    received.reverse();
    assert_eq!(received, long);

    let (sender, more) = requests();
    let joining = tokio::spawn(caller.ask(AnyCall { requests: Some(more), ..call("join", b"0") }));
    for part in 1..=200_u8 {
        assert!(sender.send(vec![part]).await);
    }
    drop(sender);
    let joined = joining.await.unwrap().unwrap().response;
    assert_eq!(joined.len(), 201);
    assert_eq!(joined[200], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_responses_ends_in_four_ways() {
    let mut server = server(Transport::Tcp, "", "127.0.0.1:0", &[]).await;
    let caller = caller(Transport::Tcp, "", &server).await;
    for end in ["end", "answer", "fail", "drop"] {
        let mut responses = caller.open(call("stream", b"")).await.unwrap();
        let call = server.next().await.unwrap();
        assert!(call.respond(b"first".to_vec()).await);
        assert_eq!(&responses.next().await.unwrap().unwrap()[..], b"first");
        let is_over = match end {
            "end" => call.end(),
            "answer" => call.answer(b"last".to_vec()),
            "fail" => call.fail(Failure::of(FailureKind::Denied, "enough")),
            _ => {
                drop(call);
                true
            }
        };
        assert!(is_over);
        let second = responses.next().await.map(|second| second.map(|bytes| bytes.to_vec()));
        match (end, second) {
            ("end", None) => continue,
            ("answer", Some(Ok(last))) => assert_eq!(last, b"last"),
            ("fail", Some(Err(failure))) => assert_eq!(failure.kind(), FailureKind::Denied),
            ("drop", Some(Err(failure))) => assert_eq!(failure.kind(), FailureKind::Failed),
            (end, second) => panic!("{end}: {second:?}"),
        }
        assert!(responses.next().await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_tells_its_kind_and_what_may_have_run() {
    let server = server(Transport::Tcp, "", "127.0.0.1:0", &[]).await;
    let caller = caller(Transport::Tcp, "", &server).await;
    let forgetful = method("forget").unwrap().id();
    answer(server, move |call| async move {
        match call.method() {
            id if id == forgetful => drop(call),
            _ => assert!(call.fail(Failure::of(FailureKind::Denied, "not you").after_running())),
        }
    });
    let denied = caller.ask(call("enter", b"")).await.unwrap_err();
    assert_eq!((denied.kind(), denied.text(), denied.may_have_run()), (FailureKind::Denied, "not you", true));
    let forgotten = caller.ask(call("forget", b"")).await.unwrap_err();
    assert_eq!((forgotten.kind(), forgotten.may_have_run()), (FailureKind::Failed, true));
    let peer = caller.peer_address();
    for _ in 0..2 {
        caller.clone().close().await.unwrap();
        let closed = caller.ask(call("enter", b"")).await.unwrap_err();
        assert_eq!((closed.kind(), closed.may_have_run()), (FailureKind::Disconnected, false));
        assert!(caller.explain().contains("agreed as client"), "{}", caller.explain());
        assert!(caller.statistics().contains("Calls"), "{}", caller.statistics());
        assert_eq!(caller.peer_address(), peer);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_is_told_and_metadata_goes_both_ways() {
    let mut server = server(Transport::Tcp, "", "127.0.0.1:0", &[]).await;
    let caller = caller(Transport::Tcp, "", &server).await;
    let asking = tokio::spawn(caller.ask(call("wait", b"")));
    let waiting = server.next().await.unwrap();
    assert!(!waiting.is_cancelled());
    asking.abort();
    tokio::time::timeout(SOON, waiting.cancelled()).await.unwrap();
    assert!(!waiting.respond(Vec::new()).await);

    let late = AnyCall { deadline: Some(Duration::from_millis(20)), ..call("wait", b"") };
    let asking = tokio::spawn(caller.ask(late));
    let waiting = server.next().await.unwrap();
    assert!(waiting.context().deadline().is_some());
    assert_eq!(asking.await.unwrap().unwrap_err().kind(), FailureKind::TimedOut);
    tokio::time::timeout(SOON, waiting.cancelled()).await.unwrap();

    let mut metadata = Metadata::new();
    metadata.add("who", "me").unwrap();
    let asking = tokio::spawn(caller.ask(AnyCall { metadata, ..call("wait", b"") }));
    let named = server.next().await.unwrap();
    assert_eq!(named.context().metadata().get("who"), Some(&b"me"[..]));
    named.context().add_trailer("cost", "3").unwrap();
    named.answer(Vec::new());
    assert_eq!(asking.await.unwrap().unwrap().trailers.get("cost"), Some(&b"3"[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_leaves_ends_its_calls_and_then_itself() {
    let mut server = server(Transport::Tcp, "", "127.0.0.1:0", &[]).await;
    let caller = caller(Transport::Tcp, "", &server).await;
    let asking = tokio::spawn(caller.ask(call("last", b"")));
    let last = server.next().await.unwrap();
    server.server_end().begin(SOON);
    last.answer(b"done".to_vec());
    assert_eq!(&asking.await.unwrap().unwrap().response[..], b"done");
    assert!(tokio::time::timeout(SOON, server.next()).await.unwrap().is_none());
    assert!(!caller.ask(call("more", b"")).await.unwrap_err().may_have_run());
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_with_different_formats_do_not_agree() {
    let server = server(Transport::Tcp, "", "127.0.0.1:0", &[("codec", "postcard")]).await;
    let to = server.local_address().to_string();
    let refused = Transport::Tcp.run(Calling::new("".parse().unwrap(), &to, Options::default())).await;
    let refused = refused.map(|_| ()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(refused.to_string().contains("codec of calls"), "{refused}");

    // A client in Rust with types, by the names of its methods alone.
    let connection = make_stack!(Rpc::new()).connect(Tcp::new(), &to[..]).await.unwrap();
    let client = bertha::rpc::Client::new(connection);
    answer(server, |call| async move {
        let request = call.request().to_vec();
        call.answer(request);
    });
    let echoed: String = client.call(method("echo").unwrap(), &"hello".to_owned()).await.unwrap();
    assert_eq!(echoed, "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_with_types_answers_calls_of_bytes() {
    const DOUBLE: bertha::rpc::Method = bertha::rpc::Method::new("double");
    let mut incoming = make_stack!(Rpc::new()).listen(Tcp::new(), "127.0.0.1:0").await.unwrap();
    let to = incoming.local_addr().to_string();
    tokio::spawn(async move {
        let client = incoming.next().await.unwrap();
        serve(client, handler(DOUBLE, async |number: u8| Ok(number * 2))).await
    });
    let options = options(&[("codec", "postcard")]);
    let caller = Transport::Tcp.run(Calling::new("".parse().unwrap(), &to, options)).await.unwrap();
    assert_eq!(&caller.ask(call("double", &[21])).await.unwrap().response[..], [42]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_loses_messages_has_no_calls() {
    let refused = Transport::Udp.run(Serving::new("".parse().unwrap(), "127.0.0.1:0", Options::default()));
    let refused = refused.await.map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("reliable"), "{refused}");
    let changing = options(&[("upgradable", "yes")]);
    let refused = Transport::Tcp.run(Serving::new("".parse().unwrap(), "127.0.0.1:0", changing)).await;
    assert_eq!(refused.map(|_| ()).unwrap_err().kind(), ErrorKind::Invalid);
}
