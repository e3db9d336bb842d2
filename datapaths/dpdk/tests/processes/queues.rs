//! Several queues, each with a thread of its own.

use super::child::{Child, Role};
use super::has_dpdk;
use super::namespaces::Namespaces;

/// Number of a client's connections, half of them in each of its threads.
pub(crate) const CONNECTIONS: usize = 8;

/// The frames that a queue received, as a child writes them.
#[derive(Debug)]
struct Queue {
    received: u64,
    handed_on: u64,
    taken_over: u64,
}

/// Parses the counts of the queues, written as `queues 1/2/3 4/5/6`.
fn queues(said: &str) -> Vec<Queue> {
    let words = said.strip_prefix("queues ").unwrap().split(' ');
    let queue = |word: &str| {
        let mut numbers = word.split('/').map(|number| number.parse().unwrap());
        let mut next = || numbers.next().unwrap();
        Queue { received: next(), handed_on: next(), taken_over: next() }
    };
    words.map(queue).collect()
}

#[test]
fn both_ends_of_a_memif_find_the_same_queues() {
    if !has_dpdk() {
        return;
    }
    const MESSAGES: usize = 32_000;
    let socket = std::env::temp_dir().join(format!("bertha-memif-queues-{}", std::process::id()));
    let _ = std::fs::remove_file(&socket);
    let device =
        |role: &str| format!("net_memif0,role={role},socket={},socket-abstract=no", socket.display());
    let start = |role: &str, side: &str, address: &str| {
        Child::start(&Role {
            role,
            about: "10.0.0.1:9",
            count: MESSAGES,
            settings: &[("DEVICE", &device(side)), ("ADDRESS", address), ("QUEUES", "2")],
            within: &[],
            unprivileged: true,
        })
    };
    let mut server = start("serve-threads", "server", "10.0.0.1/24");
    assert_eq!(server.says(), "ready");
    let mut client = start("ask-threads", "client", "10.0.0.2/24");
    for (side, queues) in [("client", queues(&client.says())), ("server", queues(&server.says()))] {
        assert!(queues.iter().all(|queue| queue.received > 1000), "{side}: {queues:?}");
        // The client's ports were chosen so that answers arrive in the thread that waits for them, and the
        // server computes the same queue for each port.
        assert!(queues.iter().all(|queue| queue.handed_on == 0), "{side}: {queues:?}");
    }
}

/// The port has a single queue, and shall look like a port with two; the kernel is its peer.
#[test]
fn frames_of_a_single_queue_are_handed_to_the_others() {
    let Some(namespaces) = Namespaces::new("bqs") else { return };
    const MESSAGES: usize = 3_200;
    let settings =
        [("DEVICE", "net_af_packet0,iface=va"), ("ADDRESS", "10.99.0.1/24,fd99::1/64"), ("QUEUES", "2")];
    for (at, to) in [("0.0.0.0:7", "10.99.0.2:7"), ("[::]:8", "[fd99::2]:8")] {
        let mut server = namespaces.child("b", "kernel-serve", at, 0, &[]);
        assert_eq!(server.says(), "ready");
        let mut client = namespaces.child("a", "ask-threads", to, MESSAGES, &settings);
        let queues = queues(&client.says());
        let half = MESSAGES as u64 / 2;
        // Some frames have arrived more often: questions about neighbours.
        assert!(queues[0].received >= 2 * half && queues[1].received == 0, "{queues:?}");
        assert!(queues[0].handed_on >= half && queues[1].handed_on == 0, "{queues:?}");
        assert!(queues[1].taken_over >= half, "{queues:?}");
    }
    let mut server = namespaces.child("a", "serve-threads", "0.0.0.0:9", MESSAGES, &settings);
    assert_eq!(server.says(), "ready");
    let clients: Vec<Child> = (0..CONNECTIONS)
        .map(|_| namespaces.child("b", "kernel-ask", "10.99.0.1:9", MESSAGES / CONNECTIONS, &[]))
        .collect();
    for mut client in clients {
        assert_eq!(client.says(), "done");
    }
    let queues = queues(&server.says());
    assert!(queues[0].received >= MESSAGES as u64 && queues[1].received == 0, "{queues:?}");
    assert_eq!(
        namespaces
            .run("b", &["ping", "-c", "2", "-i", "0.1", "-W", "5", "10.99.0.1"])
            .matches("bytes from")
            .count(),
        2
    );
}

/// The kernel spreads frames over the sockets of a port by a hash of its own, so some frames have to be
/// handed over.
#[test]
fn a_port_may_spread_as_it_likes() {
    let Some(namespaces) = Namespaces::new("bql") else { return };
    let settings = [
        ("DEVICE", "net_af_packet0,iface=va,qpairs=2"),
        ("ADDRESS", "10.99.0.1/24,fd99::1/64"),
        ("QUEUES", "2"),
    ];
    let mut server = namespaces.child("b", "kernel-serve", "0.0.0.0:7", 0, &[]);
    assert_eq!(server.says(), "ready");
    let mut client = namespaces.child("a", "ask-threads", "10.99.0.2:7", 3_200, &settings);
    let queues = queues(&client.says());
    assert!(queues.iter().map(|queue| queue.received).sum::<u64>() >= 3_200, "{queues:?}");
    // The kernel chooses the queue in which a connection's frames arrive; the connection's own queue gets
    // them.
    let sum = |count: fn(&Queue) -> u64| queues.iter().map(count).sum::<u64>();
    assert!(sum(|queue| queue.taken_over) >= sum(|queue| queue.handed_on), "{queues:?}");
}
