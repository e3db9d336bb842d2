//! The metrics of a program, and strangers at their address.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_core::ErrorKind;
use bertha_program::{Value, Watched, Watching};
use clap::Parser;
use std::io::{ErrorKind as SystemErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    watching: Watching,
}

fn begin(address: SocketAddr) -> Result<Watched, bertha_core::Error> {
    Arguments::parse_from(["program", "--metrics", &address.to_string()]).watching.begin("program")
}

/// Returns a program that is watched at an address.
fn watched() -> (Watched, SocketAddr) {
    let watched = begin(([127, 0, 0, 1], 0).into()).unwrap();
    let address = watched.metrics().unwrap();
    (watched, address)
}

/// Returns the answer until the server closes. A connection that the server resets is cut there.
fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut answer = Vec::new();
    // A server that refuses early may have closed before all is written.
    let _ = stream.write_all(request);
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() != SystemErrorKind::ConnectionReset => panic!("{error}"),
        _ => {}
    }
    String::from_utf8(answer).unwrap()
}

fn get(address: SocketAddr) -> String {
    ask(address, b"GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n")
}

#[test]
fn a_program_tells_its_own_metrics_beside_those_of_its_connections() {
    let (watched, address) = watched();
    watched.gauge("program_tasks", "Tasks.", || 7).unwrap();
    watched.counters("program_ends_total", "Ends.", "reason", || vec![("good", 1), ("bad", 2)]).unwrap();
    let again = watched.gauge("program_tasks", "Tasks.", || 8).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Invalid);
    assert_eq!(watched.counter("no name", "No.", || 1).unwrap_err().kind(), ErrorKind::Invalid);
    let text = get(address);
    for line in [
        "HTTP/1.1 200 OK\r",
        "# TYPE program_tasks gauge",
        "program_tasks 7",
        "program_ends_total{reason=\"bad\"} 2",
        "bertha_connections_ended_total 0",
    ] {
        assert!(text.lines().any(|it| it == line.trim_end()), "{line} in {text}");
    }
    drop(watched);
}

#[test]
fn a_metric_that_panics_costs_an_answer() {
    static HAS_FAULT: AtomicBool = AtomicBool::new(true);
    let (watched, address) = watched();
    let read = || if HAS_FAULT.load(Ordering::Relaxed) { panic!("a layer has a fault") } else { 7 };
    watched.gauge("program_tasks", "Tasks.", read).unwrap();
    assert!(get(address).starts_with("HTTP/1.1 500"));
    HAS_FAULT.store(false, Ordering::Relaxed);
    assert!(get(address).contains("program_tasks 7"));
}

#[test]
fn an_address_that_is_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = begin(address).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert!(error.to_string().contains(&format!("--metrics {address}")), "{error}");
}

#[test]
fn requests_that_read_no_metrics_are_refused_and_the_next_is_answered() {
    let (_watched, address) = watched();
    let long = format!("GET /metrics HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
    let requests: [(&[u8], &str); 7] = [
        (b"GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", "HTTP/1.1 404"),
        (b"GET /metrics/../x HTTP/1.1\r\nHost: [::1]\r\n\r\n", "HTTP/1.1 404"),
        (b"POST /metrics HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 1000000\r\n\r\n", "HTTP/1.1 405"),
        (b"HEAD /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n", "HTTP/1.1 200"),
        (long.as_bytes(), ""),
        (b"*1\r\n$4\r\nPING\r\n", "HTTP/1.1 400"),
        (&[0xff; 100_000], ""),
    ];
    for (request, wanted) in requests {
        let answer = ask(address, request);
        let shown = String::from_utf8_lossy(&request[..request.len().min(40)]);
        assert!(answer.starts_with(wanted) && !answer.contains("bertha_"), "{shown}: {answer}");
        assert!(get(address).contains("bertha_connections_ended_total"));
    }
}

/// Far more visitors than there are places.
#[test]
fn visitors_that_are_silent_or_do_not_read_hold_nobody_up() {
    let (_watched, address) = watched();
    let mut open = Vec::new();
    for number in 0..300 {
        let mut visitor = TcpStream::connect(address).unwrap();
        let begun: &[u8] =
            [&b""[..], b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n"][number % 3];
        visitor.write_all(begun).unwrap();
        open.push(visitor);
        if number % 10 == 0 {
            assert!(get(address).contains("bertha_connections_ended_total"), "{number}");
        }
    }
    assert!(get(address).contains("bertha_connections_ended_total"));
    // The oldest have made room.
    let waits = |visitor: &mut TcpStream| {
        visitor.set_nonblocking(true).unwrap();
        visitor.read(&mut [0]).is_err_and(|error| error.kind() == SystemErrorKind::WouldBlock)
    };
    let waiting = open.iter_mut().map(waits).filter(|waits| *waits).count();
    assert!((1..=64).contains(&waiting), "{waiting} wait");
}

/// Returns the resident memory of this process in MiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() >> 10
}

/// Pages of 12 MiB, of which readers take nothing.
#[test]
fn readers_of_long_pages_that_take_nothing_have_a_bounded_memory_and_hold_nobody_up() {
    let (watched, address) = watched();
    let read = || (0..12).map(|number| (vec![format!("{number}{}", "x".repeat(1 << 20))], Value::Counter(1)));
    watched.labelled("program_long_total", "Long.", &["name"], move || read().collect()).unwrap();
    assert!(get(address).len() > 12 << 20);
    let before = memory();
    let mut open = Vec::new();
    for _ in 0..50 {
        let mut reader = TcpStream::connect(address).unwrap();
        reader.write_all(b"GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n").unwrap();
        open.push(reader);
    }
    for _ in 0..5 {
        assert!(get(address).len() > 12 << 20);
        assert!(memory() < before + 250, "{} MiB, {before} before", memory());
    }
}

/// A page of another site, whose name a browser was led to take for this host, reads nothing.
#[test]
fn a_request_for_another_host_is_not_answered() {
    let address: SocketAddr = ([127, 0, 0, 1], 0).into();
    let arguments = ["program", "--metrics", &address.to_string(), "--metrics-name", "node.example"];
    let watched = Arguments::parse_from(arguments).watching.begin("program").unwrap();
    let address = watched.metrics().unwrap();
    let ask =
        |host: &[u8]| ask(address, &[&b"GET /metrics HTTP/1.1\r\nHost: "[..], host, b"\r\n\r\n"].concat());
    for own in ["node.example:9100", "10.0.0.1", "localhost"] {
        assert!(ask(own.as_bytes()).starts_with("HTTP/1.1 200 OK\r\n"), "{own}");
    }
    for other in [&b"evil.example"[..], b"\xff"] {
        let answer = ask(other);
        assert!(answer.starts_with("HTTP/1.1 421 ") && !answer.contains("bertha_"), "{answer}");
        assert!(answer.contains("--metrics-name"), "{answer}");
    }
}
