//! The calls of a daemon, as Prometheus sees them.

use crate::hotel::{Empty, Hotel, Ping, Reserve, request, serve};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::application::Attach;
use bertha_tests::metrics::{Metered, judge, value};
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn calls_are_counted_by_caller_method_and_status() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
    command.arg("--socket").arg(&path).args(["--engine", "hotel:metrics"]);
    command.args(["--engine", "hotel:acl:field=customer deny=eve"]);
    let daemon = Metered::start(&mut command);
    let attach = |name: &str| Attach::new(&path, name);
    let _serving = serve(attach("hotelier").server::<Hotel>("hotel").await.unwrap());
    let client = attach("desk").client::<Hotel>("hotel").await.unwrap();
    for _ in 0..3 {
        client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    }
    let asked = request(&client.heap(), "eve", 1, &[]);
    let failure = client.call::<Reserve>(asked, Some(SOON)).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Denied);
    let labels = |method: &str, peer: &str, status: &str| {
        let of = format!("caller=\"desk\",service=\"hotel\",method=\"hotel.Hotel/{method}\"");
        format!("bertha_calls_total{{{of},peer=\"{peer}\"{status}}}")
    };
    let text = daemon.scrape();
    assert_eq!(value(&text, &labels("Ping", "hotelier", ",status=\"ok\"")), Some(3.0), "{text}");
    assert_eq!(value(&text, &labels("Reserve", "", ",status=\"denied\"")), Some(1.0), "{text}");
    let count = labels("Ping", "hotelier", "").replace("calls_total", "call_seconds_count");
    assert_eq!(value(&text, &count), Some(3.0), "{text}");
    judge(&text);
}
