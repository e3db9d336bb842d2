//! A Chunnel that panics in the call that completes the handshake.

use crate::early_scene::{open, over, record, say};
use crate::scene::{A, SERVER, client, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, make_stack, select,
};
use bertha_datapath_sim::Network;
use bertha_negotiation::{EarlyCache, Negotiate};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;

/// Panics when it starts on a client.
#[derive(Debug, Clone, Identity)]
struct Panics;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Panics {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        assert_eq!(context.role(), Role::Server, "a Chunnel panics, as this test wants it");
        Ok(inner)
    }
}

#[test]
fn the_others_get_an_error() {
    simulate(1, async |network: Network| {
        let cache = EarlyCache::new();
        let stack = || over!(select!(A, Panics));
        record(&network, stack().listen(server(&network), server_addr()).settings(open()).await.unwrap());
        let first = stack().connect(client(&network), server_addr()).early(&cache).await.unwrap();
        first.close().await.unwrap();
        network.restart(SERVER);

        record(
            &network,
            over!(Panics).listen(server(&network), server_addr()).settings(open()).await.unwrap(),
        );
        let connection = stack().connect(client(&network), server_addr()).early(&cache).await.unwrap();
        say(&connection, &["one"]).await;
        let calls = futures_util::join!(
            AssertUnwindSafe(connection.agreed().map(|agreed| agreed.map(drop))).catch_unwind(),
            AssertUnwindSafe(connection.recv().map(|received| received.map(drop))).catch_unwind(),
            AssertUnwindSafe(connection.close()).catch_unwind(),
        );
        let (panicked, others): (Vec<_>, Vec<_>) =
            <[_; 3]>::from(calls).into_iter().partition(Result::is_err);
        assert_eq!((panicked.len(), others.len()), (1, 2));
        for error in others.into_iter().flatten() {
            let error = error.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Closed);
            assert!(error.to_string().contains("not known to be accepted: 1 messages"), "{error}");
        }
        assert_eq!(connection.send("two".into()).await.unwrap_err().kind(), ErrorKind::Closed);
    });
}
