//! Flows of the kernel's TCP on this machine.

use bertha_ccp::Limits;
use bertha_ccp_tcp::TcpControl;
use bertha_chunnels::congestion::Algorithm;
use bertha_core::ErrorKind;
use socket2::{Domain, Protocol, SockAddr, SockFilter, Socket, Type};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const CHUNK: usize = 64 << 10;

/// The code of the instruction that ends a socket's filter with a constant: the number of bytes to keep of a packet.
const KEEP: u16 = 6;

/// A registered congestion control, and its name.
pub(crate) struct Registered {
    pub(crate) control: TcpControl,
    pub(crate) name: String,
}

impl Registered {
    /// Registers a control by a name of its own. Returns `None` where the kernel takes none, and tells so.
    pub(crate) fn new(algorithm: impl Algorithm, limits: Limits) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}_{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        match TcpControl::register(&name, algorithm, limits) {
            Err(error)
                if error.kind() == ErrorKind::Unavailable && std::env::var("CI").as_deref() != Ok("true") =>
            {
                eprintln!("SKIPPED: TCP under an agent: {error}");
                None
            }
            registered => Some(Self { control: registered.unwrap(), name }),
        }
    }

    /// Waits until no flow is left, and names what is there otherwise.
    pub(crate) fn until_all_ended(&self) {
        let listed = || Command::new("ss").args(["-tianeo", "sport", "!=", ":22"]).output().unwrap().stdout;
        let has_ended = becomes(|| self.control.statistics().flows == 0);
        let Self { control, name } = self;
        let (numbers, sockets) = (control.statistics(), listed());
        let sockets = String::from_utf8_lossy(&sockets);
        assert!(
            has_ended,
            "{numbers:?}, registered: {}, of {name} among\n{sockets}",
            control.is_registered()
        );
    }
}

/// A transfer over the loopback interface, which goes on until it is ended.
pub(crate) struct Transfer {
    /// The sender's port.
    port: u16,
    receiver: Socket,
    is_over: Arc<AtomicBool>,
    arrived: Arc<AtomicU64>,
    ends: [JoinHandle<u64>; 2],
}

impl Transfer {
    /// Begins a transfer whose sender has the congestion control of this name.
    pub(crate) fn begin(control: &str, host: impl Into<IpAddr>) -> Self {
        let listener = TcpListener::bind(SocketAddr::new(host.into(), 0)).unwrap();
        let to = listener.local_addr().unwrap();
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP)).unwrap();
        socket.set_tcp_congestion(control.as_bytes()).unwrap();
        socket.connect(&SockAddr::from(to)).unwrap();
        let sender = TcpStream::from(socket);
        let (receiver, _) = listener.accept().unwrap();
        let (is_over, arrived) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let port = sender.local_addr().unwrap().port();
        let socket = receiver.try_clone().unwrap().into();
        let (sent_all, counted) = (is_over.clone(), arrived.clone());
        let ends = [
            std::thread::spawn(move || send(sender, &sent_all)),
            std::thread::spawn(move || receive(receiver, &counted)),
        ];
        Self { port, receiver: socket, is_over, arrived, ends }
    }

    /// Makes the path lose every packet to the receiver.
    pub(crate) fn interrupt(&self) {
        self.receiver.attach_filter(&[SockFilter::new(KEEP, 0, 0, 0)]).unwrap();
    }

    /// Makes the path lose no packet any more.
    pub(crate) fn resume(&self) {
        self.receiver.detach_filter().unwrap();
    }

    /// Waits until this many more bytes have arrived.
    pub(crate) fn continues(&self, bytes: u64) {
        let goal = self.arrived.load(Relaxed) + bytes;
        until("bytes", || self.arrived.load(Relaxed) >= goal);
    }

    /// Returns the kernel's window of the sender, in packets, and its packet size.
    pub(crate) fn window(&self) -> (u64, u64) {
        (self.told("cwnd:"), self.told("mss:"))
    }

    /// Returns the number behind this text in the kernel's description of the sender.
    pub(crate) fn told(&self, field: &str) -> u64 {
        let filter = format!("sport = :{}", self.port);
        let listed = Command::new("ss").args(["-tinH", &filter]).output().expect("ss is in iproute2");
        let text = String::from_utf8(listed.stdout).unwrap();
        let behind = text.split(field).nth(1).unwrap_or_else(|| panic!("no `{field}` in `{text}`"));
        let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    }

    /// Sends nothing more.
    pub(crate) fn stop(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Ends the transfer, and checks that all that was sent has arrived.
    pub(crate) fn end(self) {
        self.stop();
        let [sent, received] = self.ends.map(|end| end.join().unwrap());
        assert_eq!(sent, received);
    }
}

fn send(mut stream: TcpStream, is_over: &AtomicBool) -> u64 {
    let mut sent = 0;
    while !is_over.load(Relaxed) {
        sent += stream.write(&[0; CHUNK]).unwrap() as u64;
    }
    sent
}

fn receive(mut stream: TcpStream, arrived: &AtomicU64) -> u64 {
    let mut chunk = vec![0; CHUNK];
    loop {
        match stream.read(&mut chunk).unwrap() {
            0 => return arrived.load(Relaxed),
            length => arrived.fetch_add(length as u64, Relaxed),
        };
    }
}

/// Waits until it is so, for a minute at most. Fails otherwise.
pub(crate) fn until(what: &str, is_so: impl FnMut() -> bool) {
    assert!(becomes(is_so), "{what}: nothing happened");
}

/// Returns true once it is so, and false after a minute.
fn becomes(mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if start.elapsed() > Duration::from_secs(60) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
