//! Changes that are refused, and the state that they leave.

use crate::scene::{A, B, C, bytes, client, server, server_addr, simulate};
use crate::traffic::connect;
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, make_stack, select,
};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Negotiate, Negotiated, Pick, Settings};

/// Sends a message each way.
async fn talk<A, B>(client: &Negotiated<A>, server: &Negotiated<B>)
where
    A: Connection<Data = Buf>,
    B: Connection<Data = Buf>,
{
    client.send(bytes(b"there")).await.unwrap();
    assert_eq!(*server.recv().await.unwrap(), *b"there");
    server.send(bytes(b"back")).await.unwrap();
    assert_eq!(*client.recv().await.unwrap(), *b"back");
}

/// Returns the error of an upgrade while the other end receives.
pub(crate) async fn ask<T, F>(upgrade: impl Future<Output = Result<T, Error>>, receiving: F) -> Error
where
    F: Future,
{
    let (upgrade, receiving) = (std::pin::pin!(upgrade), std::pin::pin!(receiving));
    match futures_util::future::select(upgrade, receiving).await {
        futures_util::future::Either::Left((result, _)) => result.err().unwrap(),
        futures_util::future::Either::Right(_) => panic!("a message arrived"),
    }
}

#[test]
fn a_stack_that_can_not_change_says_so() {
    simulate(1, async |network: Network| {
        let (here, there) = (make_stack!(select!(A, B)).upgradable(), make_stack!(select!(A, B)));
        let (client, server) = connect(&network, here, there, Settings::default()).await;
        let error = ask(client.upgrade(Pick::alternative(1)), server.recv()).await;
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("not `upgradable()`"), "{error}");
        talk(&client, &server).await;
    });
}

#[test]
fn a_peer_without_the_alternative_refuses_with_the_reason() {
    simulate(2, async |network: Network| {
        let (here, there) =
            (make_stack!(select!(A, B, C)).upgradable(), make_stack!(select!(A, C)).upgradable());
        let (client, server) = connect(&network, here, there, Settings::default()).await;
        let error = ask(client.upgrade(Pick::alternative(1)), server.recv()).await;
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("the client has B where the server has A"), "{error}");
        talk(&client, &server).await;
        let (agreed, message) = futures_util::join!(client.upgrade(Pick::alternative(2)), async {
            server.send(bytes(b"meanwhile")).await.unwrap();
            client.recv().await.unwrap()
        });
        let _ = (agreed, message);
    });
}

#[test]
fn what_there_is_not_is_invalid() {
    simulate(3, async |network: Network| {
        let stack = || make_stack!(select!(A, B), C).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        for pick in [Pick::alternative(2), Pick::alternative(0).and(1, 0)] {
            assert_eq!(client.upgrade(pick).await.unwrap_err().kind(), ErrorKind::Invalid);
        }
        // An upgrade to the stack in use makes no change.
        assert_eq!(client.upgrade(Pick::alternative(0)).await.unwrap().round(), 0);
        talk(&client, &server).await;
    });
}

/// Fails to start on the end with this role.
#[derive(Debug, Clone, Identity)]
pub(crate) struct Fails(pub(crate) Role);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Fails {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        if context.role() == self.0 {
            return Err(Error::new(ErrorKind::Exhausted, "no licence left").at("Fails"));
        }
        Ok(inner)
    }
}

#[test]
fn a_stack_that_can_not_be_built_leaves_the_old_one() {
    for role in [Role::Client, Role::Server] {
        simulate(4, async |network: Network| {
            let stack = || make_stack!(select!(A, make_stack!(Fails(role)))).upgradable();
            let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
            for _ in 0..3 {
                let error = ask(client.upgrade(Pick::alternative(1)), server.recv()).await;
                assert!(error.to_string().contains("no licence left"), "{error}");
                talk(&client, &server).await;
            }
        });
    }
}

#[test]
fn what_stands_above_a_stack_that_can_change_fails_with_its_reason() {
    simulate(5, async |network: Network| {
        let stack = || make_stack!(Fails(Role::Client), make_stack!(select!(A, B)).upgradable());
        let mut incoming = stack().listen(server(&network), server_addr()).await.unwrap();
        let connecting = async { stack().connect(client(&network), server_addr()).await };
        let serving = async { incoming.next().await.unwrap().recv().await };
        let (connected, at_server) = futures_util::join!(connecting, serving);
        assert_eq!(connected.err().unwrap().kind(), ErrorKind::Exhausted);
        let at_server = at_server.unwrap_err();
        assert!(at_server.to_string().contains("Fails: exhausted: no licence left"), "{at_server}");
    });
}
