//! The test program as a child process, in a role.

use super::queues::CONNECTIONS;
use bertha_core::{Addr, Base, Buf, Connection, Datapath, Error, ErrorKind, Listener, Statistics};
use bertha_datapath_dpdk::{Burst, Config, Dpdk, DpdkConnection, DpdkStatistics, Offload, Packet, Port};
use bertha_netstack::Checksums::Unknown;
use bertha_netstack::{Flow, Interface, Route, Stack};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddrV4, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// Lengths of messages, in addition to the number at the beginning of each message.
const LENGTHS: [usize; 8] = [0, 1, 2, 56, 57, 1000, 1400, 1444];

/// A running child process.
pub(crate) struct Child {
    process: std::process::Child,
    output: BufReader<std::process::ChildStdout>,
}

/// The role of a child, and its surroundings.
pub(crate) struct Role<'a> {
    /// The name of one of the functions below.
    pub(crate) role: &'a str,
    /// An address that the role needs.
    pub(crate) about: &'a str,
    /// The number of messages that a client sends.
    pub(crate) count: usize,
    /// Variables without their prefix `BERTHA_DPDK_`, with their values.
    pub(crate) settings: &'a [(&'a str, &'a str)],
    /// The command that runs the child: `ip netns exec NAME`, `taskset -c 0`.
    pub(crate) within: &'a [&'a str],
    /// True if the child gives up all privileges first.
    pub(crate) unprivileged: bool,
}

impl Child {
    pub(crate) fn start(role: &Role<'_>) -> Self {
        let program = std::env::current_exe().unwrap();
        let program = program.to_str().unwrap();
        let all: Vec<&str> = role.within.iter().copied().chain([program]).collect();
        let mut command = Command::new(all[0]);
        command.args(&all[1..]).args(["--exact", "child::child", "--ignored", "--nocapture"]);
        command.env("BERTHA_TEST_ROLE", format!("{} {} {}", role.role, role.about, role.count));
        for (name, value) in role.settings {
            command.env(format!("BERTHA_DPDK_{name}"), value);
        }
        if role.unprivileged && rustix_is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, output }
    }

    /// Returns the next line that the child writes for its parent.
    pub(crate) fn says(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the child ended");
            if let Some((_, said)) = line.split_once("SAYS ") {
                return said.trim().to_owned();
            }
        }
    }
}

impl Child {
    /// Waits until the child has ended by itself.
    pub(crate) fn ends(mut self) {
        assert!(self.process.wait().unwrap().success());
    }

    /// Writes a line to the child.
    pub(crate) fn hears(&mut self, what: &str) {
        use std::io::Write;
        self.process.stdin.as_mut().unwrap().write_all(what.as_bytes()).unwrap();
    }

