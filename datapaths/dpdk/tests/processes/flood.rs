//! A flood of first segments of TCP from strangers that do not exist, at a server with honest clients.

use super::child::say;
use super::namespaces::Namespaces;
use bertha_datapath_dpdk::{Burst, Config, Packet, Port};
use rand::RngExt;
use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of different segments, which are sent again and again.
const SEGMENTS: usize = 1 << 16;

/// Number of segments in a second. A program that is not optimised can't answer as many as are sent otherwise, and a
/// port whose ring is full loses honest frames too.
const RATE: usize = if cfg!(debug_assertions) { 10_000 } else { 120_000 };

/// Time after which a flood ends in any case.
const LONGEST: Duration = Duration::from_secs(20);

/// Number of honest clients, a few at a time.
const CLIENTS: usize = 64;
const AT_A_TIME: usize = 4;

/// Returns the Internet checksum of words that lie one after another in all parts.
fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    (!((folded >> 16) + (folded & 0xffff)) as u16).to_be_bytes()
}

/// Returns the frame with a first segment from a random address behind the router, as Linux writes it.
fn first_segment(macs: [[u8; 6]; 2], to: SocketAddrV4) -> [u8; 74] {
    let mut rng = rand::rng();
    let mut frame = [0; 74];
    frame[..6].copy_from_slice(&macs[0]);
    frame[6..12].copy_from_slice(&macs[1]);
    frame[12..14].copy_from_slice(&[8, 0]);
    let (ip, tcp) = frame[14..].split_at_mut(20);
    ip[..10].copy_from_slice(&[0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 6]);
    let [a, b] = rng.random::<[u8; 2]>();
    ip[12..16].copy_from_slice(&[198, 18 + a % 2, a, b]);
    ip[16..20].copy_from_slice(&to.ip().octets());
    let sum = checksum(&[ip]);
    ip[10..12].copy_from_slice(&sum);
    tcp[..2].copy_from_slice(&rng.random::<[u8; 2]>());
    tcp[2..4].copy_from_slice(&to.port().to_be_bytes());
    tcp[4..8].copy_from_slice(&rng.random::<[u8; 4]>());
    // Forty bytes, SYN, and a window.
    tcp[12..16].copy_from_slice(&[0xa0, 2, 0xfa, 0xf0]);
    // The largest segment, selective acknowledgements, a time stamp, and the scale of the window.
    tcp[20..40].copy_from_slice(&[2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7]);
    let sum = checksum(&[&ip[12..20], &[0, 6, 0, 40], tcp]);
    tcp[16..18].copy_from_slice(&sum);
    frame
}

/// Sends first segments through a socket of packets, as many in a second as `rate` says, or as fast as it takes them,
/// until the parent writes a line.
pub(crate) fn flood(server: &str, rate: usize) {
    let mut port = Port::open(&Config::from_env().unwrap()).unwrap_or_else(|error| panic!("{error:?}"));
    port.enter_thread();
    let (macs, to) = server.split_once('/').unwrap();
    let mac = macs.split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect::<Vec<u8>>();
    let macs = [mac.try_into().unwrap(), port.mac().0];
    let segments: Vec<_> = (0..SEGMENTS).map(|_| first_segment(macs, to.parse().unwrap())).collect();
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_line(&mut String::new());
        IS_OVER.store(true, Ordering::Relaxed);
    });
    say("flooding");
    let (began, mut sent, mut burst) = (Instant::now(), 0_u64, Burst::new());
    for number in (0..SEGMENTS).cycle() {
        let mut buffer = port.pool().buffer(segments[number].len(), 0).unwrap();
        buffer.copy_from_slice(&segments[number]);
        burst.push(Packet::from_buf(buffer).unwrap()).unwrap();
        if !burst.is_full() {
            continue;
        }
        while rate > 0 && sent as f64 > began.elapsed().as_secs_f64() * rate as f64 {
            std::thread::sleep(Duration::from_micros(50));
        }
        while !burst.is_empty() {
            sent += port.transmit(&mut burst) as u64;
        }
        if IS_OVER.load(Ordering::Relaxed) || began.elapsed() > LONGEST {
            break;
        }
    }
    let rate = (sent as f64 / began.elapsed().as_secs_f64()) as u64;
    say(&format!("{rate}"));
}

/// Returns the time until an honest client is connected and has an echo.
fn served(to: &str) -> Duration {
    let began = Instant::now();
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(LONGEST)).unwrap();
    // A framed message.
    stream.write_all(&[0, 0, 0, 1, b'x']).unwrap();
    let mut echo = [0; 5];
    stream.read_exact(&mut echo).unwrap();
    began.elapsed()
}

/// Asks as many clients, one after another, in each of a few threads.
pub(crate) fn crowd(to: &str) {
    let clients = || (0..CLIENTS / AT_A_TIME).map(|_| served(to)).collect::<Vec<_>>();
    let times: Vec<Duration> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(clients)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let in_time = times.iter().filter(|time| **time < Duration::from_secs(1)).count();
    say(&format!(
        "{} served, {in_time} within a second, slowest {:?}",
        times.len(),
        times.iter().max().unwrap()
    ));
}

#[test]
#[allow(clippy::print_stderr, reason = "the rate is what a person wants to know")]
fn a_flood_of_first_segments_keeps_no_client_out() {
    let Some(namespaces) = Namespaces::new("bfl") else { return };
    let mac = namespaces.run("a", &["cat", "/sys/class/net/va/address"]);
    let settings =
        [("DEVICE", "net_af_packet0,iface=va"), ("ADDRESS", "10.99.0.1/24"), ("GATEWAY", "10.99.0.2")];
    let mut server = namespaces.child("a", "tcp-serve", "10.99.0.1:9", 0, &settings);
    assert_eq!(server.says(), "ready");
    let raw = [("DEVICE", "net_af_packet0,iface=vb"), ("ADDRESS", "10.99.0.77/24")];
    let mut flood = namespaces.child("b", "syn-flood", &format!("{}/10.99.0.1:9", mac.trim()), RATE, &raw);
    assert_eq!(flood.says(), "flooding");
    // The flood is under way, and the room for strangers in the middle of the handshake is full.
    std::thread::sleep(Duration::from_millis(500));
    let said = namespaces.child("b", "crowd", "10.99.0.1:9", 0, &[]).says();
    flood.hears("\n");
    let rate = flood.says();
    eprintln!("{rate} first segments a second; {said}");
    assert!(said.starts_with(&format!("{CLIENTS} served")), "{said}");
    assert!(rate.parse::<usize>().unwrap() > RATE / 10, "no flood: {rate}");
}
