//! Connections by QUIC over UDP, and where that fails by TLS over TCP, over real sockets.

use bertha_chunnels::{Nothing, Quic, Serialize, Tls, TlsIdentity, Trust};
use bertha_core::{Addr, Connection, ErrorKind, make_stack, select};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::{Negotiate, Negotiated, Settings};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

const NAME: &str = "store.example";
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A delay within which an alternative fails on its own.
const LONG: Duration = Duration::from_secs(60);

/// The certificate of a server, and the trust in it.
struct Certificate {
    identity: TlsIdentity,
    trust: Trust,
}

impl Certificate {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
        let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
        Self { identity, trust: Trust::ca_pem(made.cert.pem()).unwrap() }
    }

    fn quic(&self) -> Quic {
        Quic::client(NAME, self.trust.clone()).unwrap()
    }

    fn tls(&self) -> Tls {
        Tls::client(NAME, self.trust.clone()).unwrap()
    }

    fn tls_server(&self) -> Tls {
        Tls::server(self.identity.clone()).unwrap()
    }
}

fn strings() -> Serialize<String> {
    Serialize::new()
}

/// Settings under which an alternative is given up soon.
fn soon() -> Settings {
    Settings::default().handshake_timeout(Duration::from_millis(300))
}

/// Returns the address of a UDP socket that nobody reads, which lives as long as the second value.
fn swallows() -> (Addr, std::net::UdpSocket) {
    let socket = std::net::UdpSocket::bind(LOOPBACK).unwrap();
    (socket.local_addr().unwrap().into(), socket)
}

/// Serves connections of strings over a stack, and gives each message back.
macro_rules! serves {
    ($stack:expr, $datapath:expr) => {{
        let mut incoming = $stack.listen($datapath, Addr::from(LOOPBACK)).await.unwrap();
        let to = incoming.local_addr();
        let task = tokio::spawn(async move {
            let mut clients = tokio::task::JoinSet::new();
            while let Some(client) = incoming.next().await {
                clients.spawn(async move {
                    while let Ok(message) = client.recv().await {
                        client.send(message).await.unwrap();
                    }
                });
            }
        });
        (to, Aborting(task))
    }};
}

/// A task that ends with the value.
struct Aborting(JoinHandle<()>);

impl Drop for Aborting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Checks that the connection goes to `to` by TLS and carries messages, and returns the note about the alternative that lost.
async fn goes_by_tls<C: Connection<Data = String>>(connection: &Negotiated<C>, to: &Addr) -> String {
    connection.send("hello".into()).await.unwrap();
    assert_eq!(connection.recv().await.unwrap(), "hello");
    assert_eq!(connection.peer_addr(), *to);
    let agreement = connection.explain();
    let explained = agreement.to_string();
    assert!(explained.starts_with("Serialize[postcard] / Tls, agreed as client; "), "{explained}");
    let mut notes = agreement.notes().iter().map(ToString::to_string);
    notes.find(|note| note.starts_with("Fallback: ")).unwrap()
}

/// The kernel answers for a port at which nobody listens, and TLS does not wait for the delay.
#[tokio::test]
async fn quic_at_a_dead_port_falls_back_to_tls_at_once() {
    let certificate = Certificate::new();
    let (to, _serving) = serves!(make_stack!(strings(), certificate.tls_server()), Tcp::new());
    let (dead, socket) = swallows();
    drop(socket);
    let quic = make_stack!(strings(), certificate.quic());
    let tls = make_stack!(strings(), certificate.tls());
    let first = quic.connect(Udp::new(), dead.clone());
    let connection = first.or(tls.connect(Tcp::new(), to.clone())).delay(LONG).await.unwrap();
    let note = goes_by_tls(&connection, &to).await;
    let lost =
        format!("Fallback: [Serialize[postcard] / Quic] to {dead} over Udp failed: Udp: unreachable: ");
    assert!(note.starts_with(&lost), "{note}");
}

/// A network that drops all datagrams.
#[tokio::test]
async fn quic_where_udp_is_blocked_is_told_to_be_slower_or_to_have_timed_out() {
    let certificate = Certificate::new();
    let (to, _serving) = serves!(make_stack!(strings(), certificate.tls_server()), Tcp::new());
    let (blocked, _socket) = swallows();
    let quic = make_stack!(strings(), certificate.quic());
    let tls = make_stack!(strings(), certificate.tls());
    let begins = format!("Fallback: [Serialize[postcard] / Quic] to {blocked} over Udp ");
    let first = quic.connect(Udp::new(), blocked.clone());
    let connection = first.or(tls.connect(Tcp::new(), to.clone())).await.unwrap();
    assert_eq!(goes_by_tls(&connection, &to).await, format!("{begins}was slower"));

    let first = quic.connect(Udp::new(), blocked.clone()).settings(soon());
    let connection = first.or(tls.connect(Tcp::new(), to.clone())).delay(LONG).await.unwrap();
    let note = goes_by_tls(&connection, &to).await;
    assert!(note.starts_with(&format!("{begins}failed: negotiation: timed out: ")), "{note}");
}

