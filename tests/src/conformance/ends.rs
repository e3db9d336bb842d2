//! The ends of negotiated connections over any datapath.

use bertha_conformance::{self as conformance, Bufs};
use bertha_core::{Addr, Buf, Connection};
use bertha_negotiation::{Negotiate, Runs};
use futures_util::future::join;
use std::sync::Mutex;

/// Runs the checks of [`ends`](conformance::ends) on connections with this stack, which must lose nothing, to
/// servers at `on`.
pub async fn negotiated_ends<S, C, K>(server: &S, client: &C, on: impl Fn() -> Addr, stack: K)
where
    S: Runs<K, Out: Connection<Data = Buf>> + Clone,
    C: Runs<K, Out: Connection<Data = Buf>> + Clone,
    K: Negotiate + Clone + 'static,
{
    // An address stays in use for as long as its connections last, as the address of a server does.
    let listening = Mutex::new(Vec::new());
    let connect = async || {
        let mut incoming = stack.clone().listen(server.clone(), on()).await.unwrap();
        let connecting = stack.connect(client.clone(), incoming.local_addr()).into_future();
        let (accepted, connected) = join(incoming.next_or_refusal(), connecting).await;
        listening.lock().unwrap().push(incoming);
        (connected.unwrap(), accepted.unwrap().unwrap())
    };
    conformance::ends(connect, &Bufs).await;
}
