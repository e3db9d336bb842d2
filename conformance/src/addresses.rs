//! The addresses of the two ends.

use super::Site;
use super::delivery::still_works;
use super::messages::Bufs;
use bertha_core::{Addr, Base, Connection, Datapath, ErrorKind, Listener};

/// `Listener::local_addr`: "Returns the address at which the listener accepts, with the port that the system
/// chose." `Base::local_addr`: "Returns the address of this end." `Base::peer_addr`: "Returns the address of
/// the peer."
pub async fn addresses_agree<S: Datapath, C: Datapath>(site: &Site<'_, S, C>) {
    let listener = site.listen().await;
    if let Addr::Ip(addr) = listener.local_addr() {
        assert_ne!(addr.port(), 0, "the port that the system chose is not known");
    }
    let (one, its) = site.join(&listener).await;
    let (other, others) = site.join(&listener).await;
    for (client, server) in [(&one, &its), (&other, &others)] {
        assert_eq!(client.base().peer_addr(), listener.local_addr());
        assert_eq!(server.base().local_addr(), listener.local_addr());
        assert_eq!(server.base().peer_addr(), client.base().local_addr());
        still_works(client, server, &Bufs).await;
    }
    assert_ne!(one.base().local_addr(), other.base().local_addr());
}

/// `connect`: "`Invalid` if the address is of a kind that this datapath can't reach"; `listen`: "`Invalid` if
/// this machine can't listen at the address, `AddrInUse` if another listener has the address".
pub async fn addresses_of_no_kind_are_invalid<S: Datapath, C: Datapath>(site: &Site<'_, S, C>) {
    let other = match (site.on)() {
        Addr::Ip(_) => Addr::Unix("/nowhere/at-all.sock".into()),
        _ => Addr::Ip(([127, 0, 0, 1], 4242).into()),
    };
    for addr in [other, Addr::Unnamed] {
        let error = site.client.connect(addr.clone()).await.err();
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Invalid), "connect to {addr}");
        let error = site.server.listen(addr.clone()).await.err();
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Invalid), "listen on {addr}");
    }
    let listener = site.listen().await;
    let taken = site.server.listen(listener.local_addr()).await.err();
    assert_eq!(taken.map(|error| error.kind()), Some(ErrorKind::AddrInUse), "listen where something listens");
}
