//! The details of failures (`grpc-status-details-bin`), from servers of gRPC and of the daemon itself. tonic is the judge.

use crate::hotel::{Hotel, Reserve, Running, request, serve};
use crate::stranger::{self, Stranger};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::Failure;
use bertha_managed::Order;
use bertha_managed::application::{Attach, Handle, Incoming};
use bertha_rpcd::{Peers, Route, Settings};
use bertha_tests::metrics::{Metered, judge, value};
use std::process::Command;
use std::time::Duration;
use tonic::Code;

const SOON: Duration = Duration::from_secs(20);

/// Starts a daemon that takes calls of gRPC, and one of another machine.
fn listening() -> Running {
    let free = || "127.0.0.1:0".parse().unwrap();
    let peers = Peers { grpc: Some(free()), listen: Some(free().into()), ..Peers::default() };
    Running::with(Settings { peers, ..Settings::default() })
}

fn leading(to: Route) -> Running {
    let peers = Peers { routes: vec![("hotel".into(), to.into())], ..Peers::default() };
    Running::with(Settings { peers, ..Settings::default() })
}

async fn deny_eve(daemon: &Running) {
    let [service, name, kind] = ["hotel", "acl", "acl"].map(Into::into);
    let order = Order::Add { service, name, kind, settings: "field=customer deny=eve".into() };
    order.give(&daemon.path).await.unwrap();
}

async fn failure(daemon: &Running, customer: &str) -> Failure {
    let client = daemon.client().await;
    let asked = request(&client.heap(), customer, 1, &[]);
    client.call::<Reserve>(asked, Some(SOON)).await.err().unwrap()
}

/// A hotel that refuses all.
struct Full;

impl Handle<Hotel> for Full {
    async fn handle(&self, call: Incoming<Hotel>) {
        call.fail(&Failure::of(FailureKind::Overloaded, "no room")).await.unwrap();
    }
}

#[tokio::test]
async fn what_the_daemon_refuses_has_its_reason_and_the_service() {
    let daemon = listening();
    let stranger = Stranger::connect(&daemon.grpc_addr.as_ref().unwrap().to_string()).await;
    let unserved = stranger.reserve("ada", 1, &[]).await.unwrap_err();
    let serving = serve(daemon.server().await);
    deny_eve(&daemon).await;
    let denied = stranger.reserve("eve", 1, &[]).await.unwrap_err();
    let has = |details: &[u8], text: &str| details.windows(text.len()).any(|part| part == text.as_bytes());
    for (status, words) in
        [(&unserved, vec!["UNKNOWN_METHOD"]), (&denied, vec!["DENIED", "service", "hotel"])]
    {
        let details = status.details();
        // The first field is the code.
        assert_eq!(details[..2], [8, status.code() as u8], "{status:?}");
        assert!(words.iter().all(|word| has(details, word)) && has(details, "bertha"), "{status:?}");
        assert!(has(details, status.message()) && has(details, "google.rpc.ErrorInfo"), "{status:?}");
    }
    // An application states no details.
    serving.abort();
    let _gone = serving.await;
    let _serving = tokio::spawn(daemon.server().await.serve(Full));
    let full = stranger.reserve("ada", 1, &[]).await.unwrap_err();
    assert_eq!((full.code(), full.message(), full.details()), (Code::ResourceExhausted, "no room", &b""[..]));
}

#[tokio::test]
async fn an_application_has_the_details_of_a_server_in_words_also_behind_another_daemon() {
    let server = stranger::serve().await;
    let near = leading(Route::Grpc(server));
    let far = listening();
    let [service, to] = ["hotel".to_owned(), format!("grpc:{server}")];
    Order::Route { service, to }.give(&far.path).await.unwrap();
    let behind = leading(Route::Daemon(far.peer_addr.clone().unwrap()));
    for daemon in [&near, &behind] {
        let failure = failure(daemon, "sold out").await;
        assert_eq!(failure.text(), "sold out (SOLD_OUT of hotel.example)");
    }
    assert_eq!(failure(&near, "garbled").await.text(), "sold out");
    // A daemon between tells its own reason in the same way.
    deny_eve(&far).await;
    let denied = failure(&behind, "eve").await;
    assert_eq!(denied.kind(), FailureKind::Denied);
    assert!(denied.text().ends_with(" (DENIED of bertha)"), "{denied}");
}

#[tokio::test]
async fn details_that_are_not_understood_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
    let route = format!("hotel=grpc:{}", stranger::serve().await);
    command.arg("--socket").arg(&path).args(["--route", &route]);
    let daemon = Metered::start(&mut command);
    let client = Attach::new(&path, "desk").client::<Hotel>("hotel").await.unwrap();
    for customer in ["sold out", "garbled", "garbled"] {
        let asked = request(&client.heap(), customer, 1, &[]);
        client.call::<Reserve>(asked, Some(SOON)).await.err().unwrap();
    }
    let text = daemon.scrape();
    assert_eq!(value(&text, "bertha_garbled_details_total"), Some(2.0), "{text}");
    judge(&text);
}
