//! The traces of calls, across daemons and strangers.

use crate::hotel::{Empty, Hotel, Ping, Reserve, Response, Running, request};
use crate::stranger::{self, Asked, Stranger};
use bertha_managed::application::{Attach, Handle, Incoming, Server};
use bertha_managed::heap::String as Text;
use bertha_managed::{FailureKind, Method, Order, Trace};
use bertha_rpcd::{Peers, Route, Settings};
use opentelemetry::trace::{SpanId, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::task::JoinHandle;
use tonic::Request;
use tracing::Instrument;
use tracing_subscriber::layer::SubscriberExt;

const SOON: Duration = Duration::from_secs(20);

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn trace() -> Option<Trace> {
    Some(TRACE.parse().unwrap())
}

/// Serves rooms that are named after the trace of the call.
fn serve(mut server: Server<Hotel>) -> JoinHandle<()> {
    tokio::spawn(async move {
        while let Ok(call) = server.next().await {
            answer(call).await;
        }
    })
}

async fn answer(call: Incoming<Hotel>) {
    if call.method() == Ping::NUMBER {
        call.respond::<Ping>(Empty {}).await.unwrap();
        return;
    }
    let room = call.trace().map_or_else(String::new, |trace| trace.to_string());
    let response = Response { room: Text::from_str_in(&room, call.heap()), price: 0 };
    call.respond::<Reserve>(response).await.unwrap();
}

/// Calls by this daemon, and returns the trace that the server got.
async fn at_server(daemon: &Running, customer: &str, trace: Option<Trace>) -> Option<Trace> {
    let client = daemon.client().await;
    let asked = request(&client.heap(), customer, 1, &[]);
    let answered = client.call_in_trace::<Reserve>(asked, Some(SOON), trace).await.unwrap();
    answered.room.as_str().parse().ok()
}

async fn add_engine(path: &Path, kind: &str, settings: &str) {
    let [service, name, kind, settings] = ["hotel", kind, kind, settings].map(Into::into);
    Order::Add { service, name, kind, settings }.give(path).await.unwrap();
}

/// Checks that a trace goes on below the span of an engine.
#[track_caller]
fn is_below(got: Option<Trace>, above: Option<Trace>) {
    let (got, above) = (got.unwrap(), above.unwrap());
    assert!(got.id() == above.id() && got.span() != above.span(), "{got:?} is not below {above:?}");
}

#[tokio::test]
async fn a_server_has_the_trace_of_its_caller() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    assert_eq!(at_server(&daemon, "ada", trace()).await, trace());
    assert_eq!(at_server(&daemon, "ada", None).await, None);
    add_engine(&daemon.path, "trace", "").await;
    is_below(at_server(&daemon, "ada", trace()).await, trace());
    assert_eq!(at_server(&daemon, "ada", None).await, None);
}

#[tokio::test]
async fn a_trace_goes_through_two_daemons() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    assert_eq!(at_server(&near, "ada", trace()).await, trace());
    add_engine(&near.path, "trace", "").await;
    is_below(at_server(&near, "ada", trace()).await, trace());
}

#[tokio::test]
async fn strangers_send_traces_and_get_them() {
    let peers = Peers { grpc: Some("127.0.0.1:0".parse().unwrap()), ..Peers::default() };
    let daemon = Running::with(Settings { peers, ..Settings::default() });
    let _serving = serve(daemon.server().await);
    let stranger = Stranger::connect(&daemon.grpc_addr.as_ref().unwrap().to_string()).await;
    for (header, expected) in [(TRACE, TRACE), ("00-nothing", "")] {
        let mut asked = Request::new(Asked::default());
        asked.metadata_mut().insert("traceparent", header.parse().unwrap());
        assert_eq!(stranger.call("/hotel.Hotel/Reserve", asked).await.unwrap().room, expected);
    }
    let peers = Peers {
        routes: vec![("hotel".into(), Route::Grpc(stranger::serve().await).into())],
        ..Peers::default()
    };
    let daemon = Running::with(Settings { peers, ..Settings::default() });
    assert_eq!(at_server(&daemon, "traced", trace()).await, trace());
    assert_eq!(at_server(&daemon, "traced", None).await, None);
    add_engine(&daemon.path, "trace", "").await;
    is_below(at_server(&daemon, "traced", trace()).await, trace());
}

/// A hotel that works in a span of its own.
struct Working;

impl Handle<Hotel> for Working {
    async fn handle(&self, call: Incoming<Hotel>) {
        answer(call).instrument(tracing::info_span!("work")).await;
    }
}