    /// Kills the child without a chance to write anything.
    pub(crate) fn kill(self) {}
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn rustix_is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[allow(clippy::print_stdout, reason = "what the parent waits for")]
pub(crate) fn say(what: &str) {
    println!("SAYS {what}");
}

/// This function is no test: it is the process that children run.
#[test]
#[ignore = "run by the other tests, as a process of its own"]
fn child() {
    let Ok(role) = std::env::var("BERTHA_TEST_ROLE") else { return };
    let words: Vec<&str> = role.split(' ').collect();
    let [role, about, count] = words[..] else { panic!("{role}") };
    let count: usize = count.parse().unwrap();
    match role {
        "serve-threads" => return serve_by_threads(&about.parse().unwrap(), count),
        "ask-threads" => return ask_by_threads(&about.parse().unwrap(), count),
        "forge" => return forge(about, count),
        "too-large" => return too_large_by_threads(&about.parse().unwrap(), count),
        #[cfg(feature = "tcp")]
        "syn-flood" => return super::flood::flood(about, count),
        #[cfg(feature = "tcp")]
        "crowd" => return super::flood::crowd(about),
        _ => {}
    }
    runtime().block_on(async {
        match role {
            "serve" => serve(dpdk(), about.parse().unwrap()).await,
            "serve-serially" => serve_serially(dpdk(), about.parse().unwrap()).await,
            "ask" => ask(dpdk(), about.parse().unwrap(), count).await,
            "offload-serve" => {
                let dpdk = dpdk();
                say_offload(&dpdk);
                serve(dpdk, about.parse().unwrap()).await;
            }
            "offload-ask" => {
                let dpdk = dpdk();
                say_offload(&dpdk);
                ask(dpdk, about.parse().unwrap(), count).await;
            }
            "open" => say(&Dpdk::open(&Config::from_env().unwrap()).unwrap_err().to_string()),
            "open-again" => open_again(),
            "end" => end(),
            "take-over" => take_over(),
            "ask-and-hold" => ask_and_hold(about.parse().unwrap(), count).await,
            "ask-large" => ask_large(about.parse().unwrap(), count).await,
            "hold-all" => hold_all(about.parse().unwrap()).await,
            "tell" => tell(about.parse().unwrap(), count).await,
            "kernel-serve" => kernel_serve(about),
            "kernel-ask" => kernel_ask(about, count),
            #[cfg(feature = "tcp")]
            _ => super::tcp::play(role, about, count).await,
            #[cfg(not(feature = "tcp"))]
            _ => panic!("{role}"),
        }
    });
}

fn dpdk() -> Dpdk {
    Dpdk::open(&Config::from_env().unwrap()).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Writes the checksums that the port computes.
fn say_offload(dpdk: &Dpdk) {
    let Offload { header, udp } = dpdk.offload().unwrap();
    say(&format!("offload {header} {udp}"));
}

/// Opens the environment's port several times, one after another.
fn open_again() {
    for _ in 0..3 {
        assert!(dpdk().is_up().is_ok());
    }
    say("opened");
}

/// Starts DPDK with a port that discards frames, and then opens the environment's port without delay.
fn take_over() {
    let device = Some("net_null0".to_owned());
    let first = Config { device, buffers: 255, descriptors: 64, ..Config::from_env().unwrap() };
    let _started = Dpdk::open(&first).unwrap();
    say("takes over");
    let _taken = dpdk();
    say("open");
}

/// Opens the environment's port, and ends in order when the parent writes a line.
fn end() {
    Dpdk::new().is_up().unwrap();
    say("open");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Echoes to every client.
async fn serve(dpdk: Dpdk, at: Addr) {
    let listener = dpdk.listen(at).await.unwrap();
    say("ready");
    loop {
        let connection = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut messages = Vec::new();
            while connection.recv_batch(&mut messages, 64).await.is_ok() {
                connection.send_batch(messages.drain(..)).await.unwrap();
            }
        });
    }
}

/// Echoes the first message of each client, one client after another, so that a single waiting answer would
/// hold up all others.
async fn serve_serially(dpdk: Dpdk, at: Addr) {
    let listener = dpdk.listen(at).await.unwrap();
    say("ready");
    loop {
        let connection = listener.accept().await.unwrap();
        let first = connection.recv().await.unwrap();
        connection.send(first).await.unwrap();
        tokio::spawn(async move {
            while let Ok(message) = connection.recv().await {
                connection.send(message).await.unwrap();
            }
        });
    }
}

/// Sends datagrams to a server, each from another address of its subnet that no host has.
fn forge(server: &str, count: usize) {
    let port = Port::open(&Config::from_env().unwrap());
    let mut port = port.unwrap_or_else(|error| panic!("{error:?}"));
    let server: SocketAddrV4 = server.parse().unwrap();
    let subnet = "10.99.0.99/24".parse().unwrap();
    let interface = Interface::new(port.mac(), 1500, None, &[subnet], &[]).unwrap();
    let mut stack = Stack::new(interface, Instant::now());
    let (flow, mut burst) = (Flow::new(server.into(), 4000), Burst::new());
    let path = loop {
        if let Route::Ready(path) = stack.route(flow, Instant::now()) {
            break path;
        }
        while let Some(question) = stack.poll_transmit(<[u8]>::to_vec) {
            transmit(&mut port, &question);
        }
        port.receive(&mut burst);
        while let Some(mut packet) = burst.pop() {
            stack.receive(packet.bytes_mut(), Unknown, Instant::now());
        }
    };
    for number in 0..count {
        let mut frame = [&vec![0; path.len()], &b"forged"[..]].concat();
        path.seal(&mut frame);
        // The source address enters the header's checksum, by two words, and UDP's checksum, which may be
        // left out.
        frame[29] = 100 + (number % 100) as u8;
        frame[40..42].fill(0);
        frame[24..26].fill(0);
        let sum: u32 =
            frame[14..34].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        let folded = (sum >> 16) + (sum & 0xffff);
        frame[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        transmit(&mut port, &frame);
    }
    say("done");
}

fn transmit(port: &mut Port, frame: &[u8]) {
    let mut buffer = port.pool().buffer(frame.len(), 0).unwrap();
    buffer.copy_from_slice(frame);
    let mut burst = Burst::new();
    burst.push(Packet::from_buf(buffer).unwrap()).unwrap();
    while !burst.is_empty() {
        port.transmit(&mut burst);
    }
}

fn message(connection: &DpdkConnection, number: usize) -> Result<Buf, Error> {
    let len = 8 + LENGTHS[number % LENGTHS.len()];
    let mut message = connection.base().buffer(len)?;
    message.fill(number as u8);
    message[..8].copy_from_slice(&number.to_be_bytes());
    Ok(message)
}

fn is_message(message: &[u8], number: usize) -> bool {
    let len = 8 + LENGTHS[number % LENGTHS.len()];
    message.len() == len
        && message[..8] == number.to_be_bytes()
        && message[8..].iter().all(|byte| *byte == number as u8)
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs `work` in two threads, each with a runtime of its own.
fn by_threads<F: Future<Output = ()>>(work: impl Fn() -> F + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| runtime().block_on(work()));
        }
    });
}

