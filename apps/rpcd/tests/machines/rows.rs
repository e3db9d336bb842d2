//! Large rows, which stay in the heap of their application until the kernel has taken them.

use crate::hotel::{Empty, Hotel, Ping, Reserve, Running, flip, request, serve};
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha_chunnels::rpc::FailureKind;
use bertha_core::Buf;
use bertha_managed::application::Client;
use bertha_managed::engines::built_in;
use bertha_managed::{Descriptor, Order, Service};
use bertha_rpcd::{Change, Peers, Route, Sending, Settings};
use bertha_schemas::{Frame, Limits, Plan, PrivateMemory, Schema};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const SOON: Duration = Duration::from_secs(30);

/// Number of bytes that no socket takes at once.
const MUCH: usize = 16 << 20;

/// Returns a daemon whose calls go to this address, with heaps of so many bytes.
fn near(to: SocketAddr, heap: usize) -> Running {
    let routes = vec![("hotel".into(), Route::from(to).into())];
    let peers = Peers { routes, ..Peers::default() };
    Running::with(Settings { heap, peers, ..Settings::default() })
}

/// A daemon in whose place a test takes calls, as fast as it likes.
macro_rules! peer {
    ($incoming:ident, $addr:ident) => {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let mut $incoming = make_stack!().listen(Tcp::new().largest(80 << 20), any).await.unwrap();
        let $addr: SocketAddr = $incoming.local_addr().to_string().parse().unwrap();
    };
}

/// Takes the next connection of a daemon, which wants to call.
macro_rules! take {
    ($incoming:ident) => {{
        let connection = $incoming.next().await.unwrap();
        connection.recv().await.unwrap();
        connection.send(Buf::copy_of(&[0], 64).unwrap()).await.unwrap();
        // The daemon hears it.
        sleep(Duration::from_millis(100)).await;
        connection
    }};
}

/// Returns what a message of a daemon says, and the longest run of one byte in it, with the byte.
fn read(message: &[u8]) -> (Descriptor, usize, u8) {
    let longest = message.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).unwrap();
    (Descriptor::read(message.first_chunk().unwrap()).unwrap(), longest.len(), longest[0])
}

fn text(number: usize, len: usize) -> String {
    String::from(char::from(b'a' + number as u8 % 26)).repeat(len)
}

/// Makes a first call, for which the daemon connects: it is copied, since nobody is there yet.
async fn connect(client: &Client<Hotel>) {
    let _cancelled = timeout(Duration::from_millis(200), client.call::<Ping>(Empty {}, None)).await;
}

#[tokio::test]
async fn requests_and_responses_with_rows_of_all_kinds_arrive() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    let client = near.client().await;
    client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    let lengths = [8191, 8192, 8193, 1, 0, 100_001, 8 << 20, 3];
    for number in 0..lengths.len() {
        let names: Vec<_> = lengths[number..].iter().enumerate().map(|(at, len)| text(at, *len)).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let customer = text(number, lengths[number]);
        let asked = request(&client.heap(), &customer, 1, &names);
        let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        assert!(response.room.as_str() == format!("{customer}: {}", names.join(", ")), "{number}");
    }
}

#[tokio::test]
async fn more_rows_than_a_system_call_takes_arrive() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    let client = near.client().await;
    client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    let names: Vec<_> = (0..1500).map(|number| text(number, 8200)).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let response =
        client.call::<Reserve>(request(&client.heap(), "ada", 1, &names), Some(SOON)).await.unwrap();
    assert!(response.room.as_str() == format!("ada: {}", names.join(", ")));
}

#[tokio::test]
async fn no_block_is_used_again_before_it_was_sent_to_a_slow_reader() {
    peer!(incoming, addr);
    let near = near(addr, 256 << 20);
    let client = Arc::new(near.client().await);
    connect(&client).await;
    let connection = take!(incoming);
    // Each takes a sixteenth of the heap, so later ones lie where earlier ones lay, once those were sent.
    let calling = tokio::spawn({
        let client = Arc::clone(&client);
        async move {
            for number in 0..40 {
                let asked = request(&client.heap(), "ada", number as i32, &[&text(number, 4 << 20)]);
                let _cancelled =
                    timeout(Duration::from_millis(20), client.call::<Reserve>(asked, None)).await;
            }
        }
    });
    // Those that are cancelled while they wait are not sent. Of the others, each is later than the one before.
    let (mut seen, mut next) = (0, 0);
    while let Ok(message) = timeout(Duration::from_secs(1), connection.recv()).await {
        let (Descriptor::Request { method: 1, .. }, len, byte) = read(&message.unwrap()) else { continue };
        let number = (next..40).find(|number| b'a' + number % 26 == byte);
        assert_eq!(len, 4 << 20, "call {next}");
        next = number.unwrap_or_else(|| panic!("{byte} behind {next}")) + 1;
        seen += 1;
        sleep(Duration::from_millis(30)).await;
    }
    assert!(seen > 4, "{seen} are sent");
    calling.await.unwrap();
}

