//! Crowds of honest clients that exceed the server's places.

use crate::alone;
use crate::child::{Child, most_descriptors};
use crate::strangers::be_served;
use bertha_chunnels::{Nothing, Tls, Trust};
use bertha_core::{Buf, Connection, Datapath, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_negotiation::{Negotiate, Runs, Settings};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Returns the number of the server's descriptors, or a smaller number if the system allows fewer.
pub(crate) fn many() -> usize {
    most_descriptors().min(20_000)
}

/// A certificate for `store.example`, in files.
pub(crate) struct Certificate {
    certificate: String,
    folder: PathBuf,
}

impl Certificate {
    pub(crate) fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
        let name = format!("bertha-crowds-{}-{:p}", std::process::id(), &raw const made);
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("certificate"), made.cert.pem()).unwrap();
        std::fs::write(folder.join("key"), made.signing_key.serialize_pem()).unwrap();
        Self { certificate: made.cert.pem(), folder }
    }

    pub(crate) fn client(&self) -> Tls {
        Tls::client("store.example", Trust::ca_pem(&self.certificate).unwrap()).unwrap()
    }

    pub(crate) fn start(&self, descriptors: usize) -> Child {
        let file = |name| self.folder.join(name).to_str().unwrap().to_owned();
        Child::start(descriptors, &["tls", &file("certificate"), &file("key")])
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Connects this many clients at once, which stay, and returns their outcomes.
async fn come<S>(child: &Child, stack: S, count: usize) -> BTreeMap<String, usize>
where
    S: Negotiate + Clone + 'static,
    Tcp: Runs<S, Out: Connection<Data = Buf>>,
{
    // The listener raises the limit of descriptors.
    let listener = Tcp::new().listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let server = child.addr;
    let mut clients = JoinSet::new();
    for _ in 0..count {
        let stack = stack.clone();
        clients.spawn(async move { be_served(&stack, server).await });
    }
    let (mut outcomes, mut kept) = (BTreeMap::new(), Vec::new());
    while let Some(outcome) = clients.join_next().await {
        let outcome = match outcome.unwrap() {
            Ok(connection) => {
                kept.push(connection);
                "served".to_owned()
            }
            Err(error) => error.to_string(),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    drop(listener);
    outcomes
}

/// Checks that each client is served. A machine may be too busy for all clients: then a client hears that
/// there is no room, and the server counts the client.
fn check(outcomes: &BTreeMap<String, usize>, count: usize, child: &mut Child) {
    // A client hears it in place of an answer, or amid the handshake of its secure Chunnel.
    const TOLD: &str =
        "exhausted: the server has more clients than it can hold at the moment; try again later";
    let account = child.account();
    let served = outcomes.get("served").copied().unwrap_or_default();
    let told: usize =
        outcomes.iter().filter(|(outcome, _)| outcome.ends_with(TOLD)).map(|(_, count)| count).sum();
    assert!(served + told == count && told <= served, "{outcomes:?}; {account}");
    assert!(account.contains(&format!("handshakes: {told},")), "{told} were told; {account}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_clients_at_once_are_served() {
    let _alone = alone().await;
    let mut child = Child::start(many(), &["plain"]);
    let count = many() / 2;
    let outcomes = come(&child, make_stack!(Nothing), count).await;
    check(&outcomes, count, &mut child);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_thousand_clients_with_tls_at_once_are_served() {
    let _alone = alone().await;
    let certificate = Certificate::new();
    for _ in 0..2 {
        let mut child = certificate.start(many());
        let outcomes = come(&child, make_stack!(certificate.client()), 3000).await;
        check(&outcomes, 3000, &mut child);
    }
}

/// An offer that arrives while the server's runtime is busy is not late.
#[test]
fn a_server_that_is_held_up_takes_that_off_no_clients_time() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut settings = Settings::default();
    settings.handshake_timeout = Duration::from_secs(6);
    let local = ([127, 0, 0, 1], 0);
    let listening = async { make_stack!(Nothing).listen(Tcp::new(), local).settings(settings).await };
    let mut incoming = runtime.block_on(listening).unwrap();
    // A relay stands between the ends. Its stream to the server is there before the client.
    let between = std::net::TcpListener::bind(local_socket()).unwrap();
    let to_server = std::net::TcpStream::connect(incoming.local_addr().ip("test").unwrap()).unwrap();
    let early =
        runtime.block_on(async { timeout(Duration::from_millis(300), incoming.next_or_refusal()).await });
    assert!(early.is_err(), "nothing was said");
    let at = between.local_addr().unwrap();
    let client = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { be_served(&make_stack!(Nothing), at).await.map(drop) })
    });
    let to_client = between.accept().unwrap().0;
    for [mut from, mut to] in [[&to_client, &to_server], [&to_server, &to_client]]
        .map(|streams| streams.map(|stream| stream.try_clone().unwrap()))
    {
        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    }
    // The runtime is blocked while more than a quarter of the time passes.
    std::thread::sleep(Duration::from_secs(2));
    runtime.block_on(async {
        let connection = incoming.next().await.unwrap();
        let message = connection.recv().await.unwrap();
        connection.send(message).await.unwrap();
        // `recv` returns once the client has gone.
        let _ = connection.recv().await;
    });
    client.join().unwrap().unwrap();
}

fn local_socket() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}
