//! The counts of parties that are not taken, as Prometheus sees them.

use crate::authority::Authority;
use crate::from_address;
use crate::hotel::Hotel;
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha_core::{Base, Connection};
use bertha_managed::Order;
use bertha_managed::application::Attach;
use bertha_tests::metrics::{Metered, judge, value};
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const SOON: Duration = Duration::from_secs(20);

/// Returns the series of parties that were not taken.
fn not_taken(door: &str, reason: &str) -> String {
    format!("bertha_not_taken_total{{door=\"{door}\",reason=\"{reason}\"}}")
}

/// Starts a daemon that may have so many descriptors.
fn with_descriptors(count: usize, folder: &Path, options: &[&str]) -> Metered {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {count} && exec \"$0\" \"$@\"")]);
    command.arg(env!("CARGO_BIN_EXE_bertha-rpcd")).arg("--socket").arg(folder.join("rpcd")).args(options);
    Metered::start(&mut command)
}

/// Returns the address that a daemon says next.
fn said(daemon: &mut Metered) -> String {
    daemon.line().trim().rsplit_once(' ').unwrap().1.to_owned()
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
    let [listen, grpc, _socket] = [(); 3].map(|()| said(&mut daemon));
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
    let _second = make_stack!().connect(Tcp::new(), listen.as_str()).await.unwrap();
    daemon.value_becomes(&not_taken("listen", "per-address"), 1);

    let silent = TcpStream::connect(&grpc).unwrap();
    let mut stranger = TcpStream::connect(&grpc).unwrap();
    daemon.value_becomes(&not_taken("grpc", "per-address"), 1);
    stranger.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    daemon.value_becomes(&not_taken("grpc", "tls"), 1);
    drop((stranger, silent));
    for door in ["socket", "orders", "listen"] {
        daemon.value_becomes(&not_taken(door, "silent"), 1);
    }
    judge(&daemon.scrape());
}

/// A handshake that has said nothing gives its place to a newcomer, of which there are few where descriptors are few.
#[tokio::test]
async fn handshakes_that_are_given_up_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut daemon = with_descriptors(300, folder.path(), &["--listen", "127.0.0.1:0"]);
    let listen = said(&mut daemon);
    let evicted = not_taken("listen", "evicted");
    assert_eq!(value(&daemon.scrape(), &evicted), Some(0.0));
    let silent: Vec<_> = (0..90).map(|_| TcpStream::connect(&listen).unwrap()).collect();
    let counted = async {
        while value(&daemon.scrape(), &evicted) == Some(0.0) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, counted).await.unwrap();
    drop(silent);
    assert!(value(&daemon.scrape(), &evicted).unwrap() <= 90.0);
    assert!(intrude(&listen).await.is_some(), "a newcomer is heard");
}

/// The ports have 16 places where descriptors are few, of which an address has four.
#[tokio::test]
async fn those_whose_place_a_newcomer_has_are_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let free = ["--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
    let mut daemon = with_descriptors(256, folder.path(), &free);
    let [listen, grpc] = [(); 2].map(|()| said(&mut daemon).parse().unwrap());
    let (mut daemons, mut strangers) = (Vec::new(), Vec::new());
    for place in 0..17 {
        let from = format!("127.0.0.{}", 1 + place / 4);
        let through = from_address::lead(&from, listen).await.to_string();
        daemons.push(make_stack!().connect(Tcp::new(), through.as_str()).await.unwrap());
        strangers.push(from_address::connect(&from, grpc).await);
    }
    for door in ["listen", "grpc"] {
        daemon.value_becomes(&not_taken(door, "evicted"), 1);
        // The others say nothing for too long.
        daemon.value_becomes(&not_taken(door, "silent"), 16);
    }
    let text = daemon.scrape();
    for (door, reason) in [("listen", "evicted"), ("grpc", "evicted"), ("listen", "refused")] {
        let wanted = f64::from(u8::from(reason == "evicted"));
        assert_eq!(value(&text, &not_taken(door, reason)), Some(wanted), "{door}, {reason}: {text}");
    }
}

#[tokio::test]
async fn connections_that_fail_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
    command.arg("--socket").arg(&path).args(["--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let mut daemon = Metered::start(&mut command);
    let [listen, grpc, _socket] = [(); 3].map(|()| said(&mut daemon));
    for (to, door, reason) in [(listen, "listen", "refused"), (grpc, "grpc", "failed")] {
        TcpStream::connect(to).unwrap().write_all(&[0xff; 64]).unwrap();
        daemon.value_becomes(&not_taken(door, reason), 1);
    }
    // An operator that goes before it has said anything.
    drop(UnixStream::connect(Order::socket(&path)).unwrap());
    daemon.value_becomes(&not_taken("orders", "failed"), 1);
}

/// A daemon looks at the user itself, whatever the rights of its socket are.
#[tokio::test]
async fn an_order_of_another_user_is_refused_and_counted() {
    if !rustix::process::geteuid().is_root() {
        return bertha_tests::skip("other users need root");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
    let daemon = Metered::start(command.arg("--socket").arg(&path));
    let refused = not_taken("orders", "refused");
    // An operator whose order is refused was heard.
    let [service, name] = ["hotel", "none"].map(Into::into);
    Order::Remove { service, name }.give(&path).await.unwrap_err();
    assert_eq!(value(&daemon.scrape(), &refused), Some(0.0));
    let socket = Order::socket(&path);
    for (path, mode) in [(folder.path(), 0o777), (&socket, 0o666)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    // The thread alone is the other user's.
    let given = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        rustix::thread::set_thread_res_uid(None, Some(rustix::thread::Uid::from_raw(65534)), None).unwrap();
        runtime.block_on(Order::List.give(&path))
    });
    let error = given.join().unwrap().unwrap_err();
    assert!(error.to_string().contains("user 65534 is no operator of this daemon"), "{error}");
    daemon.value_becomes(&refused, 1);
}

/// A daemon without descriptors takes nobody, at any of its sockets.
#[tokio::test]
async fn connections_that_the_system_does_not_give_are_counted_by_door() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let daemon = with_descriptors(64, folder.path(), &[]);
    let attach = Attach::new(&path, "test").within(Duration::from_millis(500));
    let mut attached = Vec::new();
    while let Ok(application) = attach.client::<Hotel>("hotel").await {
        attached.push(application);
    }
    let counted = async {
        loop {
            let connect = |path: &Path| UnixStream::connect(path).unwrap();
            let silent: Vec<_> = (0..100).map(|_| connect(&path)).collect();
            // All descriptors are taken before the operator comes, or the next time.
            sleep(Duration::from_millis(200)).await;
            let order = connect(&Order::socket(&path));
            sleep(Duration::from_millis(200)).await;
            drop((silent, order));
            // Without a descriptor the daemon closes what it has of its readers.
            let Ok(text) = daemon.try_scrape() else { continue };
            let counts =
                ["socket", "orders"].map(|door| value(&text, &not_taken(door, "unaccepted")).unwrap());
            if counts.iter().all(|count| *count > 0.0) {
                return;
            }
        }
    };
    timeout(SOON, counted).await.unwrap();
}
