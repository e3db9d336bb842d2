//! The service of these tests, and two ends that are connected.

use bertha_chunnels::reliable::ReliableConnection;
use bertha_chunnels::rpc::{
    Failure, FuseRpcAndTls, Message, Method, Reply, Request, RpcConnection, Service, decode, encode,
};
use bertha_chunnels::{Ordered, Postcard, Reliable, Rpc, Tls, TlsIdentity, Trust};
use bertha_core::{BoxConnection, Buf, Connection, Datapath, Listener, Wrap, make_stack, optimize};
use bertha_datapath_sim::{Network, SimConnection, SimRuntime};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Doubles a number.
pub(crate) const DOUBLE: Method = Method::new("double");
/// Doubles a number, after a wait of as many milliseconds.
pub(crate) const SLOWLY: Method = Method::new("slowly");
/// Counts to a number.
pub(crate) const COUNT: Method = Method::new("count");
/// Fails.
pub(crate) const FAIL: Method = Method::new("fail");
/// A method that no service has.
pub(crate) const NONE: Method = Method::new("none");

/// The format of requests and responses.
const CODEC: Postcard = Postcard;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Answers numbers, and counts the requests for each number.
#[derive(Clone)]
pub(crate) struct Numbers {
    pub(crate) runtime: SimRuntime,
    pub(crate) asked: Arc<Mutex<HashMap<u64, usize>>>,
    pub(crate) running: Arc<AtomicUsize>,
}

/// Counts a handler from its begin to its end, however it ends.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, SeqCst);
        Self(running.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Numbers {
    pub(crate) fn new(network: &Network) -> Self {
        let (asked, running) = Default::default();
        Self { runtime: network.runtime().clone(), asked, running }
    }
}

impl Service for Numbers {
    type Response = u64;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, u64>, Failure> {
        let _running = Running::new(&self.running);
        let number: u64 = request.decode(&CODEC)?;
        *self.asked.lock().unwrap().entry(number).or_default() += 1;
        if request.is(DOUBLE) {
            return Ok(Reply::One(2 * number));
        }
        if request.is(SLOWLY) {
            self.runtime.sleep(Duration::from_millis(number)).await;
            return Ok(Reply::One(2 * number));
        }
        if request.is(COUNT) {
            let (running, runtime) = (Running::new(&self.running), self.runtime.clone());
            let numbers = futures_util::stream::unfold(
                (0, running, runtime),
                move |(at, running, runtime)| async move {
                    // Now and then the stream has to wait.
                    if at % 7 == 3 {
                        runtime.sleep(Duration::from_millis(1)).await;
                    }
                    (at < number).then(|| (Ok(at), (at + 1, running, runtime)))
                },
            );
            return Ok(Reply::Several(Box::pin(numbers)));
        }
        if request.is(FAIL) {
            return Err(Failure::new(format!("{number} is refused")));
        }
        Err(request.unknown())
    }

    fn encode(&self, response: &u64, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        encode(&CODEC, response, into)
    }
}

/// The messages are encoded by the codec.
#[test]
fn what_is_encoded_is_decoded() {
    let mut bytes = [0; 8];
    assert_eq!(encode(&CODEC, &7_000_000_u64, &mut bytes).unwrap(), Some(4));
    assert_eq!(decode::<u64, _>(&CODEC, &bytes[..4]).unwrap(), 7_000_000);
    assert_eq!(encode(&CODEC, &7_000_000_u64, &mut bytes[..3]).unwrap(), None);
}

/// One end of a connection.
pub(crate) type End = RpcConnection<ReliableConnection<SimConnection>>;

/// Returns a client's connection and a server's connection, over the network with its faults.
pub(crate) async fn ends(network: &Network) -> [End; 2] {
    let [client, server] = bare(network).await;
    let stack = make_stack!(Rpc::new(), Reliable::new());
    [stack.wrap(client).await.unwrap(), stack.wrap(server).await.unwrap()]
}

/// An end over TLS.
pub(crate) type SecuredEnd = BoxConnection<Message, <SimConnection as Connection>::Base>;

/// Returns a client's connection and a server's connection over TLS. The seed decides if an end has one
/// Chunnel for calls and TLS, or two.
pub(crate) async fn ends_with_tls(network: &Network, seed: u64) -> [SecuredEnd; 2] {
    let made = rcgen::generate_simple_self_signed(["numbers.example".to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
    let trust = Trust::ca_pem(made.cert.pem()).unwrap();
    let [client, server] = bare(network).await;
    let client = over_tls(client, Tls::client("numbers.example", trust).unwrap(), seed.is_multiple_of(2));
    let server = over_tls(server, Tls::server(identity).unwrap(), (seed / 2).is_multiple_of(2));
    let (client, server) = futures_util::join!(client, server);
    [client, server]
}

async fn over_tls(base: SimConnection, tls: Tls, is_fused: bool) -> SecuredEnd {
    let stack = make_stack!(Rpc::new(), tls, Ordered::new(), Reliable::new());
    if is_fused {
        BoxConnection::new(optimize!(stack, FuseRpcAndTls).wrap(base).await.unwrap())
    } else {
        BoxConnection::new(stack.wrap(base).await.unwrap())
    }
}

/// Returns the two connections below the stacks.
async fn bare(network: &Network) -> [SimConnection; 2] {
    let listener = network.host(SERVER).listen((SERVER, 7).into()).await.unwrap();
    let client = network.host(CLIENT).connect(listener.local_addr()).await.unwrap();
    let knock = async {
        loop {
            client.send(Buf::copy_of(b"knock", 0).unwrap()).await.unwrap();
            network.runtime().sleep(Duration::from_millis(50)).await;
        }
    };
    let server = tokio::select! {
        server = listener.accept() => server.unwrap(),
        () = knock => unreachable!("it knocks for ever"),
    };
    // The port stays known, so late packets make no further connections, which no task would accept.
    std::mem::forget(listener);
    [client, server]
}