#[tokio::test]
async fn the_trace_of_a_span_goes_to_the_handler_of_another_application_and_to_a_server_of_grpc() {
    let daemon = Running::start();
    let _serving = tokio::spawn(daemon.server().await.serve(Working));
    // A span whose first use, by a test beside this one, comes at the moment at which a subscriber is set would stay without it.
    daemon.client().await.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let _in_use = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));

    let peers = Peers {
        routes: vec![("hotel".into(), Route::Grpc(stranger::serve().await).into())],
        ..Peers::default()
    };
    let leading = Running::with(Settings { peers, ..Settings::default() });
    let call = async |daemon: &Running| {
        let client = daemon.client().await;
        let asked = request(&client.heap(), "traced", 1, &[]);
        let answered = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        answered.room.as_str().parse::<Trace>().unwrap()
    };
    let both = async { [call(&daemon).await, call(&leading).await] };
    let [of_application, of_stranger] = both.instrument(tracing::info_span!("request")).await;

    let finished = async {
        while !exporter.get_finished_spans().unwrap().iter().any(|span| span.name == "rpc.handle") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(SOON, finished).await.unwrap();
    let spans = exporter.get_finished_spans().unwrap();
    let all = |name: &str| -> Vec<_> { spans.iter().filter(|span| span.name == name).collect() };
    let (calls, [handle], [work], [request]) = (
        all("rpc.call"),
        all("rpc.handle").try_into().unwrap(),
        all("work").try_into().unwrap(),
        all("request").try_into().unwrap(),
    );
    let id = |span: &SpanData| u64::from_be_bytes(span.span_context.span_id().to_bytes());
    let trace = u128::from_be_bytes(request.span_context.trace_id().to_bytes());
    assert_eq!([of_application.id(), of_stranger.id()], [trace; 2]);
    assert_eq!([of_application.span(), of_stranger.span()], [id(calls[0]), id(calls[1])]);
    assert!(calls.iter().all(|call| call.parent_span_id == request.span_context.span_id()));
    assert_eq!(handle.parent_span_id, calls[0].span_context.span_id());
    assert_eq!(work.parent_span_id, handle.span_context.span_id());
    assert!(handle.parent_span_is_remote && request.parent_span_id == SpanId::INVALID);
}

/// A daemon as a program, which ends when this is dropped.
struct Program(Child);

impl Program {
    fn start(path: &Path, engines: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
        command.arg("--socket").arg(path).env("RUST_LOG", "bertha::rpc=info");
        for engine in engines {
            command.args(["--engine", engine]);
        }
        Self(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Ends the daemon, and returns the fields of each line about a call.
    fn end(mut self) -> Vec<HashMap<String, String>> {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let mut log = String::new();
        std::io::Read::read_to_string(self.0.stderr.as_mut().unwrap(), &mut log).unwrap();
        let lines = log.lines().filter(|line| line.contains("a call has passed"));
        lines
            .map(|line| {
                let fields = line.split_whitespace().filter_map(|field| field.split_once('='));
                fields.map(|(name, value)| (name.into(), value.trim_matches('"').into())).collect()
            })
            .collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _killed = self.0.kill();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn the_log_has_a_line_for_each_span() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let engines = ["hotel:trace:sample=2", "hotel:acl:field=customer deny=eve"];
    let daemon = Program::start(&path, &engines);
    let _serving = serve(Attach::new(&path, "hotelier").server::<Hotel>("hotel").await.unwrap());
    let client = Attach::new(&path, "desk").client::<Hotel>("hotel").await.unwrap();
    let ada = client
        .call_in_trace::<Reserve>(request(&client.heap(), "ada", 1, &[]), Some(SOON), trace())
        .await
        .unwrap();
    let ada: Trace = ada.room.as_str().parse().unwrap();
    let eve = client.call_in_trace::<Reserve>(request(&client.heap(), "eve", 1, &[]), Some(SOON), trace());
    assert_eq!(eve.await.unwrap_err().kind(), FailureKind::Denied);
    // Of four calls without a trace two begin one.
    for _ in 0..4 {
        client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    }
    let lines = daemon.end();
    let field = |line: usize, name: &str| lines[line].get(name).map(String::as_str);
    let of = |line: usize| ["caller", "service", "method", "status"].map(|name| field(line, name).unwrap());
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(of(0), ["desk", "hotel", "hotel.Hotel/Reserve", "ok"]);
    assert_eq!(of(1), ["desk", "hotel", "hotel.Hotel/Reserve", "denied"]);
    assert_eq!(of(3), ["desk", "hotel", "hotel.Hotel/Ping", "ok"]);
    for line in 0..2 {
        assert_eq!(field(line, "trace_id"), Some(&TRACE[3..35]), "{lines:?}");
        assert_eq!(field(line, "parent_id"), Some(&TRACE[36..52]), "{lines:?}");
    }
    // The server's own span is below the daemon's.
    assert_eq!(field(0, "span_id"), Some(format!("{:016x}", ada.span()).as_str()));
    assert_eq!(field(2, "parent_id"), None);
    assert_ne!(field(2, "trace_id"), field(3, "trace_id"));
    assert!(lines.iter().all(|line| line["microseconds"].parse::<u64>().is_ok()), "{lines:?}");
}
