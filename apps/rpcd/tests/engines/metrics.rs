//! The calls of a daemon, as Prometheus sees them.

use crate::authority::Authority;
use crate::hotel::{Empty, Hotel, Ping, Reserve, request, serve};
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha_chunnels::rpc::FailureKind;
use bertha_core::{Base, Connection};
use bertha_managed::Order;
use bertha_managed::application::Attach;
use bertha_tests::metrics::{Metered, judge, value};
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
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
    let labels = |method: &str, status: &str| {
        format!(
            "bertha_calls_total{{caller=\"desk\",service=\"hotel\",method=\"hotel.Hotel/{method}\"{status}}}"
        )
    };
    let text = daemon.scrape();
    assert_eq!(value(&text, &labels("Ping", ",status=\"ok\"")), Some(3.0), "{text}");
    assert_eq!(value(&text, &labels("Reserve", ",status=\"denied\"")), Some(1.0), "{text}");
    let count = labels("Ping", "").replace("calls_total", "call_seconds_count");
    assert_eq!(value(&text, &count), Some(3.0), "{text}");
    judge(&text);
}

/// Returns the series of parties that were not taken.
fn not_taken(door: &str, reason: &str) -> String {
    format!("bertha_not_taken_total{{door=\"{door}\",reason=\"{reason}\"}}")
}

/// Says what no daemon says.
async fn intrude(addr: &str) -> Option<()> {
    let connection = make_stack!().connect(Tcp::new(), addr).await.ok()?;
    let mut hello = connection.base().buffer(1).ok()?;
    hello.copy_from_slice(b"?");
    connection.send(hello).await.ok()?;
    connection.recv().await.ok().map(drop)
}

#[tokio::test]
async fn parties_that_are_not_taken_are_counted_by_door_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let issued = Authority::new("ours").issue("hotel.example");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
    command.arg("--socket").arg(folder.path().join("rpcd")).args(["--per-address", "1"]);
    command.args(["--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    command.arg("--grpc-cert").arg(file("cert", &issued.certificate));
    command.arg("--grpc-key").arg(file("key", &issued.key));
    let mut daemon = Metered::start(&mut command);
    let [listen, grpc, _socket] =
        [(); 3].map(|()| daemon.line().trim().rsplit_once(' ').unwrap().1.to_owned());
    let text = daemon.scrape();
    assert_eq!(value(&text, &not_taken("grpc", "evicted")), Some(0.0), "{text}");

    let say = |mut stream: UnixStream| stream.write_all(&[0xff; 64]).unwrap();
    say(UnixStream::connect(folder.path().join("rpcd")).unwrap());
    daemon.value_becomes(&not_taken("socket", "refused"), 1);
    let _silent = UnixStream::connect(folder.path().join("rpcd")).unwrap();
    let _asked = UnixStream::connect(Order::socket(&folder.path().join("rpcd"))).unwrap();

    for _ in 0..3 {
        let _told = intrude(&listen).await;
    }
    daemon.value_becomes(&not_taken("listen", "refused"), 3);
    let _first = make_stack!().connect(Tcp::new(), listen.as_str()).await.unwrap();
    assert_eq!(intrude(&listen).await, None);
    daemon.value_becomes(&not_taken("listen", "per-address"), 1);

    let mut stranger = TcpStream::connect(&grpc).unwrap();
    let further = TcpStream::connect(&grpc).unwrap();
    daemon.value_becomes(&not_taken("grpc", "per-address"), 1);
    stranger.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    daemon.value_becomes(&not_taken("grpc", "tls"), 1);
    drop((stranger, further));
    for door in ["socket", "orders", "listen"] {
        daemon.value_becomes(&not_taken(door, "silent"), 1);
    }
    judge(&daemon.scrape());
}

/// A handshake that has said nothing gives its place to a newcomer, of which there are few where descriptors are few.
#[tokio::test]
async fn handshakes_that_are_given_up_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 300 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_bertha-rpcd")]);
    command.arg("--socket").arg(folder.path().join("rpcd")).args(["--listen", "127.0.0.1:0"]);
    let mut daemon = Metered::start(&mut command);
    let listen = daemon.line().trim().rsplit_once(' ').unwrap().1.to_owned();
    let evicted = not_taken("listen", "evicted");
    assert_eq!(value(&daemon.scrape(), &evicted), Some(0.0));
    let silent: Vec<_> = (0..90).map(|_| TcpStream::connect(&listen).unwrap()).collect();
    let counted = async {
        while value(&daemon.scrape(), &evicted) == Some(0.0) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, counted).await.unwrap();
    drop(silent);
    assert!(value(&daemon.scrape(), &evicted).unwrap() <= 90.0);
    assert!(intrude(&listen).await.is_some(), "a newcomer is heard");
}