/// Asserts that no buffer is in use, except in the port's rings: virtio and AF_XDP lend all buffers that they may
/// receive into, and get sent buffers back when they send again.
fn assert_nothing_is_kept(dpdk: &Dpdk) {
    let config = Config::from_env().unwrap();
    // Each queue has two rings.
    let rings = 2 * u32::from(config.queues);
    let most = match config.device.or(config.port).unwrap() {
        device if device.contains("virtio") => 256 * rings,
        device if device.contains("af_xdp") => 2048 * rings,
        _ => 0,
    };
    let in_use = dpdk.buffers_in_use().unwrap();
    assert!(in_use <= most, "{in_use} buffers were kept: {:?}", dpdk.counters());
}

/// Writes the frames that each queue received.
fn say_queues(dpdk: &Dpdk) {
    let queues = dpdk.queues().unwrap();
    let words = queues.iter().map(|it| format!("{}/{}/{}", it.received, it.handed_on, it.taken_over));
    say(&format!("queues {}", words.collect::<Vec<_>>().join(" ")));
}

/// Echoes to every client, in two threads that share a listener. After `count` messages, writes what the
/// queues received.
fn serve_by_threads(at: &Addr, count: usize) {
    let dpdk = dpdk();
    let listener = runtime().block_on(dpdk.listen(at.clone())).unwrap();
    let echoed = Arc::new(AtomicUsize::new(0));
    say("ready");
    by_threads(async || {
        loop {
            let (connection, echoed, dpdk) = (listener.accept().await.unwrap(), echoed.clone(), dpdk.clone());
            tokio::spawn(async move {
                let mut messages = Vec::new();
                while let Ok(received) = connection.recv_batch(&mut messages, 64).await {
                    connection.send_batch(messages.drain(..)).await.unwrap();
                    let before = echoed.fetch_add(received, Ordering::Relaxed);
                    if before < count && before + received >= count {
                        say_queues(&dpdk);
                    }
                }
            });
        }
    });
}

/// Sends requests over several connections in each of two threads, and writes what the queues received.
fn ask_by_threads(to: &Addr, count: usize) {
    let dpdk = dpdk();
    by_threads(async || {
        let dpdk = &dpdk;
        let all = (0..CONNECTIONS / 2).map(|_| {
            let (dpdk, to) = (dpdk.clone(), to.clone());
            tokio::spawn(async move { ask_over(&dpdk, to, count / CONNECTIONS, 4).await })
        });
        for one in all.collect::<Vec<_>>() {
            one.await.unwrap();
        }
    });
    assert_nothing_is_kept(&dpdk);
    assert_eq!(dpdk.counters().unwrap().ring_full, 0);
    say_queues(&dpdk);
}

/// Sends messages to be echoed, and writes that none was lost and no buffer kept.
async fn ask(dpdk: Dpdk, to: Addr, count: usize) {
    meet(&dpdk, &to).await;
    ask_over(&dpdk, to, count, 16).await;
    assert_nothing_is_kept(&dpdk);
    say("done");
}

