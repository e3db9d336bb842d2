//! `Fragment` on paths that silently drop messages that are too large.

use bertha_chunnels::fragment::FragmentConnection;
use bertha_chunnels::{Fragment, Ordered, Reliable};
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Runtime, Wrap, make_stack};
use bertha_datapath_sim::{Link, Network, Sim, SimConnection, SimDatapath, Verdict};
use bertha_negotiation::{Negotiate, Runs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// A network whose path drops packets larger than `carries`.
struct Path {
    network: Network,
    carries: Arc<AtomicUsize>,
    /// Number of datagrams that were dropped because they were too large.
    dropped: Arc<AtomicU64>,
}

fn simulate(seed: u64, link: Link, test: impl AsyncFn(&Path)) {
    let mut sim = Sim::new(seed);
    let network = sim.network().clone();
    network.set_link(Link { delay: Duration::from_millis(10), ..link });
    let (carries, dropped) = (Arc::new(AtomicUsize::new(9_000)), Arc::new(AtomicU64::new(0)));
    let (limit, count) = (carries.clone(), dropped.clone());
    network.tap(move |datagram| {
        if datagram.payload.len() <= limit.load(Relaxed) {
            return Verdict::Pass;
        }
        count.fetch_add(1, Relaxed);
        Verdict::Drop
    });
    sim.run(test(&Path { network, carries, dropped }));
}

/// Returns a link of interfaces that take jumbo frames.
fn jumbo() -> Link {
    Link { mtu: 9_000, ..Link::default() }
}

impl Path {
    /// Returns two ends with a base connection each. The first message makes the server's connection.
    async fn ends(&self) -> [SimConnection; 2] {
        let listener = self.network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await.unwrap();
        let client = self.network.host(CLIENT).connect(listener.local_addr()).await.unwrap();
        let knock = async {
            loop {
                client.send(Buf::copy_of(b"\xffknock", 0).unwrap()).await.unwrap();
                self.sleep(50).await;
            }
        };
        let server = tokio::select! {
            server = listener.accept() => server.unwrap(),
            () = knock => unreachable!("it knocks for ever"),
        };
        std::mem::forget(listener);
        [client, server]
    }

    /// Returns two ends that receive all the time, and send the messages that the test gives them.
    async fn fragmenting(&self) -> [Arc<FragmentConnection<SimConnection>>; 2] {
        let ends = self.ends().await;
        let stack = Fragment::new().discover_path();
        let mut wrapped = Vec::new();
        for end in ends {
            let end = Arc::new(stack.wrap(end).await.unwrap());
            let receiver = end.clone();
            std::mem::forget(
                self.network.runtime().spawn(async move { while receiver.recv().await.is_ok() {} }),
            );
            wrapped.push(end);
        }
        wrapped.try_into().unwrap()
    }

    async fn sleep(&self, ms: u64) {
        self.network.runtime().sleep(Duration::from_millis(ms)).await;
    }
}

fn message(len: usize) -> Buf {
    Buf::new(len, 64).unwrap()
}

#[test]
fn the_path_is_found_and_used() {
    for (carries, least) in [(9_000, 8_952), (1_472, 1_472), (1_400, 1_392), (1_250, 1_214)] {
        simulate(1, jumbo(), async |path| {
            path.carries.store(carries, Relaxed);
            let [here, there] = path.fragmenting().await;
            path.sleep(40_000).await;
            for end in [&here, &there] {
                let found = end.path_mtu().unwrap();
                assert!((least..=carries).contains(&found), "{found} on a path of {carries}");
            }
            // From now on the path drops no datagram, since the end knows its limit.
            let before = path.dropped.load(Relaxed);
            for len in [1, 1_200, 1_471, 5_000, 100_000] {
                here.send(message(len)).await.unwrap();
            }
            assert_eq!(path.dropped.load(Relaxed), before, "of a path of {carries}");
        });
    }
}

#[test]
fn a_path_that_shrinks_is_used_again_within_half_a_minute() {
    simulate(2, jumbo(), async |path| {
        let [here, _there] = path.fragmenting().await;
        path.sleep(5_000).await;
        assert_eq!(here.path_mtu(), Some(9_000));
        path.carries.store(1_300, Relaxed);
        for _ in 0..300 {
            here.send(message(5_000)).await.unwrap();
            path.sleep(100).await;
        }
        assert!(here.path_mtu().unwrap() <= 1_300, "{:?} is a black hole", here.path_mtu());
        let before = path.dropped.load(Relaxed);
        here.send(message(50_000)).await.unwrap();
        assert_eq!(path.dropped.load(Relaxed), before);
    });
}

/// `Fragment` cuts messages anew that `Reliable` repeats, so all messages of the stack arrive although the
/// path changes.
#[test]
fn reliable_messages_survive_a_path_that_changes() {
    for seed in 0..20 {
        let link = Link { loss: 0.05, duplication: 0.02, reordering: 0.05, ..jumbo() };
        simulate(seed, link, async |path| {
            let stack =
                make_stack!(Ordered::new(), Reliable::new().packet(8_000), Fragment::new().discover_path());
            let [here, there] = path.ends().await;
            let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
            let send = async {
                for number in 0..400_u64 {
                    let mut message = message(3_000);
                    message[..8].copy_from_slice(&number.to_le_bytes());
                    here.send(message).await.unwrap();
                    if number % 100 == 50 {
                        let carries = [1_300, 600, 9_000, 1_472][(number / 100) as usize];
                        path.carries.store(carries, Relaxed);
                    }
                    path.sleep(20).await;
                }
                here.close().await.unwrap();
            };
            let receive = async {
                for number in 0..400_u64 {
                    let message = there.recv().await.unwrap();
                    assert_eq!(
                        (message.len(), &message[..8]),
                        (3_000, &number.to_le_bytes()[..]),
                        "seed {seed}"
                    );
                }
            };
            futures_util::join!(send, receive);
        });
    }
}

/// The kernel reports the MTU of an interface that carries Ethernet's 1,500 bytes, in a network namespace of
/// its own.
#[test]
fn the_kernels_datagrams_are_kept_whole() {
    use std::process::Command;
    let prepare = "ip link set lo mtu 1500 up";
    let can = Command::new("unshare").args(["-Urn", "sh", "-c", prepare]).status();
    if !can.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "no network namespace can be made here");
        eprintln!("SKIPPED: no network namespace can be made here");
        return;
    }
    let run = format!("{prepare} && exec \"$0\" --ignored --exact path_mtu::in_a_namespace");
    let status = Command::new("unshare")
        .args(["-Urn", "sh", "-c", &run])
        .arg(std::env::current_exe().unwrap())
        .status();
    assert!(status.unwrap().success());
}