/// A path that carries the agreement, and drops the datagrams of QUIC, which are larger.
#[derive(Default)]
struct Narrow {
    passed: AtomicU64,
    dropped: AtomicU64,
}

impl Narrow {
    /// Leads the datagrams of one client to a server. Returns the address of the path.
    async fn to(self: &Arc<Self>, server: Addr) -> (Addr, Aborting) {
        let (front, back) =
            (UdpSocket::bind(LOOPBACK).await.unwrap(), UdpSocket::bind(LOOPBACK).await.unwrap());
        back.connect(server.to_string()).await.unwrap();
        let (addr, path) = (front.local_addr().unwrap().into(), Arc::clone(self));
        let task = tokio::spawn(async move {
            let (mut request, mut answer, mut client) = ([0; 65_536], [0; 65_536], None);
            loop {
                tokio::select! {
                    received = front.recv_from(&mut request) => {
                        let (len, from) = received.unwrap();
                        client = Some(from);
                        if path.carries(len) {
                            back.send(&request[..len]).await.unwrap();
                        }
                    }
                    received = back.recv(&mut answer) => {
                        let (len, to) = (received.unwrap(), client.unwrap());
                        if path.carries(len) {
                            front.send_to(&answer[..len], to).await.unwrap();
                        }
                    }
                }
            }
        });
        (addr, Aborting(task))
    }

    fn carries(&self, len: usize) -> bool {
        let carries = len < 1200;
        if carries { &self.passed } else { &self.dropped }.fetch_add(1, Relaxed);
        carries
    }
}

/// The server has agreed on QUIC, whose handshake then stays unanswered: for ten seconds, where nothing else is tried meanwhile.
#[tokio::test]
async fn quic_whose_own_packets_are_lost_falls_back_to_tls() {
    let certificate = Certificate::new();
    let server = Quic::server(certificate.identity.clone()).unwrap();
    let (far, _serving_quic) = serves!(make_stack!(strings(), server), Udp::new());
    let (to, _serving_tls) = serves!(make_stack!(strings(), certificate.tls_server()), Tcp::new());
    let path = Arc::new(Narrow::default());
    let (near, _leading) = path.to(far).await;
    let quic = make_stack!(strings(), certificate.quic());
    let tls = make_stack!(strings(), certificate.tls());
    let begins = format!("Fallback: [Serialize[postcard] / Quic] to {near} over Udp ");
    let first = quic.connect(Udp::new(), near.clone());
    let connection = first.or(tls.connect(Tcp::new(), to.clone())).await.unwrap();
    assert_eq!(goes_by_tls(&connection, &to).await, format!("{begins}was slower"));

    let first = quic.connect(Udp::new(), near.clone()).settings(soon());
    let connection = first.or(tls.connect(Tcp::new(), to.clone())).delay(LONG).await.unwrap();
    let note = goes_by_tls(&connection, &to).await;
    assert!(note.starts_with(&format!("{begins}failed: ")) && note.contains("timed out"), "{note}");
    let [passed, dropped] = [&path.passed, &path.dropped].map(|count| count.load(Relaxed));
    assert!(passed >= 2 && dropped >= 2, "{passed} datagrams passed, {dropped} did not");
}

/// Who drops all datagrams gets nothing in the clear, and the client does not even connect.
#[tokio::test]
async fn where_quic_is_blocked_no_plain_stack_is_taken() {
    let certificate = Certificate::new();
    let (blocked, _socket) = swallows();
    let quic = make_stack!(strings(), certificate.quic());
    let dropped = || quic.connect(Udp::new(), blocked.clone()).settings(soon());

    let listener = TcpListener::bind(LOOPBACK).unwrap();
    listener.set_nonblocking(true).unwrap();
    let plain = make_stack!(strings());
    let to = Addr::from(listener.local_addr().unwrap());
    let error = dropped().or(plain.connect(Tcp::new(), to)).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("never weaker than those before it"), "{error}");
    assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);

    // A client that could do without TLS gets it, or no connection.
    let either = make_stack!(strings(), select!(certificate.tls(), Nothing));
    let (to, _serving) = serves!(make_stack!(strings(), Nothing), Tcp::new());
    let error = dropped().or(either.connect(Tcp::new(), to)).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    let server = make_stack!(strings(), select!(Nothing, certificate.tls_server()));
    let (to, _serving) = serves!(server, Tcp::new());
    let connection = dropped().or(either.connect(Tcp::new(), to.clone())).await.unwrap();
    goes_by_tls(&connection, &to).await;
}