/// Repeats a message until its echo arrives. A peer that knew another process at this address asks for that process
/// first, for less than half a second, and its answers are lost meanwhile.
async fn meet(dpdk: &Dpdk, to: &Addr) {
    let connection = dpdk.connect(to.clone()).await.unwrap();
    for _ in 0..100 {
        connection.send(message(&connection, 0).unwrap()).await.unwrap();
        if tokio::time::timeout(Duration::from_millis(200), connection.recv()).await.is_ok() {
            return;
        }
    }
    panic!("no echo: {:?} {:?}", dpdk.counters(), dpdk.statistics());
}

/// Sends messages to be echoed over a single connection, bursts of `burst` at a time: a kernel socket has
/// little room.
async fn ask_over(dpdk: &Dpdk, to: Addr, count: usize, burst: usize) {
    let connection = dpdk.connect(to).await.unwrap();
    for first in (0..count).step_by(burst) {
        let messages: Vec<Buf> =
            (first..first + burst).map(|number| message(&connection, number).unwrap()).collect();
        connection.send_batch(messages.into_iter()).await.unwrap();
        for number in first..first + burst {
            let recv = tokio::time::timeout(Duration::from_secs(20), connection.recv()).await;
            let echo = recv.unwrap_or_else(|_| {
                panic!("echo {number} is missing: {:?} {:?}", dpdk.counters(), dpdk.statistics())
            });
            assert!(is_message(&echo.unwrap(), number), "echo {number}");
        }
    }
}

/// Sends messages to be echoed, and holds all echoes, so that the port receives into further buffers. Then does so
/// again, with the same buffers.
async fn ask_and_hold(to: Addr, count: usize) {
    let dpdk = dpdk();
    let connection = dpdk.connect(to).await.unwrap();
    for _ in 0..2 {
        let mut held = Vec::new();
        for number in 0..count {
            connection.send(message(&connection, number).unwrap()).await.unwrap();
            let recv = tokio::time::timeout(Duration::from_secs(20), connection.recv()).await;
            let echo =
                recv.unwrap_or_else(|_| panic!("echo {number} is missing: {:?}", dpdk.statistics())).unwrap();
            assert!(is_message(&echo, number), "echo {number}");
            held.push(echo);
        }
    }
    assert_nothing_is_kept(&dpdk);
    say("done");
}

/// Holds all echoes until the port is deaf, and writes when the port counts as stuck. Then gives the buffers back, and
/// writes when the port hears again.
async fn hold_all(to: Addr) {
    let dpdk = dpdk();
    let connection = dpdk.connect(to).await.unwrap();
    let mut held = Vec::new();
    // As many messages as the port has buffers pass one after another, beside other tests.
    let deadline = Instant::now() + Duration::from_secs(180);
    while dpdk.counters().unwrap().stuck == 0 {
        assert!(Instant::now() < deadline, "{:?} {:?}", dpdk.counters(), dpdk.statistics());
        // With all buffers held, nothing can be sent either.
        for _ in 0..64 {
            let _ = connection.send(Buf::copy_of(b"question", 0).unwrap()).await;
        }
        let _ = tokio::time::timeout(Duration::from_millis(2), connection.recv_batch(&mut held, 64)).await;
    }
    say("deaf");
    held.clear();
    meet(&dpdk, &connection.base().peer_addr()).await;
    say("hears");
}

/// Returns a message of which each word tells its message and its position. A message in three is as long as
/// the interface carries, the others are short, so that frames of both kinds come to lie in each place of the
/// port's rings.
fn mixed(number: usize, most: usize) -> Vec<u8> {
    let len = if number.is_multiple_of(3) { most } else { 64 };
    (0..len / 4).flat_map(|word| ((number << 16 | word) as u32).to_be_bytes()).collect()
}