#[tokio::test]
#[ignore = "the test above runs it where the interface has an MTU of 1500"]
async fn in_a_namespace() {
    use bertha_datapath_kernel::Udp;
    let datapath = Udp::new().keep_whole();
    let listener = datapath.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let stack = Fragment::new().discover_path();
    let client = stack.wrap(datapath.connect(listener.local_addr()).await.unwrap()).await.unwrap();
    let server = stack.wrap(listener.accept().await.unwrap()).await.unwrap();
    let found = async {
        while [client.path_mtu(), server.path_mtu()] != [Some(1_472); 2] {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = client.recv() => panic!("nothing was sent"),
        _ = server.recv() => panic!("nothing was sent"),
        () = found => {}
        () = tokio::time::sleep(Duration::from_secs(60)) =>
            panic!("{:?} and {:?}", client.path_mtu(), server.path_mtu()),
    }
    // A piece goes in one datagram, and the kernel refuses a message that is not cut.
    let large = async {
        client.send(message(100_000)).await.unwrap();
        server.recv().await.unwrap().len()
    };
    assert_eq!(large.await, 100_000);
    let plain = datapath.connect(listener.local_addr()).await.unwrap();
    assert_eq!(plain.send(message(1_473)).await.unwrap_err().kind(), bertha_core::ErrorKind::TooLarge);
    plain.send(message(1_472)).await.unwrap();
}

/// Streams have no limit to find, so no probe is sent.
#[tokio::test]
async fn streams_are_not_probed() {
    let (here, there) = bertha_datapath_sim::pair(bertha_datapath_kernel::TokioRuntime);
    let here = Fragment::new().discover_path().wrap(here).await.unwrap();
    assert_eq!(here.path_mtu(), None);
    here.send(message(3)).await.unwrap();
    assert_eq!(*there.recv().await.unwrap(), [0, 0, 0, 0]);
}

/// The ends negotiate over a path that carries 1,300 bytes with the headers of IPv4 and UDP.
#[test]
fn reliable_finds_out_that_a_path_loses_large_packets() {
    for seed in 0..20 {
        simulate(
            seed,
            Link { mtu: 1_472, loss: (seed % 3) as f64 / 100.0, ..Link::default() },
            async |path| {
                path.carries.store(1_272, Relaxed);
                through(path, make_stack!(Reliable::new())).await;
                through(path, make_stack!(Fragment::new(), Reliable::new())).await;
            },
        );
    }
}

/// Sends large messages over a connection with this stack, and expects them within three seconds.
async fn through<S>(path: &Path, stack: S)
where
    S: Negotiate + Clone + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Buf>>,
{
    let network = &path.network;
    let mut incoming = stack.clone().listen(network.host(SERVER), (SERVER, 0)).await.unwrap();
    let connecting = stack.connect(network.host(CLIENT), incoming.local_addr());
    let (here, there) = futures_util::join!(connecting.into_future(), incoming.next_or_refusal());
    let (here, there) = (here.unwrap(), there.unwrap().unwrap());
    let start = network.runtime().now();
    let sending = async {
        for _ in 0..100 {
            here.send(message(1_400)).await.unwrap();
        }
    };
    let receiving = async {
        for _ in 0..100 {
            assert_eq!(there.recv().await.unwrap().len(), 1_400);
        }
    };
    futures_util::join!(sending, receiving);
    let took = network.runtime().now() - start;
    assert!(took < Duration::from_secs(3), "took {took:?}");
}
