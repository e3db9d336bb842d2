//! Temporary errors of the base, met by the reader of a change while the application does not receive.

use crate::lean::{GOOD, Lean, Plan};
use crate::scene::{A, B, bytes, client, server, server_addr, simulate};
use bertha_core::{Connection, ErrorKind, make_stack, select};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Negotiate, Pick};

#[test]
fn an_error_that_passes_ends_no_change() {
    for kind in [ErrorKind::Exhausted, ErrorKind::Malformed, ErrorKind::Unreachable] {
        simulate(1, async |network: Network| {
            let stack = || make_stack!(select!(A, B)).upgradable();
            let mut incoming = stack().listen(server(&network), server_addr()).await.unwrap();
            // The first call of `recv` receives the answer.
            let datapath = Lean(client(&network), Plan { receptions: 0b110, kind, ..GOOD });
            let connecting = async { stack().connect(datapath, server_addr()).await };
            let (served, connected) = futures_util::join!(incoming.next_or_refusal(), connecting);
            let (served, connected) = (served.unwrap().unwrap(), connected.unwrap());
            let serving = async { served.recv().await.unwrap() };
            let changing = async {
                for pick in [1, 0] {
                    connected.upgrade(Pick::alternative(pick)).await.unwrap();
                }
                connected.send(bytes(b"there")).await.unwrap();
            };
            let (message, ()) = futures_util::join!(serving, changing);
            assert_eq!(*message, *b"there");
        });
    }
}