/// Sends messages up to the largest that the interface carries to be echoed, many at a time.
async fn ask_large(to: Addr, count: usize) {
    const BURST: usize = 128;
    let dpdk = dpdk();
    let connection = dpdk.connect(to).await.unwrap();
    let most = connection.base().mtu();
    // A server that has not accepted the connection yet queues only a few messages.
    connection.send(connection.base().buffer(1).unwrap()).await.unwrap();
    connection.recv().await.unwrap();
    for first in (0..count).step_by(BURST) {
        let burst = (first..first + BURST).map(|number| {
            let bytes = mixed(number, most);
            let mut message = connection.base().buffer(bytes.len()).unwrap();
            message.copy_from_slice(&bytes);
            message
        });
        connection.send_batch(burst).await.unwrap();
        for number in first..first + BURST {
            let recv = tokio::time::timeout(Duration::from_secs(20), connection.recv()).await;
            let echo = recv.unwrap_or_else(|_| {
                panic!("echo {number} is missing: {:?} {:?}", dpdk.counters(), dpdk.statistics())
            });
            let echo = echo.unwrap();
            let (counters, port) = (dpdk.counters(), dpdk.statistics());
            assert!(
                *echo == mixed(number, most),
                "not echo {number}, but {} bytes {:?}: {counters:?} {port:?}",
                echo.len(),
                echo.first_chunk::<8>()
            );
        }
    }
    let mut told = Statistics::default();
    connection.observe(&mut told);
    let told: DpdkStatistics = *told.get().unwrap();
    assert!(told.port.is_some_and(|port| port.sent > 0), "{told:?}");
    drop(connection);
    assert_nothing_is_kept(&dpdk);
    let (counters, port) = (dpdk.counters().unwrap(), dpdk.statistics().unwrap());
    assert_eq!(counters.dropped() + counters.not_sent + counters.copied, 0, "{counters:?}");
    assert_eq!(port.missed + port.receive_errors + port.send_errors + port.no_mbuf, 0, "{port:?}");
    say(&format!("echoed {count} of up to {most}"));
}

/// Sends messages without waiting for answers.
async fn tell(to: Addr, count: usize) {
    let dpdk = dpdk();
    let connection = dpdk.connect(to).await.unwrap();
    for number in 0..count {
        connection.send(message(&connection, number).unwrap()).await.unwrap();
    }
    drop(connection);
    drop(dpdk);
    say("done");
}

/// Runs `too_large` in two threads, so that each queue learns how much the path carries.
fn too_large_by_threads(to: &Addr, carries: usize) {
    let dpdk = dpdk();
    by_threads(async || too_large(&dpdk, to, carries).await);
    say("done");
}

/// Sends messages as large as the interface carries, until a router says that the path carries no more than `carries` bytes in a packet.
async fn too_large(dpdk: &Dpdk, to: &Addr, carries: usize) {
    let connection = dpdk.connect(to.clone()).await.unwrap();
    let headers = if to.ip("test").unwrap().is_ipv4() { 28 } else { 48 };
    let started = Instant::now();
    // No peer answers, so sending also polls.
    while let Ok(message) = connection.base().buffer(1500 - headers) {
        assert!(started.elapsed() < Duration::from_secs(20), "it still fits: {:?}", dpdk.counters());
        match connection.send(message).await {
            Err(error) if error.kind() == ErrorKind::TooLarge => break,
            sent => sent.unwrap(),
        }
        let _ = tokio::time::timeout(Duration::from_millis(20), connection.recv()).await;
    }
    let fits = connection.base().mtu();
    assert_eq!(fits, carries - headers);
    let sent = connection.send(Buf::new(fits + 1, 0).unwrap()).await;
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::TooLarge);
    connection.send(connection.base().buffer(fits).unwrap()).await.unwrap();
    // The path is the same for the next connection.
    assert_eq!(dpdk.connect(to.clone()).await.unwrap().base().mtu(), fits);
}

/// Echoes as `serve` does, with a kernel socket.
fn kernel_serve(at: &str) {
    let socket = UdpSocket::bind(at).unwrap();
    say("ready");
    let mut bytes = [0; 2048];
    while let Ok((len, from)) = socket.recv_from(&mut bytes) {
        socket.send_to(&bytes[..len], from).unwrap();
    }
}

/// Sends messages one at a time to be echoed, with a kernel socket.
fn kernel_ask(to: &str, count: usize) {
    let socket = UdpSocket::bind(if to.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" }).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.connect(to).unwrap();
    let mut bytes = [0; 2048];
    for number in 0..count {
        let mut message = vec![number as u8; 8 + LENGTHS[number % LENGTHS.len()]];
        message[..8].copy_from_slice(&number.to_be_bytes());
        socket.send(&message).unwrap();
        let len = socket.recv(&mut bytes).unwrap();
        assert!(is_message(&bytes[..len], number), "echo {number}");
    }
    say("done");
}