#[tokio::test]
async fn an_application_that_goes_within_a_row_leaves_the_row_to_the_kernel() {
    peer!(incoming, addr);
    let near = near(addr, 256 << 20);
    let client = near.client().await;
    connect(&client).await;
    let connection = take!(incoming);
    let asked = request(&client.heap(), "ada", 1, &[&text(7, MUCH)]);
    let cut = timeout(Duration::from_millis(300), client.call::<Reserve>(asked, None)).await;
    assert!(cut.is_err());
    drop(client);
    sleep(Duration::from_millis(200)).await;
    let received = async {
        loop {
            let message = connection.recv().await.unwrap();
            if let (Descriptor::Request { method: 1, .. }, len, byte) = read(&message) {
                return (len, byte);
            }
        }
    };
    assert_eq!(timeout(SOON, received).await.unwrap(), (MUCH, b'h'));
}

#[tokio::test]
async fn a_call_that_is_cancelled_within_a_row_is_heard_whole_and_the_next_is_right() {
    peer!(incoming, addr);
    let near = near(addr, 256 << 20);
    let client = near.client().await;
    connect(&client).await;
    let connection = take!(incoming);
    for number in 0..3 {
        let asked = request(&client.heap(), "ada", 1, &[&text(number, MUCH)]);
        let cut = timeout(Duration::from_millis(100), client.call::<Reserve>(asked, None)).await;
        assert!(cut.is_err());
    }
    // The second and the third were cancelled while they waited for the first, and are not heard.
    let next = client.call::<Reserve>(request(&client.heap(), "ada", 1, &[&text(3, MUCH)]), None);
    let hearing = async {
        let (mut heard, mut is_cancelled) = (Vec::new(), false);
        while heard.len() < 2 {
            let message = timeout(SOON, connection.recv()).await.unwrap().unwrap();
            match read(&message) {
                (Descriptor::Request { call, method: 1, .. }, len, byte) => heard.push((call, len, byte)),
                (Descriptor::Cancellation { call }, ..) => {
                    is_cancelled |= heard.first().is_some_and(|(first, ..)| *first == call);
                }
                _ => {}
            }
        }
        assert!(is_cancelled);
        assert_eq!([heard[0].1, heard[1].1], [MUCH; 2]);
        assert_eq!([heard[0].2, heard[1].2], [b'a', b'd']);
    };
    tokio::select! {
        outcome = next => panic!("nobody answers: {:?}", outcome.err()),
        () = hearing => {}
    }
}

#[tokio::test]
async fn a_peer_that_goes_within_a_row_fails_the_call_and_leaves_no_memory_taken() {
    peer!(incoming, addr);
    let near = near(addr, 64 << 20);
    let client = near.client().await;
    // More than the heap holds at once.
    for number in 0..8 {
        let first = client.call::<Ping>(Empty {}, Some(Duration::from_secs(3)));
        let taken = async { take!(incoming) };
        let (_, connection) = tokio::join!(async { timeout(Duration::from_millis(100), first).await }, taken);
        let asked = request(&client.heap(), "ada", 1, &[&text(number, MUCH)]);
        let ended = async {
            sleep(Duration::from_millis(100)).await;
            drop(connection);
        };
        let (failed, ()) = tokio::join!(client.call::<Reserve>(asked, Some(SOON)), ended);
        let failed = failed.unwrap_err();
        assert_eq!((failed.kind(), failed.may_have_run()), (FailureKind::Unavailable, true), "{failed}");
    }
}

#[tokio::test]
async fn rows_for_a_peer_that_does_not_read_take_the_room_of_frames() {
    peer!(incoming, addr);
    let near = near(addr, 32 << 20);
    let (one, other) = (near.client().await, near.client().await);
    connect(&one).await;
    let _connection = take!(incoming);
    let calls = [&one, &one, &other, &other].map(|client| {
        let asked = request(&client.heap(), "ada", 1, &[&text(1, 14 << 20)]);
        client.call::<Reserve>(asked, Some(Duration::from_secs(2)))
    });
    let outcomes = futures_util::future::join_all(calls).await;
    let kinds: Vec<_> = outcomes.into_iter().map(|outcome| outcome.unwrap_err().kind()).collect();
    // The kernel may have the first in part before the third comes.
    let overloaded = kinds.iter().filter(|kind| **kind == FailureKind::Overloaded).count();
    assert!((1..=2).contains(&overloaded), "{kinds:?}");
}

