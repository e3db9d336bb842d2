//! A single trace through two processes: a client that connects, calls and changes its stack, and the server
//! that answers.

mod collected;

use bertha_chunnels::rpc::{Client, Method, handler, serve};
use bertha_chunnels::{Checksum, Nothing, Rpc, Serialize};
use bertha_core::{Addr, Connection, make_stack, select};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::{EarlyCache, Negotiate, Pick, Settings};
use collected::{Collected, Collector};
use opentelemetry::trace::SpanId;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;
use tracing::Instrument;

const DOUBLE: Method = Method::new("double");

/// Makes the stack of both ends. The client changes it to its second alternative.
macro_rules! stack {
    () => {
        make_stack!(Rpc::new(), select!(Nothing, Checksum::new())).upgradable()
    };
}

/// Runs the server's process: prints its address, answers one client, and prints its spans.
#[tokio::test]
#[ignore = "a process of the other test"]
async fn server() {
    let collector = Collector::start();
    let any: Addr = "127.0.0.1:0".parse().unwrap();
    let mut clients = stack!().listen(Tcp::new(), any).await.unwrap();
    println!("listening {}", clients.local_addr());
    let client = clients.next().await.unwrap();
    let answer = async |number: u64| tracing::info_span!("work").in_scope(|| Ok(2 * number));
    // The client has closed, or is gone.
    let _ = serve(client, handler(DOUBLE, answer)).await;
    drop(clients);
    for span in collector.spans() {
        println!("{}", span.line());
    }
}

#[tokio::test]
async fn a_trace_goes_from_a_client_to_a_server_in_another_process() {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "traces::server", "--ignored", "--nocapture", "--test-threads", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
    // The runner of the tests prints lines as well.
    let listening = lines.by_ref().find_map(|line| Some(line.split_once("listening ")?.1.to_owned()));
    let to: Addr = listening.unwrap().parse().unwrap();

    let collector = Collector::start();
    let asking = async {
        let client = Client::new(stack!().connect(Tcp::new(), to).await.unwrap());
        let connection = client.caller().connection();
        for number in [20_u64, 21] {
            let doubled: u64 = client.call(DOUBLE, &number).response().await.unwrap();
            assert_eq!(doubled, 2 * number);
            if number == 20 {
                connection.upgrade(Pick::alternative(1)).await.unwrap();
            }
        }
        client.caller().close().await.unwrap();
    };
    asking.instrument(tracing::info_span!("request")).await;
    let (here, there): (Vec<_>, Vec<_>) =
        (collector.spans(), lines.filter_map(|line| Collected::of_line(&line)).collect());
    assert!(server.wait().unwrap().success());

    let one = |spans: &[Collected], name: &str| -> Collected {
        let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
        assert_eq!(found.len(), 1, "{name} in {spans:#?}");
        found[0].clone()
    };
    let request = one(&here, "request");
    assert_eq!(request.parent, SpanId::INVALID);
    let upgrade = one(&here, "negotiation.upgrade");
    for (span, parent) in [
        (&one(&here, "negotiation.connect"), &request),
        (&upgrade, &request),
        (&one(&here, "negotiation.change"), &upgrade),
    ] {
        assert_eq!((span.trace, span.parent), (request.trace, parent.id), "{span:?}");
    }
    // Each call at the client has its counterpart at the server, and the work of the handler.
    let calls: Vec<_> = here.iter().filter(|span| span.name == "rpc.call").collect();
    assert_eq!(calls.len(), 2, "{here:#?}");
    for call in calls {
        assert_eq!((call.trace, call.parent), (request.trace, request.id), "{call:?}");
        let below = |parent: SpanId| there.iter().find(|span| span.parent == parent).unwrap();
        let handle = below(call.id);
        assert_eq!((&*handle.name, handle.trace), ("rpc.handle", request.trace));
        let work = below(handle.id);
        assert_eq!((&*work.name, work.trace), ("work", request.trace));
    }
    // Negotiation carries no trace, so the server's spans of the negotiation have no parent.
    for name in ["negotiation.accept", "negotiation.change"] {
        let span = one(&there, name);
        assert!(span.parent == SpanId::INVALID && span.trace != request.trace, "{span:?}");
    }
}

/// An early connection has a span until the server's answer, although the connection is used before.
#[tokio::test]
async fn early_connects_have_their_span() {
    let collector = Collector::start();
    let stack = Serialize::<u64>::new;
    let [mut taking, mut settings] = [(); 2].map(|()| Settings::default());
    taking.early_data = true;
    settings.first_flight_delay = Duration::from_secs(5);
    let any: Addr = "127.0.0.1:0".parse().unwrap();
    let mut clients = stack().listen(Udp::default(), any.clone()).settings(taking).await.unwrap();
    let (to, cache) = (clients.local_addr(), EarlyCache::new());
    let connect = |to: Addr, settings: &Settings| {
        stack().connect(Udp::default(), to).early(&cache).settings(settings.clone())
    };
    let spans = || {
        let all = collector.spans();
        let connecting: Vec<_> = all.into_iter().filter(|span| span.name == "negotiation.connect").collect();
        connecting.into_iter().map(|span| (span.parent, span.field.unwrap())).collect::<Vec<_>>()
    };
    let request = tracing::info_span!("request");
    let asking = async {
        for round in 0..2_usize {
            let connection = connect(to.clone(), &settings).await.unwrap();
            assert_eq!(spans().len(), if round == 0 { 1 } else { round }, "it ends with the answer");
            connection.send(1).await.unwrap();
            connection.agreed().await.unwrap();
            assert_eq!(spans().len(), round + 1, "while the connection is in use");
            connection.close().await.unwrap();
        }
    };
    let serving = async {
        while let Some(client) = clients.next().await {
            while client.recv().await.is_ok() {}
        }
    };
    tokio::select! {
        () = asking.instrument(request.clone()) => {}
        () = serving => panic!("the listener has ended"),
    }
    drop(clients);
    // No server answers any more.
    let mut impatient = settings.clone();
    impatient.handshake_timeout = Duration::from_millis(500);
    let connecting = connect(to, &impatient).into_future().instrument(request.clone());
    let connection = connecting.await.unwrap();
    connection.send(2).await.unwrap();
    assert!(connection.agreed().await.is_err());
    drop((connection, request));
    let request = collector.spans().into_iter().find(|span| span.name == "request").unwrap();
    let (parents, ends): (Vec<_>, Vec<_>) = spans().into_iter().unzip();
    assert_eq!(parents, [request.id; 3]);
    assert!(
        ends[0].starts_with("agreement=Serialize") && ends[1].starts_with("agreement=Serialize"),
        "{ends:?}"
    );
    assert!(ends[2].starts_with("error="), "{ends:?}");
}
