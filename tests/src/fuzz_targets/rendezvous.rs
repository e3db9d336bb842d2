//! The code that an attacker reaches by writing into a rendezvous store.

use bertha_chunnels::Nothing;
use bertha_chunnels::Serialize;
use bertha_chunnels::serialize::{Bincode, Postcard};
use bertha_core::Describe;
use bertha_core::{make_stack, select};
use bertha_negotiation::rendezvous::member::record::{RECORD, UPGRADE, VERSION, presence_key};
use bertha_negotiation::rendezvous::member::{Event, Member, MemberSettings, OwnStack, Request};
use bertha_negotiation::rendezvous::{Entry, Outcome, Revision, Snapshot, limits};
use std::time::Duration;

/// Passes a record, and another participant's entry, with these bytes to a participant: while it is outside,
/// and when it is in.
pub fn snapshots(bytes: &[u8]) {
    for value in [bytes.to_vec(), [&[VERSION], bytes].concat()] {
        if value.len() > limits::VALUE {
            continue;
        }
        for inside in [false, true] {
            let mut member = member();
            let mut snapshot = Snapshot::default();
            if inside {
                join(&mut member, &mut snapshot);
            }
            let before = member.active().cloned();
            for key in [RECORD.to_owned(), presence_key(7), UPGRADE.to_owned(), "participant/?".to_owned()] {
                snapshot.revision.0 += 1;
                let entry = Entry { version: snapshot.revision, value: value.clone() };
                snapshot.entries.insert(key, entry);
                settle(&mut member, &snapshot);
            }
            assert!(
                !inside || member.active() == before.as_ref(),
                "nobody is made to switch by a record alone"
            );
        }
    }
}

fn member() -> Member {
    let stack =
        make_stack!(Nothing, select!(Serialize::<u64, Postcard>::new(), Serialize::<u64, Bincode>::new()));
    let own = OwnStack::new(stack.nodes()).unwrap();
    let settings = MemberSettings {
        lease: Duration::from_secs(1),
        staging: Duration::from_secs(1),
        participants: 9,
        renews: true,
    };
    Member::new(own, settings, 1)
}

/// Creates the connection.
fn join(member: &mut Member, snapshot: &mut Snapshot) {
    let Some(Request::Transact(join)) = member.poll_request() else { panic!("does not want in") };
    snapshot.revision = Revision(1);
    for (key, write) in join.writes() {
        if let bertha_negotiation::rendezvous::Write::Put { value, .. } = write {
            snapshot.entries.insert(key.clone(), Entry { version: Revision(1), value: value.clone() });
        }
    }
    member.handle_outcome(Ok(Outcome { applied: true, snapshot: snapshot.clone() }));
    assert!(member.is_inside());
}

/// Answers all requests with this snapshot, as if other participants were always faster.
fn settle(member: &mut Member, snapshot: &Snapshot) {
    member.tick();
    member.handle_change(snapshot.revision);
    for _ in 0..20 {
        match member.poll_request() {
            Some(Request::Transact(transaction)) => {
                transaction.check().expect("a transaction within the bounds");
                member.handle_outcome(Ok(Outcome { applied: false, snapshot: snapshot.clone() }));
            }
            Some(Request::Renew { .. }) => member.handle_renewed(Ok(Some(snapshot.revision))),
            None => return,
        }
        while let Some(event) = member.poll_event() {
            if let Event::Stage { round, .. } = event {
                member.staged(round);
            }
        }
    }
}