#[tokio::test]
async fn text_that_changes_while_it_is_sent_is_right_or_refused_and_harms_no_other_call() {
    let [near, far] = Running::pair(None);
    let _serving = serve(far.server().await);
    let (client, other) = (near.client().await, near.client().await);
    client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    let (mut refused, mut answered) = (0, 0);
    for _ in 0..100 {
        let asked = request(&client.heap(), "ada", 1, &[&text(1, 1 << 20)]);
        let ended = Arc::new(AtomicBool::new(false));
        let flipping = flip(&asked.guests[0], Arc::clone(&ended));
        let right = async {
            let asked = request(&other.heap(), &text(2, 10_000), 7, &[]);
            let response = other.call::<Reserve>(asked, Some(SOON)).await.unwrap();
            assert!(response.price == 700 && response.room.as_str() == format!("{}: ", text(2, 10_000)));
        };
        let (outcome, ()) = tokio::join!(client.call::<Reserve>(asked, Some(SOON)), right);
        ended.store(true, Ordering::Relaxed);
        flipping.join().unwrap();
        match outcome {
            Ok(response) => {
                assert!(response.room.as_str().bytes().all(|byte| b"ada: bB".contains(&byte)));
                answered += 1;
            }
            Err(failure) => {
                assert_eq!(failure.kind(), FailureKind::Malformed, "{failure}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && refused + answered == 100, "{refused} were refused, {answered} were answered");
}

/// Returns the request in a message of a daemon, copied as a receiver does.
fn copy(message: &[u8]) -> Vec<u8> {
    let schema = Schema::read(Hotel::descriptors()).unwrap();
    let plan = Plan::new(&schema);
    let (descriptor, _, _) = read(message);
    let mut copy = PrivateMemory::of(80 << 20);
    let request = plan.message("hotel.Request").unwrap();
    plan.copy(request, &Frame::of(message), descriptor.message().at, &mut copy, Limits::default()).unwrap();
    copy.as_bytes().to_vec()
}

/// A list reads one field: rows of other fields stay in the heap, and those of the field are copied.
#[tokio::test]
async fn rows_that_no_engine_reads_stay_where_they_are() {
    peer!(incoming, addr);
    let near = near(addr, 256 << 20);
    let client = near.client().await;
    connect(&client).await;
    let connection = take!(incoming);
    let acl = built_in().into_iter().find(|kind| kind.name() == "acl").unwrap();
    let settings = "field=customer deny=eve".parse().unwrap();
    near.operator.change("hotel", &Change::Add { name: "acl".into(), kind: acl, settings }).unwrap();
    for (customer, guest, are_left) in [(3, 20_000, true), (20_000, 3, false)] {
        let mut messages = Vec::new();
        for way in [Sending::Writev, Sending::Copy] {
            near.operator.send_by("hotel", way);
            let asked = request(&client.heap(), &text(1, customer), 1, &[&text(2, guest), "last"]);
            let calling = timeout(Duration::from_millis(20), client.call::<Reserve>(asked, None));
            let receiving = async {
                loop {
                    let message = timeout(SOON, connection.recv()).await.unwrap().unwrap();
                    if let (Descriptor::Request { method: 1, .. }, ..) = read(&message) {
                        return message;
                    }
                }
            };
            messages.push(tokio::join!(calling, receiving).1);
        }
        assert!(copy(&messages[0]) == copy(&messages[1]));
        assert_eq!(messages[0][64..] != messages[1][64..], are_left, "rows behind the frame");
    }
}

#[tokio::test]
async fn all_ways_of_rows_bring_the_same_messages_and_change_while_calls_flow() {
    peer!(incoming, addr);
    let near = near(addr, 256 << 20);
    let client = near.client().await;
    connect(&client).await;
    let connection = take!(incoming);
    let mut differing = 0;
    for number in 0..30 {
        // Any lengths, on both sides of that of rows that are left.
        let lengths: Vec<_> = (0..number % 8).map(|at| (number * 7919 + at * 104_729) % 20_000).collect();
        let mut messages = Vec::new();
        for way in ["writev", "write", "copy"] {
            let order = Order::Send { service: "hotel".into(), by: way.into() };
            order.give(&near.path).await.unwrap();
            let names: Vec<_> = lengths.iter().enumerate().map(|(at, len)| text(number + at, *len)).collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let asked = request(&client.heap(), &text(number, 9_000), number as i32, &names);
            let calling = timeout(Duration::from_millis(20), client.call::<Reserve>(asked, None));
            let receiving = async {
                loop {
                    let message = timeout(SOON, connection.recv()).await.unwrap().unwrap();
                    if let (Descriptor::Request { method: 1, .. }, ..) = read(&message) {
                        return message;
                    }
                }
            };
            let (_cancelled, message) = tokio::join!(calling, receiving);
            messages.push(message);
        }
        let [writev, write, copied] = &messages[..] else { panic!("there are three ways") };
        assert!(writev[64..] == write[64..], "system calls leave no trace on the wire");
        assert!(copy(writev) == copy(copied), "{lengths:?}");
        differing += usize::from(writev[64..] != copied[64..]);
    }
    assert!(differing > 10, "rows are behind the frame, or between what is copied: {differing}");
    let wrong =
        Order::Send { service: "hotel".into(), by: "sendfile".into() }.give(&near.path).await.unwrap_err();
    assert!(wrong.to_string().contains("writev, write or copy"), "{wrong}");
    near.operator.send_by("hotel", Sending::Write);
    assert!(near.operator.list().contains("(sent by write)"), "{}", near.operator.list());
}
