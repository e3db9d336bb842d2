//! Connections that something was done to, before they could have a ring, to which a ring has no answer.

use crate::machine::Machine;
use crate::needs::has_python;

/// The uses, as `program.py` knows them.
const USES: [&str; 17] = [
    "send_urgent",
    "sendto_urgent",
    "sendmsg_urgent",
    "recv_urgent",
    "recvfrom_urgent",
    "recvmsg_urgent",
    "zerocopy",
    "low_mark",
    "signals",
    "signals_by_ioctl",
    "owner",
    "owner_by_ioctl",
    "splice_in",
    "splice_out",
    "passed_on",
    "passed_on_unconnected",
    "inherited_unconnected",
];

#[test]
fn a_connection_that_a_ring_does_not_fit_gets_none() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut server = machine.python(&["echo_all"], false);
    let port = server.line();
    // The first one shows that there would be rings otherwise.
    for (what, ends) in [("nothing", 2)].into_iter().chain(USES.map(|what| (what, 0))) {
        let mut client = machine.python(&["unfit", &port, what], false);
        client.expect("done");
        assert_eq!(machine.moved().len(), ends, "{what}: {:?}", machine.list());
        client.go_on();
        client.expect("ended");
    }
}
