//! Where the kernel can't route, another alternative is picked, and the agreement has the reason.

use super::scene::{LONG, Message, Threads, map, request};
use bertha_chunnels::{Checksum, KernelShard, Noise, Serialize, ServerShard, shard::LocalShards};
use bertha_core::{Addr, Connection, Datapath, ErrorKind, make_stack, select};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::{Negotiate, Runs};
use bertha_tests::skip_anywhere;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use tokio::time::timeout;

/// Connects, and returns what the client and the server say of their agreement.
async fn agreements<S, C, D>(server: S, client: C, datapath: D) -> [String; 2]
where
    S: Negotiate + 'static,
    C: Negotiate,
    D: Datapath + Clone + Runs<S> + Runs<C>,
    <D as Runs<C>>::Out: Connection<Data = Message>,
{
    let on: Addr = "127.0.0.1:0".parse().unwrap();
    let mut incoming = server.listen(datapath.clone(), on).await.unwrap();
    let connecting = client.connect(datapath, incoming.local_addr());
    let both = async { tokio::join!(connecting, incoming.next()) };
    let (client, served) = timeout(LONG, both).await.unwrap();
    let (client, served) = (client.unwrap(), served.unwrap());
    client.send(request(1, "..key")).await.unwrap();
    [client.explain().to_string(), served.explain().to_string()]
}

/// Returns the alternatives of a server and of a client.
macro_rules! routing {
    () => {{
        let (local, queues) = LocalShards::<Message>::new(super::scene::SHARDS, 64);
        // The queues live on, so that the routing goes on.
        std::mem::forget(queues);
        let kernel = KernelShard::new(map()).serve(Threads::start());
        let server = select!(kernel, ServerShard::new(map()).local(local).unwrap());
        (server, select!(KernelShard::new(map()), ServerShard::new(map())))
    }};
}

fn says(agreements: [String; 2], reason: &str) {
    for agreement in agreements {
        assert!(agreement.starts_with("ServerShard / "), "{agreement}");
        assert!(
            agreement.contains("the server can't run KernelShard: ") && agreement.contains(reason),
            "{agreement}"
        );
    }
}

#[tokio::test]
async fn encryption_hides_the_keys() {
    let (server, client) = routing!();
    let server = make_stack!(server, Serialize::<Message>::new(), Noise::shared(&[7; 32]));
    let client = make_stack!(client, Serialize::<Message>::new(), Noise::shared(&[7; 32]));
    says(agreements(server, client, Udp::new()).await, "Noise below it does not carry each message apart");
}

#[tokio::test]
async fn streams_have_no_sockets_of_shards() {
    let (server, client) = routing!();
    let server = make_stack!(server, Serialize::<Message>::new());
    let client = make_stack!(client, Serialize::<Message>::new());
    says(agreements(server, client, Tcp::new()).await, "this datapath steers no messages to shards");
}

#[tokio::test]
async fn a_stack_that_changes_is_not_followed() {
    let (server, client) = routing!();
    let server = make_stack!(server, Serialize::<Message>::new(), Checksum::new()).upgradable();
    let client = make_stack!(client, Serialize::<Message>::new(), Checksum::new()).upgradable();
    says(agreements(server, client, Udp::new()).await, "the stack can change while it is in use");
}

/// Gives up what a process needs to load programs, for the current thread.
fn give_up_capabilities() {
    let mut sets = capabilities(None).unwrap();
    for capability in [CapabilitySet::BPF, CapabilitySet::SYS_ADMIN] {
        sets.effective.remove(capability);
        sets.permitted.remove(capability);
        sets.inheritable.remove(capability);
    }
    set_capabilities(None, sets).unwrap();
}

#[test]
fn a_process_without_the_capability_says_so() {
    let unprivileged = std::fs::read_to_string("/proc/sys/kernel/unprivileged_bpf_disabled");
    if unprivileged.is_ok_and(|disabled| disabled.trim() == "0") {
        return skip_anywhere("this system permits programs of any user");
    }
    let (server, client) = routing!();
    std::thread::spawn(move || {
        give_up_capabilities();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = make_stack!(server, Serialize::<Message>::new(), Checksum::new());
        let client = make_stack!(client, Serialize::<Message>::new(), Checksum::new());
        let agreements = runtime.block_on(agreements(server, client, Udp::new()));
        says(agreements, "which takes the capability CAP_BPF");

        let alone = make_stack!(
            KernelShard::new(map()).serve(Threads::start()),
            Serialize::<Message>::new(),
            Checksum::new()
        );
        let on: Addr = "127.0.0.1:0".parse().unwrap();
        let error = runtime.block_on(async { alone.listen(Udp::new(), on).await.map(drop) }).unwrap_err();
        assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Unavailable, Some("KernelShard")), "{error}");
    })
    .join()
    .unwrap();
}
